"""Projections saved with a dimension for the heads."""

from __future__ import annotations

from archscope.blocks.base import Block, Flow, Weight, weight
from archscope.blocks.size import Size
from archscope.records import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class HeadTensor(Block):
    """A matrix product between the hidden states and heads, without bias.

    Shapes: (hidden, num_heads, head_dim), whichever way it is used; `outwards` from the heads to the hidden states.
    """

    hidden: int
    num_heads: int
    head_dim: int
    outwards: bool = False

    def weights(self) -> tuple[Weight, ...]:
        return (weight("", self.hidden, self.num_heads, self.head_dim),)

    @property
    def in_width(self) -> int | None:
        return self.num_heads * self.head_dim if self.outwards else self.hidden

    @property
    def out_width(self) -> int | None:
        return self.hidden if self.outwards else self.num_heads * self.head_dim

    def flows(self) -> tuple[Flow, ...]:
        return ()


def head_tensor(
    name: str, hidden: int, num_heads: int, head_dim: int, *, role: str, outwards: bool = False
) -> HeadTensor:
    """A projection to (or, `outwards`, from) heads."""
    heads, width = Size(num_heads, "h_q"), Size(head_dim, "d_h")
    return HeadTensor(name=name, role=role, hidden=hidden, num_heads=heads, head_dim=width, outwards=outwards)
