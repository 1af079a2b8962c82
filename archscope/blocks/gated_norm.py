"""A norm whose output a small network of its own scales."""

from __future__ import annotations

from typing import ClassVar

from archscope.blocks.base import Block, Flow, Port
from archscope.blocks.leaves import Norm, linear
from archscope.blocks.size import Size
from archscope.records import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class GatedNorm(Block):
    """norm(x) times the sigmoid of two matrices of a low rank over it.

    Parts carry the roles norm, down, up.
    Source: transformers models/axk2/modeling_axk2.py (AXK2GatedRMSNorm).
    """

    component: ClassVar[str] = "norms"

    size: int
    parts: tuple[Block, ...]

    def children(self) -> tuple[Block, ...]:
        return self.parts

    @property
    def in_width(self) -> int | None:
        return self.size

    @property
    def out_width(self) -> int | None:
        return self.size

    def flows(self) -> tuple[Flow, ...]:
        """The norm, and beside it the gate."""
        d = self.size
        return (
            Flow(Port("in", d), Port("norm", d)),
            Flow(Port("norm", d), Port("down", d)),
            Flow(Port("down"), Port("up")),
            Flow(Port("norm", d), Port("#gate", d)),
            Flow(Port("up", d), Port("#gate", d)),
            Flow(Port("#gate", d), Port("out", d)),
        )


def gated_norm(name: str, norm: Norm, rank: int, *, names: tuple[str, str] = ("W_down", "W_up")) -> GatedNorm:
    """A norm and its gate; `names` are those of the two matrices."""
    d, r = norm.size, Size(rank, "r_norm")
    down, up = names
    parts = (norm, linear(down, d, r, role="down"), linear(up, r, d, role="up"))
    return GatedNorm(name=name, size=d, parts=parts, fields=("gated_norm_rank",))
