"""Matrices of which each codebook of an audio code has one of its own."""

from __future__ import annotations

from archscope.blocks.base import Block, Flow, Weight, weight
from archscope.records import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class CodebookLinear(Block):
    """A matrix for each codebook in one tensor; a token takes that of its codebook.

    Shapes: weight (count, out_features, in_features).
    """

    count: int
    in_features: int
    out_features: int

    def weights(self) -> tuple[Weight, ...]:
        return (weight("weight", self.count, self.out_features, self.in_features),)

    @property
    def in_width(self) -> int | None:
        return self.in_features

    @property
    def out_width(self) -> int | None:
        return self.out_features

    def flows(self) -> tuple[Flow, ...]:
        return ()
