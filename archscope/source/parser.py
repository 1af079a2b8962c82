"""JSON to plain values: quickly where the text is flawless, carefully where it is not."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from archscope.diagnostics import Diagnostic, Place, Severity
from archscope.source.limits import MAX_DEPTH, MAX_DIGITS, MAX_VALUES
from archscope.source.text import BOM, SourceText

if TYPE_CHECKING:
    from archscope.source.spans import SpanIndex


class Parsed(NamedTuple):
    """What could be read; `spans` is None where nothing had to be located yet."""

    value: Any
    spans: SpanIndex | None
    problems: tuple[Diagnostic, ...]


def parse(source: SourceText) -> Parsed:
    """Read a document: its plain value, as Python's json would give it, and what is wrong with its text.

    Flawless text goes through the C scanner of the standard library and is located only on demand (`careful.locate`).
    """
    text = source.text
    if text.count(",") + text.count("{") + text.count("[") > MAX_VALUES:
        message = f"the file has more than {MAX_VALUES:,} values, which no configuration has"
        return Parsed(None, None, (Diagnostic("file-too-large", Severity.ERROR, message, Place(source.name)),))
    try:
        value = _DECODER.decode(text) if _plain(text) else None
    except (ValueError, RecursionError):
        return _carefully(source)
    if not _plain(text) or _deeper(value, text):
        return _carefully(source)
    return Parsed(value, None, ())


def _carefully(source: SourceText) -> Parsed:
    from archscope.source.careful import locate

    return Parsed(*locate(source))


def _plain(text: str) -> bool:
    """Whether the standard library reads this text as we do: no byte order mark, no escaped surrogate."""
    return not text.startswith(BOM) and "\\ud" not in text and "\\uD" not in text


def _deeper(value: object, text: str) -> bool:
    """Whether a value that the standard library has read is nested too deep for us."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return False
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [container for container in level if isinstance(container, dict | list)]
        if not level:
            return False
        level = [child for container in level for child in _children(container)]
    return True


def _children(container: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return container.values() if isinstance(container, dict) else container


def _unlike_json(text: str) -> NoReturn:
    raise ValueError(text)


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key is repeated")
    return members


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(text)
    return value


def _bounded(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise ValueError("too many digits")
    return int(text)


_DECODER = json.JSONDecoder(
    object_pairs_hook=_members, parse_float=_finite, parse_int=_bounded, parse_constant=_unlike_json
)
