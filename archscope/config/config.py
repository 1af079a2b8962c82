"""A resolved config: plain values, and where each comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from archscope.config import rope
from archscope.config.draft import Draft
from archscope.config.formulas import FAILURES
from archscope.config.origin import Origin, Problem
from archscope.config.rope import RopeParameters
from archscope.config.schema import Schema

_DEFAULT = Origin("default")


class Config:
    """One config, or sub-config; immutable.

    Fields are read as attributes, under the name that the class stores, an alias of it, or any other key of the file
    (`c.hidden_size` on gpt2); `get` and `in` take a name that may be absent. Names that this class uses for itself
    (`values`, `raw`, `rope`, ...) are read through `get`.
    """

    __slots__ = (
        "_draft",
        "_rope",
        "_subs",
        "invalid",
        "model_class",
        "model_type",
        "pointer",
        "problems",
        "raw",
        "schema",
        "task",
        "values",
    )

    model_type: str
    schema: Schema | None
    pointer: str
    values: Mapping[str, Any]
    raw: Mapping[str, Any]
    model_class: str
    task: str
    problems: Mapping[str, Problem]
    invalid: Mapping[str, str]

    def __init__(self, draft: Draft, model_type: str, model_class: str, task: str) -> None:
        put = object.__setattr__
        subs = {}
        for name, sub in draft.sub_drafts():
            subs[name] = Config(sub, sub.schema.model_type if sub.schema is not None else _type_in(sub.raw), "", "")
        put(self, "_draft", draft)
        put(self, "_subs", subs)
        put(self, "_rope", None)
        put(self, "model_type", model_type)
        put(self, "schema", draft.schema)
        put(self, "pointer", draft.pointer)
        put(self, "values", MappingProxyType({**draft.values, **subs}))
        put(self, "raw", MappingProxyType(draft.raw) if isinstance(draft.raw, dict) else draft.raw)
        put(self, "model_class", model_class)
        put(self, "task", task)
        put(self, "problems", MappingProxyType(draft.problems))
        put(self, "invalid", MappingProxyType({name: p.message for name, p in draft.problems.items()}))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a Config cannot be changed: {name}")

    def __getattr__(self, name: str) -> Any:
        values = object.__getattribute__(self, "values")
        if name in values:
            return values[name]
        draft = object.__getattribute__(self, "_draft")
        found = values.get(draft.canonical(name), self)
        if found is not self:
            return found
        try:
            return draft.beyond(draft.canonical(name))
        except FAILURES:
            raise AttributeError(f"{self.model_type or 'config'} has no field {name}") from None

    def get(self, name: str, default: Any = None) -> Any:
        """A field under any of its names, or the default."""
        try:
            return self.__getattr__(name)
        except AttributeError:
            return default

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._draft.has(name)

    def origin(self, name: str) -> Origin:
        """Where the value of a field comes from. Raises: AttributeError for a field that is not there."""
        draft = self._draft
        stored = draft.canonical(name)
        if stored not in draft.values:
            self.__getattr__(stored)  # a property of the class
            return Origin(
                "derived", source=f"a property of {draft.schema.class_name}" if draft.schema is not None else ""
            )
        if stored in draft.found:
            found: Origin = draft.found[stored]
            return found
        pointer = draft.pointer_of(stored)
        if pointer:
            return Origin("explicit", pointer)
        return Origin("default", source=draft.schema.source) if draft.schema is not None else _DEFAULT

    def pointer_of(self, name: str) -> str:
        """Where a field is written in the file, "" for one that is not."""
        return self.origin(name).pointer if name in self else ""

    @property
    def subs(self) -> Mapping[str, Config]:
        """The sub-configs by name."""
        return MappingProxyType(self._subs)

    def sub(self, name: str) -> Config:
        """A sub-config. Raises: KeyError where there is none of that name."""
        found: Config = self._subs[name]
        return found

    def walk(self) -> Iterator[Config]:
        """This config, then every sub-config below it."""
        yield self
        for sub in self._subs.values():
            yield from sub.walk()

    def at(self, pointer: str) -> Config:
        """The config in this tree that stands at a pointer of the file; this one where none does."""
        return next((config for config in self.walk() if config.pointer == pointer), self)

    def as_base(self, *, alone: bool = False) -> Config:
        """The same config for the type's base class, which has no head; `alone` as if no config were around it."""
        base = object.__new__(Config)
        for slot in Config.__slots__:
            object.__setattr__(base, slot, getattr(self, slot))
        object.__setattr__(base, "task", "model")
        if alone:
            object.__setattr__(base, "pointer", "")
        return base

    def as_task(self, task: str) -> Config:
        """The same config for the class that the auto tables give a task; for its base class where they give none.

        Where there are no tables, for want of a schema, the task stands without a class.
        """
        found = self.schema.tasks.get(task) if self.schema is not None else None
        made = self.as_base()
        if self.schema is None:
            object.__setattr__(made, "task", task)
        if found:
            name = found if isinstance(found, str) else found[0]
            # Where the tables give the task the base class itself, it has no head to tell apart.
            base = self.schema.tasks.get("model") if self.schema is not None else None
            object.__setattr__(made, "task", "model" if name == base else task)
            object.__setattr__(made, "model_class", name)
        return made

    @property
    def rope(self) -> Mapping[str, RopeParameters]:
        """The rotary embeddings by layer type; "" for one that all layers share; empty where there are none."""
        if self._rope is None:
            object.__setattr__(self, "_rope", MappingProxyType(rope.read(self._draft)))
        found: Mapping[str, RopeParameters] = self._rope
        return found

    def to_dict(self) -> dict[str, Any]:
        """The values as plain JSON-like data."""
        return {name: value.to_dict() if isinstance(value, Config) else value for name, value in self.values.items()}

    def __repr__(self) -> str:
        return f"Config({self.model_type!r}, pointer={self.pointer!r}, {len(self.values)} values)"


def _type_in(raw: Mapping[str, Any]) -> str:
    found = raw.get("model_type")
    return found if isinstance(found, str) else ""
