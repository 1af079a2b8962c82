"""Attention over depth: learned queries by which a sublayer mixes the outputs of the blocks of layers before it."""

from __future__ import annotations

from collections.abc import Iterator

from archscope.blocks.base import Block, Flow, Repeating, Weight
from archscope.records import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class DepthQueries(Repeating, Block):
    """A tensor for each of some layers, by kind: `queries` holds each kind once, `order` which one a layer has."""

    queries: tuple[Weight, ...]
    order: tuple[int, ...]

    def children(self) -> tuple[Block, ...]:
        return self.queries

    def indexed(self) -> Iterator[tuple[str, Block]]:
        for number, kind in enumerate(self.order):
            yield str(number), self.queries[kind]

    def kinds(self) -> tuple[tuple[Block, int], ...]:
        counted = ((query, self.order.count(kind)) for kind, query in enumerate(self.queries))
        return tuple((query, count) for query, count in counted if count)

    def flows(self) -> tuple[Flow, ...]:
        return ()
