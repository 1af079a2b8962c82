"""Parts of a tower under other names, where a composite model saves them so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any

from archscope.blocks.base import Block

Rule = Callable[[str, str], str]
"""From the name of the block around a block and its own name to the name that is saved."""


def renamed(block: Block, rule: Rule) -> Block:
    """The same block with every name below it put through a rule; its own name stays.

    Blocks that occur twice stay one.
    """
    found: Block = _parts(block, block.name, rule, {})
    return found


def rooted(block: Block, prefix: str) -> Block:
    """The same block with every name that something is tied to put below a prefix: a whole model inside another."""
    found: Block = _parts(block, "", lambda around, name: name, {}, prefix)
    return found


def renaming(names: dict[str, str], *, inside: str = "") -> Rule:
    """A rule that changes some names, everywhere or only directly inside blocks of a name."""

    def rule(around: str, name: str) -> str:
        return names.get(name, name) if not inside or around == inside else name

    return rule


def _parts(block: Any, around: str, rule: Rule, made: dict[int, Any], root: str = "") -> Any:
    changes: dict[str, Any] = {}
    for field in fields(block):
        value = getattr(block, field.name)
        if root and field.name == "tied_to" and value:
            changes["tied_to"] = f"{root}.{value}"
            continue
        new = _value(value, around, rule, made, root)
        if new is not value:
            changes[field.name] = new
    return replace(block, **changes) if changes else block


def _value(value: Any, around: str, rule: Rule, made: dict[int, Any], root: str = "") -> Any:
    if isinstance(value, tuple):
        found = tuple(_value(one, around, rule, made, root) for one in value)
        return found if any(a is not b for a, b in zip(found, value, strict=True)) else value
    if not is_dataclass(value) or isinstance(value, type):
        return value
    if id(value) not in made:
        if isinstance(value, Block):
            name = rule(around, value.name)
            inner = _parts(value, value.name or around, rule, made, root)
            made[id(value)] = inner if name == value.name else replace(inner, name=name)
        else:
            made[id(value)] = _parts(value, around, rule, made, root)
    return made[id(value)]
