"""Config classes whose filling of fields no formula describes, each written by hand from its source."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from archscope.config.draft import Draft

Base = Callable[[], None]
Procedure = Callable[[Draft, Base], None]
_PROCEDURES: dict[str, Procedure] = {}


def procedure(*class_names: str) -> Callable[[Procedure], Procedure]:
    """Register a procedure for config classes."""

    def register(function: Procedure) -> Procedure:
        for name in class_names:
            assert name not in _PROCEDURES, name
            _PROCEDURES[name] = function
        return function

    return register


def procedure_for(chain: tuple[str, ...]) -> Procedure:
    """The procedure of the first class of the chain that has one; only the base class's doing where none has."""
    for name in chain:
        if name in _PROCEDURES:
            return _PROCEDURES[name]
    return _only_base


def _only_base(draft: Draft, base: Base) -> None:
    base()


def listed(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []
