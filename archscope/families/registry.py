"""Which builder makes which model type, found through an index so that only the module needed is imported."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from archscope.blocks.assembly import Architecture, Opaque, Tower, TowerRole
from archscope.blocks.base import Block, Group, join
from archscope.blocks.renaming import rooted
from archscope.blocks.undeclared import refuse_mistyped, refuse_nonsense
from archscope.config import Config, read_as
from archscope.config.limits import implausible

Builder = Callable[[Config], Architecture]

BUILD_FAILURES = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What a builder may raise over values that no model can have."""
REMOTE = "remote_"
"""How the names of modules begin whose model types no release of transformers has."""
UNPROVEN = "remote code: names and shapes follow published checkpoints, and no reference can prove them"

_builders: dict[str, Builder] = {}


def family(*model_types: str) -> Callable[[Builder], Builder]:
    """Register a builder for model types that share one modeling class.

    Raises: ValueError where a type has a builder already.
    """

    def register(builder: Builder) -> Builder:
        for model_type in model_types:
            if model_type in _builders:
                raise ValueError(f"two builders for {model_type}: {_builders[model_type].__name__}, {builder.__name__}")
            _builders[model_type] = builder
        return builder

    return register


@cache
def index() -> dict[str, str]:
    """Model type to the module of archscope.families that builds it (generated: python -m archscope.dev.families)."""
    text = (Path(__file__).parent / "index.json").read_text(encoding="utf-8")
    found: dict[str, str] = json.loads(text)
    return found


def builder_of(model_type: str) -> Builder | None:
    """The builder of a model type, None where there is none."""
    if model_type not in _builders:
        module = index().get(model_type)
        if module is None:
            return None
        importlib.import_module(f"archscope.families.{module}")
    return _builders.get(model_type)


def is_remote(model_type: str) -> bool:
    """Whether the builder of a model type describes remote code, for which there is no reference."""
    return index().get(model_type, "").startswith(REMOTE)


def registered() -> dict[str, Builder]:
    """The builders of all modules imported so far."""
    return dict(_builders)


def build(c: Config) -> Architecture | None:
    """The architecture that a config describes, None where its type has no builder.

    Raises: ValueError for a count of layers or experts that no model has; whatever arithmetic on other values raises.
    """
    builder = builder_of(c.model_type)
    if builder is None:
        return None
    for one in implausible(c):
        raise ValueError(f"{one.name} is {one.value}: no model has more than {one.most:,} {one.what}")
    if not is_remote(c.model_type):
        return builder(c)
    refuse_nonsense(c)
    built = builder(c)
    refuse_mistyped((*built.parts, *built.extra))
    return replace(built, partial=built.partial or UNPROVEN, fidelity="inferred")


def build_as(c: Config, model_type: str, **changes: Any) -> Architecture:
    """What another type builds from the same fields, but for the changed ones.

    Raises: as `build` does.
    """
    built = build(read_as(c, model_type, **changes))
    assert built is not None, model_type
    return built


def tower(c: Config, name: str, role: TowerRole = "text", *, native: bool = False) -> Block:
    """The base model of a sub-config, mounted under a name as a tower with this role.

    A type without a builder gives an Opaque part: the rest stays exact and says which part is not. Some towers are saved
    under other names inside their composite model than alone; `native` keeps those of the tower's own class.
    """
    built = build(c.as_base(alone=native))
    if built is None:
        return Opaque(name=name, model_type=c.model_type, reason=f"archscope has no builder for {c.model_type or 'it'}")
    # What is not known of the part is not known of the whole.
    missing = (Opaque(role="side", model_type=c.model_type, reason=built.partial),) if built.partial else ()
    if len(built.parts) == 1 and isinstance(built.parts[0], Tower):
        found = built.parts[0]
        return replace(
            found, name=join(name, found.name), tower=role, parts=(*found.parts, *missing), pointer=c.pointer
        )
    return Group(name=name, role=role, parts=(*built.parts, *missing))


def model(c: Config, name: str, role: TowerRole = "text") -> Block:
    """All of a sub-config's class, head and all, mounted under a name; Opaque where its type has no builder."""
    built = build(c)
    if built is None:
        return Opaque(name=name, model_type=c.model_type, reason=f"archscope has no builder for {c.model_type or 'it'}")
    missing = (Opaque(role="side", model_type=c.model_type, reason=built.partial),) if built.partial else ()
    return Group(name=name, role=role, parts=tuple(rooted(part, name) for part in (*built.parts, *missing)))


def mounted(c: Config, name: str) -> tuple[Block, ...]:
    """The parts of a sub-config's class, each mounted under a name, so that its towers stand beside other parts."""
    built = build(c)
    if built is None:
        reason = f"archscope has no builder for {c.model_type or 'it'}"
        return (Opaque(name=name, model_type=c.model_type, reason=reason),)
    missing = (Opaque(role="side", model_type=c.model_type, reason=built.partial),) if built.partial else ()
    return tuple(replace(rooted(part, name), name=join(name, part.name)) for part in (*built.parts, *missing))


def ahead(c: Config) -> tuple[Block, ...]:
    """Next-token-prediction layers of a sub-config's model, for a composite that saves them under the same names."""
    built = build(c)
    return built.extra if built is not None else ()
