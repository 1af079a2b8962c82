"""What speech encoders have beside attention: the convolution module, and convolutions that shorten the input."""

from __future__ import annotations

from archscope.blocks.base import Block, Flow, Port
from archscope.records import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class ConvolutionModule(Block):
    """Widen and gate (GLU), convolve each channel over time, normalise, project.

    Parts carry the roles norm_in, in_proj, conv, norm, out_proj; a norm_in is the block's own first norm. `kernel` is
    in frames; `causal` says whether a frame sees only those before it. Source: Conformer (arXiv 2005.08100), section
    2.2.
    """

    hidden: int
    kernel: int
    parts: tuple[Block, ...]
    gated: bool = True
    causal: bool = False

    def children(self) -> tuple[Block, ...]:
        return self.parts

    @property
    def in_width(self) -> int | None:
        return self.hidden

    @property
    def out_width(self) -> int | None:
        return self.hidden

    def flows(self) -> tuple[Flow, ...]:
        """The parts in a chain; the gate halves what the first projection gives."""
        flows: list[Flow] = []
        at = Port("in", self.hidden)
        for role in ("norm_in", "in_proj", "conv", "norm", "out_proj"):
            part = self.find(role)
            if part is None:
                continue
            flows.append(Flow(at, Port(role, part.in_width)))
            width = part.out_width if part.out_width is not None else at.width
            at = Port(role, width)
            if role == "in_proj" and self.gated:
                half = None if width is None else width // 2
                flows.append(Flow(Port(role, half), Port("#glu")))
                at = Port("#glu", half)
        flows.append(Flow(at, Port("out", self.hidden)))
        return tuple(flows)
