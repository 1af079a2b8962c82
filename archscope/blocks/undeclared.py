"""Values of configs whose class nobody here has: no types are checked, and no defaults are known but the builder's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from archscope.config import Config, completed, part
from archscope.config.limits import implausible

LABELS = ("sequence_classification", "token_classification", "question_answering")
MOST = 10**18
"""Past all sizes and products of sizes."""
POSITIVE = (
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "intermediate_size",
    "head_dim",
    "vocab_size",
)


def refuse_nonsense(c: Config) -> None:
    """Raise for sizes that no model has.

    Raises: ValueError for one that is no whole number above zero, and for a count of layers or experts past all models.
    """
    for one in implausible(c):
        raise ValueError(f"{one.name} is {one.value}: no model has more than {one.most:,} {one.what}")
    for name in POSITIVE:
        value = c.get(name)
        if value is not None and whole(value) is None:
            raise ValueError(f"{name} is {str(value)[:40]}, which no model has")


def refuse_mistyped(value: object) -> None:
    """Raise for blocks whose numbers are none, since no class has checked the values that they come from.

    Raises: TypeError, ValueError.
    """
    _check(value, set())


def _check(value: object, seen: set[int]) -> None:
    if isinstance(value, tuple):
        for one in value:
            _check(one, seen)
    elif is_dataclass(value) and not isinstance(value, type) and id(value) not in seen:
        seen.add(id(value))
        for field in fields(value):
            held = getattr(value, field.name)
            if field.type in _NUMBERS:
                _check_number(type(value).__name__, field.name, held, str(field.type))
            else:
                _check(held, seen)


_NUMBERS = ("int", "int | None", "float", "float | None", "tuple[int, ...]")


def _check_number(owner: str, name: str, value: object, kind: str) -> None:
    if kind.startswith("tuple"):
        good = isinstance(value, tuple) and all(_is_count(one) for one in value)
    elif value is None:
        good = kind.endswith("None")
    elif kind.startswith("int"):
        good = _is_count(value)
    else:
        good = isinstance(value, int | float) and not isinstance(value, bool) and -MOST < value < MOST
    if not good:
        raise TypeError(f"{name} of a block {owner} is {str(value)[:40]}")


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST


def part_of(c: Config, name: str) -> Config | None:
    """The config in a field, as its own type reads it; None where there is no object.

    Raises: as `refuse_nonsense` does.
    """
    found = part(c, name)
    if found is not None:
        refuse_nonsense(found)
    return found


def completed_decoder(c: Config, *, theta: float = 10000.0, partial: float | None = None, **defaults: Any) -> Config:
    """The config of a language model with the defaults of its class, and its rotary embedding where builders look for it.

    What it builds is the base class or one over labels where the name of the class says so, else the generative one.

    Args:
        c: the config as written.
        theta: the base of the rotary embedding where the file names none.
        partial: the share of a head that is rotated.
        defaults: canonical field to value.
    """
    scaling = first(c, "rope_scaling", "rope_parameters")
    rope: dict[str, Any] = {"rope_theta": first(c, "rope_theta", "rotary_emb_base", "rope_base", default=theta)}
    if partial is not None:
        rope["partial_rotary_factor"] = partial
    if isinstance(scaling, Mapping):
        rope |= {key: value for key, value in scaling.items() if isinstance(key, str)}
    task = c.task if c.task in ("model", *LABELS) else "causal_lm"
    return completed(c, {"rope_parameters": rope, **defaults}, task)


def whole(value: object) -> int | None:
    """A value, if it is a whole number above zero."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def first(c: Config, *names: str, default: Any = None) -> Any:
    """The first of these fields that is there and not null."""
    return next((found for name in names if (found := c.get(name)) is not None), default)


def flag(c: Config, *names: str, default: bool = False) -> bool:
    """The first of these switches that is there."""
    return bool(first(c, *names, default=default))
