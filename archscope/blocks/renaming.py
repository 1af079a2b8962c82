"""Parts of a tower under other names or in other shapes, where a composite model saves them so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any

from archscope.blocks.base import Block

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


def _parts(block: Any, around: str, change: Change, made: dict[int, Any]) -> Any:
    changes = {}
    for field in fields(block):
        value = getattr(block, field.name)
        new = _value(value, around, change, made)
        if new is not value:
            changes[field.name] = new
    return replace(block, **changes) if changes else block


def _value(value: Any, around: str, change: Change, made: dict[int, Any]) -> Any:
    if isinstance(value, tuple):
        found = tuple(_value(one, around, change, made) for one in value)
        return found if any(a is not b for a, b in zip(found, value, strict=True)) else value
    if not is_dataclass(value) or isinstance(value, type):
        return value
    if id(value) not in made:
        if isinstance(value, Block):
            made[id(value)] = change(around, _parts(value, value.name or around, change, made))
        else:
            made[id(value)] = _parts(value, around, change, made)
    return made[id(value)]
