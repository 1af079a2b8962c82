"""Mixers with a state of fixed size in place of a growing cache."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from archscope.blocks.base import Block, Flow, Port


@dataclass(frozen=True, kw_only=True, slots=True)
class StateMixer(Block):
    """A recurrent or convolutional mixer.

    `mechanism` is the field's name of it ("Mamba-2", "gated delta net", "short convolution", ...). `inner` is the width
    inside; `state_elements` is what one layer keeps per sequence for the recurrence, `conv_elements` for the convolution.
    Parts carry the roles in_proj, conv, norm, out_proj. `split` lists what the input projection is cut into, as (name, width); `heads_width` is the width that the heads make
    up together, None where there are no heads.
    """

    component: ClassVar[str] = "state"

    mechanism: str
    inner: int
    state_elements: int
    parts: tuple[Block, ...]
    conv_elements: int = 0
    conv_kernel: int = 0
    num_heads: int = 0
    head_dim: int = 0
    state_size: int = 0
    num_groups: int = 0
    split: tuple[tuple[str, int], ...] = ()
    heads_width: int | None = None

    def children(self) -> tuple[Block, ...]:
        return self.parts

    @property
    def in_width(self) -> int | None:
        first = self.find("in_proj") or self.parts[0]
        return first.in_width

    @property
    def out_width(self) -> int | None:
        last = self.find("out_proj") or self.parts[-1]
        return last.out_width

    def flows(self) -> tuple[Flow, ...]:
        """Input projection, convolution, scan over the state, norm, output projection."""
        flows: list[Flow] = []
        at = Port("in")
        first = self.find("in_proj")
        if first is not None:
            flows.append(Flow(at, Port("in_proj", first.in_width)))
            at = Port("in_proj")
        if self.find("conv") is not None:
            flows.append(Flow(at, Port("conv")))
            at = Port("conv")
        flows.append(Flow(at, Port("#scan"), "cache"))
        at = Port("#scan", self.heads_width)
        for role in ("norm", "out_proj"):
            part = self.find(role)
            if part is not None:
                flows.append(Flow(at, Port(role, part.in_width)))
                at = Port(role, part.out_width)
        flows.append(Flow(at, Port("out")))
        return tuple(flows)
