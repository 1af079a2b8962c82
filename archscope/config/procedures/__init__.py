"""Config classes whose filling of fields the snapshot has no formulas for, each written by hand from its source.

The modules here are read only when a config of such a class comes along.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

from archscope.config.draft import Draft

Base = Callable[[], None]
Procedure = Callable[[Draft, Base], None]
_MODULES = ("text", "composite", "flat", "vision", "backbones")
_PROCEDURES: dict[str, Procedure] = {}


def procedure(*class_names: str) -> Callable[[Procedure], Procedure]:
    """Register the procedure of config classes; it calls `base` where the class calls that of its base class."""

    def register(function: Procedure) -> Procedure:
        for name in class_names:
            assert name not in _PROCEDURES, name
            _PROCEDURES[name] = function
        return function

    return register


def procedure_for(chain: tuple[str, ...]) -> Procedure:
    """The procedure of the first class of the chain that has one; only the doing of the base class where none has."""
    _load()
    for name in chain:
        if name in _PROCEDURES:
            return _PROCEDURES[name]
    return _only_base


@functools.cache
def _load() -> None:
    for module in _MODULES:
        importlib.import_module(f"{__name__}.{module}")


def names() -> frozenset[str]:
    """The classes that have a procedure."""
    _load()
    return frozenset(_PROCEDURES)


def _only_base(draft: Draft, base: Base) -> None:
    base()


def mapping(value: Any) -> dict[Any, Any]:
    """The value if it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}


def sequence(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []
