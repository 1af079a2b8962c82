"""Whether the blocks of a structure hold what their fields promise.

The values of a config come from a file. A builder that only carries one along, without arithmetic, makes a block of whatever
it is: a list for a width, a number for a name. Whoever counts or draws the block would fail over it, far from the cause.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from archscope.blocks.base import Block


def require_sound(blocks: Iterable[Block]) -> None:
    """Raises: TypeError for the first block with a size that is no whole number, or a name that is no text."""
    for block in blocks:
        promises = _known.get(type(block))
        if promises is None:
            promises = _known[type(block)] = _promises(block)
        for name, optional, kind in promises:
            value = getattr(block, name)
            if value is None and optional:
                continue
            for one in value if kind == "sizes" else (value,):
                if not (isinstance(one, str) if kind == "text" else _is_whole(one)):
                    wanted = "no text" if kind == "text" else "no whole number"
                    raise TypeError(f"{name} of {type(block).__name__} is {one!r:.40}, {wanted}")


KINDS = {"int": "size", "str": "text", "tuple[int, ...]": "sizes"}
_known: dict[type, tuple[tuple[str, bool, str], ...]] = {}


def _promises(block: Block) -> tuple[tuple[str, bool, str], ...]:
    """(name, may be None, kind) of the fields of a block's class that are sizes or text."""
    return tuple(
        (field.name, str(field.type).endswith(" | None"), KINDS[kind])
        for field in dataclasses.fields(block)
        if (kind := str(field.type).removesuffix(" | None")) in KINDS
    )


def _is_whole(value: object) -> bool:
    return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
