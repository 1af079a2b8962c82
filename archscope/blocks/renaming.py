"""Parts of a tower under other names or in other shapes, where a composite model saves them so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from functools import cache
from types import NoneType
from typing import Any

from archscope.blocks.base import Block, Repeating, Weight, join

PLAIN = (int, str, float, NoneType)
NAMES = {"name", "role", "fields", "tied_to"}

Rule = Callable[[str, str], str]
"""From the name of the block around a block and its own name to the name that is saved."""
Change = Callable[[str, Block], Block]
"""From the name of the block around a block and the block, its parts changed already, to what stands in its place."""


def renamed(block: Block, rule: Rule) -> Block:
    """The same block with every name below it put through a rule; its own name stays.

    Blocks that occur twice stay one.
    """

    def change(around: str, part: Block) -> Block:
        name = rule(around, part.name)
        return part if name == part.name else replace(part, name=name)

    return rebuilt(block, change)


def rooted(block: Block, prefix: str) -> Block:
    """The same block with every name that something is tied to put below a prefix: a whole model inside another."""

    def change(around: str, part: Block) -> Block:
        return replace(part, tied_to=f"{prefix}.{part.tied_to}") if part.tied_to else part

    return change("", rebuilt(block, change))


def renaming(names: dict[str, str], *, inside: str = "") -> Rule:
    """A rule that changes some names, everywhere or only directly inside blocks of a name."""

    def rule(around: str, name: str) -> str:
        return names.get(name, name) if not inside or around == inside else name

    return rule


def rebuilt(block: Block, change: Change) -> Block:
    """The same block with every block below it changed, innermost first; blocks that occur twice stay one."""
    found: Block = _parts(block, block.name, change, {})
    return found


def mirrored(block: Block, path: str) -> Block:
    """The same block with every tensor in it shared with that of the same place below a path.

    Biases and buffers stay its own; "*" stands for the number of a layer, which both have in common.
    """
    if _is_numbered(block):
        path = join(path, "*")
    if isinstance(block, Weight):
        return replace(block, tied_to=path) if block.parameter else block
    if block.children():
        found: Block = _mirror(block, path)
        return found
    own = [one.name for one in block.weights()]
    return replace(block, tied_to=f"{path}.weight" if "weight" in own else path) if own else block


def _is_numbered(block: Block) -> bool:
    return isinstance(block, Repeating) and any(index for index, _ in block.indexed())


def mirrored_pairs(block: Block, path: str) -> tuple[tuple[str, str], ...]:
    """Pairs (name that is not saved, name that is) of everything mirrored in a block at a path, layers one by one."""
    if block.tied_to.endswith(".weight") and not isinstance(block, Weight):
        return ((f"{path}.weight", block.tied_to),)
    if block.tied_to:
        own = ("",) if isinstance(block, Weight) else tuple(one.name for one in block.weights())
        return tuple((join(path, name), join(block.tied_to, name)) for name in own)
    if not isinstance(block, Repeating) or not _is_numbered(block):
        return tuple(pair for part in block.children() for pair in mirrored_pairs(part, join(path, part.name)))
    return tuple(
        (one, index.join(other.rsplit("*", 1)))
        for index, part in block.indexed()
        for one, other in mirrored_pairs(part, join(path, index))
    )


def _mirror(value: Any, path: str) -> Any:
    """A block's parts, or what else holds blocks."""
    changes = {}
    for field in fields(value):
        old = getattr(value, field.name)
        many = tuple(_mirrored_value(one, path) for one in (old if isinstance(old, tuple) else (old,)))
        changes[field.name] = many if isinstance(old, tuple) else many[0]
    return replace(value, **changes)


def _mirrored_value(value: Any, path: str) -> Any:
    if isinstance(value, Block):
        return mirrored(value, join(path, value.name))
    return _mirror(value, path) if is_dataclass(value) and not isinstance(value, type) else value


def _parts(block: Any, around: str, change: Change, made: dict[int, Any]) -> Any:
    changes = {}
    for name in _holders(block.__class__):
        value = getattr(block, name)
        if isinstance(value, PLAIN):
            continue
        new = _value(value, around, change, made)
        if new is not value:
            changes[name] = new
    return replace(block, **changes) if changes else block


def _value(value: Any, around: str, change: Change, made: dict[int, Any]) -> Any:
    if isinstance(value, tuple):
        found = tuple(one if isinstance(one, PLAIN) else _value(one, around, change, made) for one in value)
        return found if any(a is not b for a, b in zip(found, value, strict=True)) else value
    if not is_dataclass(value) or isinstance(value, type):
        return value
    if id(value) not in made:
        if isinstance(value, Block):
            made[id(value)] = change(around, _parts(value, value.name or around, change, made))
        else:
            made[id(value)] = _parts(value, around, change, made)
    return made[id(value)]


@cache
def _holders(kind: type[Any]) -> tuple[str, ...]:
    """The fields of a dataclass that may hold blocks."""
    return tuple(field.name for field in fields(kind) if field.name not in NAMES)
