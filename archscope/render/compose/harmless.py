"""Every string of a figure made visible: a file may hold control characters, or turn the direction of text."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

from archscope.report.escape import visible

T = TypeVar("T")
LONGEST = 4000


def harmless(value: T) -> T:
    """The same value with every string in it safe to show, and none longer than a page."""
    return cast(T, _harmless(value))


def _harmless(value: Any) -> Any:
    if isinstance(value, str):
        return visible(value[:LONGEST])
    if isinstance(value, tuple):
        made = tuple(map(_harmless, value))
        return value if all(a is b for a, b in zip(made, value, strict=True)) else made
    if is_dataclass(value) and not isinstance(value, type):
        found = {field.name: getattr(value, field.name) for field in fields(value)}
        changed = {name: new for name, old in found.items() if (new := _harmless(old)) is not old}
        return replace(value, **changed) if changed else value
    return value
