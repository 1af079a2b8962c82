"""Equal modules side by side under consecutive numbers."""

from __future__ import annotations

from collections.abc import Iterator

from archscope.blocks.base import Block, Flow, Repeating
from archscope.records import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Repeated(Repeating, Block):
    """`count` equal modules `name.0`, `name.1`, ...; each gets the same kind of input, none feeds the next."""

    part: Block
    count: int

    def children(self) -> tuple[Block, ...]:
        return (self.part,) if self.count else ()

    def indexed(self) -> Iterator[tuple[str, Block]]:
        for number in range(self.count):
            yield str(number), self.part

    def kinds(self) -> tuple[tuple[Block, int], ...]:
        return ((self.part, self.count),) if self.count else ()

    @property
    def in_width(self) -> int | None:
        return self.part.in_width

    @property
    def out_width(self) -> int | None:
        return self.part.out_width

    def flows(self) -> tuple[Flow, ...]:
        """None: each copy is fed from outside."""
        return ()


def repeated(name: str, count: int, part: Block, *, role: str = "") -> Repeated:
    """`count` copies of a module whose own name is empty."""
    return Repeated(name=name, count=count, part=part, role=role)
