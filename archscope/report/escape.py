"""Hostile text made harmless and visible for a terminal."""

from __future__ import annotations

import re
from functools import cache

# Control characters, bidirectional overrides and isolates, invisible joiners and marks, lone surrogates, private use.
_UNSAFE = (
    "[\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\ue000-\uf8ff\U000e0000-\U000e0fff\U000f0000-\U0010ffff]"
)
TAB = "    "


@cache
def _unsafe() -> re.Pattern[str]:
    # On demand: most reports are plain ASCII, and this takes a millisecond.
    return re.compile(_UNSAFE)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def visible(text: str, *, keep_lines: bool = False) -> str:
    """The text with every character that could act on a terminal, or hide, written as an escape.

    Args:
        text: any text.
        keep_lines: leave line feeds alone.
    """
    if text.isascii() and text.isprintable():
        return text
    if keep_lines:
        return "\n".join(_unsafe().sub(_escape, line) for line in text.split("\n"))
    return _unsafe().sub(_escape, text)


def cell(char: str) -> str:
    """One character as a code frame shows it."""
    return TAB if char == "\t" else visible(char)


def width(text: str) -> int:
    """Columns that a text takes on a terminal.

    Units: columns of a fixed-width font; wide characters take two, combining ones none.
    """
    if text.isascii():
        return len(text)
    return sum(_char_width(char) for char in text)


def _char_width(char: str) -> int:
    import unicodedata

    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1
