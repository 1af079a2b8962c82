"""How wide text is, by a table that comes along, so that a figure is the same on every machine."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from functools import cache

from archscope.render.advances import BOLD, MONO, REGULAR

EM = 2048
SPARE = 1.12
"""Boxes are this much wider than their text by the table, for fallback fonts that are wider."""
ELLIPSIS = "…"
_WIDE = EM
_UNKNOWN = 1400


def _table(rows: tuple[tuple[int, str], ...]) -> Mapping[str, int]:
    return {char: width for width, chars in rows for char in chars}


@cache
def _tables() -> tuple[Mapping[str, int], Mapping[str, int]]:
    return _table(REGULAR), _table(BOLD)


def width(text: str, size: float, *, bold: bool = False, mono: bool = False) -> float:
    """Width of a line of text.

    Units: pixels, like size.
    """
    if mono:
        units = sum(MONO if char.isascii() else max(MONO, _foreign(char)) for char in text)
    else:
        table = _tables()[bold]
        units = sum(table.get(char) or _foreign(char) for char in text)
    return units * size / EM


def _foreign(char: str) -> int:
    """A character that no bundled font has: as wide as it can be expected to be in another."""
    if unicodedata.combining(char):
        return 0
    return _WIDE if unicodedata.east_asian_width(char) in "WF" else _UNKNOWN


def cut(text: str, room: float, size: float, *, bold: bool = False, mono: bool = False) -> str:
    """The text, or as much of its beginning as fits with an ellipsis."""
    if width(text, size, bold=bold, mono=mono) <= room:
        return text
    room -= width(ELLIPSIS, size, bold=bold, mono=mono)
    kept = 0
    used = 0.0
    for char in text:
        used += width(char, size, bold=bold, mono=mono)
        if used > room:
            break
        kept += 1
    return text[:kept].rstrip(" ·,") + ELLIPSIS


def fit(words: tuple[str, ...], room: float, size: float, *, bold: bool = False, mono: bool = False) -> str:
    """The first of several ways to say a thing that fits; the last one cut where none does."""
    for said in words:
        if width(said, size, bold=bold, mono=mono) <= room:
            return said
    return cut(words[-1], room, size, bold=bold, mono=mono) if words else ""


def wrap(text: str, room: float, size: float, *, most: int = 4) -> tuple[str, ...]:
    """A message broken into lines at spaces; the last of `most` lines is cut."""
    lines: list[str] = []
    rest = text.split(" ")
    while rest and len(lines) < most:
        taken = 1
        while taken < len(rest) and width(" ".join(rest[: taken + 1]), size) <= room:
            taken += 1
        last = len(lines) == most - 1
        lines.append(cut(" ".join(rest if last else rest[:taken]), room, size))
        rest = rest[taken:]
    return tuple(lines)
