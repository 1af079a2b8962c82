"""Tensors that are saved larger than they are learned."""

from __future__ import annotations

from math import prod

from archscope.blocks.base import Weight, weight
from archscope.blocks.leaves import Linear
from archscope.records import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class PaddedWeight(Weight):
    """A tensor of which only the first `rows` rows are learned; the rest is zeros.

    Shapes: `shape` is that of the saved tensor; numel counts what is learned.
    """

    rows: int

    @property
    def numel(self) -> int:
        """Number of learned elements."""
        return int(self.rows) * prod(int(n) for n in self.shape[1:])


@dataclass(frozen=True, kw_only=True, slots=True)
class PaddedLinear(Linear):
    """A projection without bias whose matrix is saved with `saved_features` rows, more than it has outputs."""

    saved_features: int

    def weights(self) -> tuple[Weight, ...]:
        main = weight("weight", self.saved_features, self.in_features)
        return (PaddedWeight(name=main.name, shape=main.shape, rows=self.out_features),)
