"""Rules: one kind of fault each, discovered by walking this package."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import Any

from archscope.errors import UsageError
from archscope.rules.base import Rule

_NOT_RULES = {"base", "examples", "rotary", "runner", "stored", "targets"}


@cache
def all_rules() -> tuple[type[Rule[Any]], ...]:
    """Every rule, sorted by name.

    Raises: ValueError where two rules share a name.
    """
    found: dict[str, type[Rule[Any]]] = {}
    for module_info in pkgutil.iter_modules(__path__):
        if module_info.name in _NOT_RULES:
            continue
        module = importlib.import_module(f"{__name__}.{module_info.name}")
        for thing in vars(module).values():
            if isinstance(thing, type) and issubclass(thing, Rule) and thing.__module__ == module.__name__:
                if thing.name in found:
                    raise ValueError(f"two rules are called {thing.name}")
                found[thing.name] = thing
    return tuple(found[name] for name in sorted(found))


def rule(name: str) -> type[Rule[Any]]:
    """The rule with a name.

    Raises: UsageError for an unknown name, with the nearest known one.
    """
    for found in all_rules():
        if found.name == name:
            return found
    from difflib import get_close_matches

    near = get_close_matches(name, [found.name for found in all_rules()], n=1)
    raise UsageError(f"there is no rule {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
