"""Frozen dataclasses that are cheap to define.

The standard library compiles six methods for every frozen dataclass, about a millisecond each class; a cold `archscope
check` defines dozens of them, which was a third of its time. Here only `__init__` is compiled for a class, the other
methods are shared by all. `dataclasses.fields` and `dataclasses.replace` work as usual; type checkers see the decorator
of the standard library.
"""

from __future__ import annotations

import dataclasses
from operator import attrgetter
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls=None, /, *, frozen=False, slots=False, kw_only=False, eq=True):
        """Make a class a frozen dataclass, as `dataclasses.dataclass` would; a class that is not frozen goes there.

        Not supported, because nothing here needs it: `__post_init__`, `InitVar`, fields without `init` or `repr`.
        """
        if cls is None:
            return lambda cls: dataclass(cls, frozen=frozen, slots=slots, kw_only=kw_only, eq=eq)
        if not frozen:
            return dataclasses.dataclass(cls, slots=slots, kw_only=kw_only, eq=eq)
        assert not hasattr(cls, "__post_init__"), f"{cls.__name__}: __post_init__ is not supported"
        made = dataclasses.dataclass(cls, init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)
        fields = dataclasses.fields(made)
        names = tuple(field.name for field in fields)
        made.__record_names__ = names
        made.__record_key__ = attrgetter(*names) if names else type
        made.__init__ = _init_of(made, fields)
        made.__setattr__ = _refuse_to_set
        made.__delattr__ = _refuse_to_delete
        made.__getstate__ = _state
        made.__setstate__ = _restore
        if "__repr__" not in vars(cls):
            made.__repr__ = _repr
        if eq:
            made.__eq__ = _equal
            if "__hash__" not in vars(cls):
                made.__hash__ = _hash
        return made


def _init_of(cls: type, fields: tuple[dataclasses.Field[Any], ...]) -> Any:
    """The `__init__` of a record: the arguments become attributes."""
    scope: dict[str, Any] = {"_set": object.__setattr__, "_MISSING": dataclasses.MISSING}
    positional: list[str] = []
    keyword: list[str] = []
    body: list[str] = []
    for field in fields:
        name = field.name
        written = value = name
        if field.default is not dataclasses.MISSING:
            scope[f"_default_{name}"] = field.default
            written = f"{name}=_default_{name}"
        elif field.default_factory is not dataclasses.MISSING:
            scope[f"_make_{name}"] = field.default_factory
            written = f"{name}=_MISSING"
            value = f"_make_{name}() if {name} is _MISSING else {name}"
        (keyword if field.kw_only else positional).append(written)
        body.append(f"    _set(self, {name!r}, {value})")
    parameters = ", ".join(["self", *positional, *(["*", *keyword] if keyword else [])])
    # Field names are identifiers of our own classes, never text of a file.
    exec("\n".join([f"def __init__({parameters}):", *(body or ["    pass"])]), scope)
    init = scope["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


def _repr(self: Any) -> str:
    written = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__record_names__)
    return f"{type(self).__qualname__}({written})"


def _equal(self: Any, other: object) -> Any:
    key = self.__record_key__
    return key(self) == key(other) if other.__class__ is self.__class__ else NotImplemented


def _hash(self: Any) -> int:
    return hash(self.__record_key__(self))


def _refuse_to_set(self: Any, name: str, value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, name) for name in self.__record_names__]


def _restore(self: Any, state: list[Any]) -> None:
    for name, value in zip(self.__record_names__, state, strict=True):
        object.__setattr__(self, name, value)
