"""A transformer block that several layers share, fed with the embeddings beside the hidden states."""

from __future__ import annotations

from archscope.blocks.base import Block, Flow, Port
from archscope.records import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class SharedTransformer(Block):
    """ffn(norm(attention(norm(hidden states beside the embeddings)))), then a matrix of the layer's own.

    Shapes: in (T, d) twice, out (T, d). Parts carry the roles norm, attention, ffn_norm, ffn, out.
    Source: Zamba (arXiv 2405.16712) section 2.
    """

    hidden: int
    parts: tuple[Block, ...]

    def children(self) -> tuple[Block, ...]:
        return self.parts

    @property
    def in_width(self) -> int | None:
        return self.hidden

    @property
    def out_width(self) -> int | None:
        return self.hidden

    def flows(self) -> tuple[Flow, ...]:
        """The two inputs side by side, then a chain."""
        at = Port("#concat")
        flows = [Flow(Port("in", self.hidden), at), Flow(Port("#embeddings", self.hidden), at)]
        for part in self.parts:
            flows.append(Flow(at, Port(part.role, part.in_width)))
            at = Port(part.role, part.out_width)
        flows.append(Flow(at, Port("out")))
        return tuple(flows)
