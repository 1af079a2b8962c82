"""Every tensor of an architecture, named as it is saved on disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from archscope.blocks.base import Block, Repeating, Weight, join
from archscope.blocks.size import formula

Row = tuple[str, Weight]


class Tensor(NamedTuple):
    """One saved tensor.

    Shapes: `shape` in elements as saved, unquantised. `parameter` is False for a saved buffer. `dtype` is the config's.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    parameter: bool

    @property
    def formula(self) -> str:
        """The shape in symbols, `h_q·d_h × d`."""
        return formula(self.shape)


def rows(parts: Sequence[Block]) -> Iterator[Row]:
    """Name and weight of every tensor in the parts, repeated ones one by one."""
    memo: dict[int, tuple[Row, ...]] = {}
    for part in parts:
        yield from _rows(part, memo)


def tensors(parts: Sequence[Block], dtype: str) -> dict[str, Tensor]:
    """Every tensor in the parts by name."""
    return {name: Tensor(name, own.shape, dtype, own.parameter) for name, own in rows(parts)}


def _rows(block: Block, memo: dict[int, tuple[Row, ...]]) -> Iterator[Row]:
    """Rows of one block, kept per block only below repetition, so that memory goes by kinds."""
    if block.tied_to:
        for own in block.weights():
            if own is not block and own.name == "bias":
                yield join(block.name, own.name), own
        return
    if isinstance(block, Weight):
        yield block.name, block
        return
    for own in block.weights():
        yield join(block.name, own.name), own
    if isinstance(block, Repeating):
        for index, part in block.indexed():
            start = join(block.name, index)
            key = id(part)
            if key not in memo:
                memo[key] = tuple(_rows(part, memo))
            if block.striped:
                for name, own in memo[key]:
                    yield join(block.name, _after_first(name, index)), own
            else:
                for name, own in memo[key]:
                    yield join(start, name), own
    else:
        for part in block.children():
            for name, own in _rows(part, memo):
                yield join(block.name, name), own


def _after_first(name: str, index: str) -> str:
    first, _, rest = name.partition(".")
    return join(f"{first}.{index}", rest)
