"""Every tensor of an architecture, named as it is saved on disk."""

from __future__ import annotations

from collections.abc import Sequence
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


def rows(parts: Sequence[Block]) -> list[Row]:
    """Name and weight of every tensor in the parts, repeated ones one by one."""
    memo: dict[int, list[Row]] = {}
    found: list[Row] = []
    for part in parts:
        found += _rows(part, memo)
    return found


def tensors(parts: Sequence[Block], dtype: str) -> dict[str, Tensor]:
    """Every tensor in the parts by name."""
    return {name: Tensor(name, own.shape, dtype, own.parameter) for name, own in rows(parts)}


def _rows(block: Block, memo: dict[int, list[Row]]) -> list[Row]:
    """Rows of one block, kept per block only below repetition, so that memory goes by kinds."""
    if block.tied_to:
        left = (own for own in block.weights() if own is not block and own.name == "bias")
        return [(join(block.name, own.name), own) for own in left]
    if isinstance(block, Weight):
        return [(block.name, block)]
    found = [(join(block.name, own.name), own) for own in block.weights()]
    if isinstance(block, Repeating):
        for index, part in block.indexed():
            below = memo.get(id(part))
            if below is None:
                below = memo[id(part)] = _rows(part, memo)
            if block.striped:
                found += [(join(block.name, _after_first(name, index)), own) for name, own in below]
            else:
                found += _under(join(block.name, index), below)
    else:
        for part in block.children():
            found += _under(block.name, _rows(part, memo))
    return found


def _under(prefix: str, below: list[Row]) -> list[Row]:
    """Rows with a prefix before each name; joining 45,000 names one call each would take longer than all else."""
    if not prefix:
        return below
    dotted = f"{prefix}."
    return [(dotted + name if name else prefix, own) for name, own in below]


def _after_first(name: str, index: str) -> str:
    first, _, rest = name.partition(".")
    return join(f"{first}.{index}", rest)
