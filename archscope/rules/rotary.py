"""What the rules about rotary embeddings share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from archscope.config import Config, RopeParameters
from archscope.diagnostics import Place
from archscope.rules.base import Context

LEGACY_NAMES = {"su": "longrope", "mrope": "default", "xdrope": "dynamic", "ntk": "dynamic"}


def place_of(rope: RopeParameters, ctx: Context, *keys: str) -> Place:
    """The place of the first key that is written, else of the object that holds the parameters."""
    for key in keys:
        if rope.pointers.get(key):
            return ctx.place(rope.pointers[key])
    return ctx.place(holder(rope, ctx))


def holder(rope: RopeParameters, ctx: Context) -> str:
    """Pointer of the object that holds the parameters."""
    depth = ctx.config.pointer.count("/") + 1
    inner = [pointer for pointer in rope.pointers.values() if pointer.count("/") > depth]
    return inner[0].rsplit("/", 1)[0] if inner else f"{ctx.config.pointer}/rope_parameters"


def scaled(target: Config) -> Iterator[tuple[str, RopeParameters]]:
    """The rotary embeddings that the file itself says something about, with their type's present name."""
    for rope in target.rope.values():
        if rope.pointers and isinstance(rope.rope_type, str):
            yield LEGACY_NAMES.get(rope.rope_type, rope.rope_type), rope


def is_whole(value: Any) -> bool:
    """Whether a value is an integer and not a boolean."""
    return isinstance(value, int) and not isinstance(value, bool)
