"""Where a value comes from, and what is wrong with it."""

from __future__ import annotations

from typing import Literal

from archscope.records import dataclass


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value comes from.

    kind: written in the file under its own name ("explicit") or another ("alias"), the default of the config class,
    or derived from other fields. pointer: RFC 6901, where it is written, "" for defaults and derived values.
    as_written: the key as spelled in the file, for an alias. source: "LlamaConfig, transformers 5.24.0" for a
    default, the formula for a derived value. fields: those that a derived value comes from.
    """

    kind: Literal["explicit", "alias", "default", "derived"]
    pointer: str = ""
    as_written: str = ""
    source: str = ""
    fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Problem:
    """A value that was not taken as written.

    kind: "type", "null" (null where it is not allowed), "range" (below or above what the class allows), "size" (a
    list too long to be meant), "derived" (a formula that these values break), "sub-config", "read-only" (a name that
    the class computes itself). message: why, lower case, without the field's name. value: as written. checked:
    whether transformers refuses it while reading the config; where false the model build fails, or nothing does.
    """

    kind: Literal["type", "null", "range", "size", "derived", "sub-config", "read-only"]
    message: str
    value: object = None
    pointer: str = ""
    checked: bool = True


def escape(key: str) -> str:
    """A key as one step of an RFC 6901 pointer."""
    return key.replace("~", "~0").replace("/", "~1") if "~" in key or "/" in key else key
