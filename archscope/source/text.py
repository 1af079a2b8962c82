"""Text of a file: from bytes to characters, from offsets to lines and columns."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property
from typing import NamedTuple

from archscope.diagnostics import Diagnostic, Edit, Fix, Place, Severity

BOM = "\ufeff"
_LINE_END = re.compile(r"\r\n|\n|\r")
_SURROGATE = re.compile("[\ud800-\udfff]")
# Longest marks first: the UTF-32 little-endian mark starts with the UTF-16 one.
_MARKS = (
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
# Where the NULs of the first two ASCII characters stand, as RFC 4627 section 3 tells the encodings apart.
_NUL_PATTERNS = {
    (True, True, True, False): "utf-32-be",
    (False, True, True, True): "utf-32-le",
    (True, False, True, False): "utf-16-be",
    (False, True, False, True): "utf-16-le",
}


class Span(NamedTuple):
    """Offsets of characters: start inclusive, end exclusive."""

    start: int
    end: int


class SourceText:
    """The decoded text of one file and its name.

    Offsets count characters of `text`. A byte order mark stays in `text`, and is no column of the first line.
    """

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = without_surrogates(text)

    @cached_property
    def line_starts(self) -> list[int]:
        """Offset of the first character of each line."""
        first = 1 if self.text.startswith(BOM) else 0
        return [first, *(match.end() for match in _LINE_END.finditer(self.text))]

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both from 1."""
        line = max(bisect_right(self.line_starts, offset), 1)
        return line, max(offset - self.line_starts[line - 1], 0) + 1

    def line(self, number: int) -> str:
        """The text of a line (from 1), without its line end; empty where there is no such line."""
        if not 1 <= number <= len(self.line_starts):
            return ""
        start = self.line_starts[number - 1]
        end = self.line_starts[number] if number < len(self.line_starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")

    def place(self, span: Span, pointer: str = "", note: str = "") -> Place:
        """The place of a span."""
        line, column = self.position(span.start)
        end_line, end_column = self.position(max(span.end, span.start))
        return Place(self.name, pointer, line, column, end_line, end_column, note)


def without_surrogates(text: str) -> str:
    """The text with a replacement character for every lone surrogate, which no encoding can write."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def decode(name: str, data: bytes) -> tuple[SourceText | None, tuple[Diagnostic, ...]]:
    """Text of a file, whatever its encoding, with what is wrong about that encoding.

    No text is given for data that is not text at all.
    """
    if data.startswith(b"\xef\xbb\xbf"):
        source, problems = _decode_utf8(name, data)
        edit = Edit(name, 0, 1, "")
        mark = Diagnostic(
            "byte-order-mark",
            Severity.ERROR,
            "the file starts with a byte order mark, which JSON readers refuse",
            Place(name, "", 1, 1, 1, 1),
            help="save the file as UTF-8 without a byte order mark",
            fixes=(Fix("remove the byte order mark", (edit,), safe=True),),
        )
        return source, (mark, *problems)
    encoding = _wide_encoding(data)
    if encoding:
        return _decode_wide(name, data, encoding)
    if b"\x00" in data:
        return None, (_not_text(name, data),)
    return _decode_utf8(name, data)


def _wide_encoding(data: bytes) -> str:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return encoding
    if len(data) < 4:
        return ""
    return _NUL_PATTERNS.get((data[0] == 0, data[1] == 0, data[2] == 0, data[3] == 0), "")


def _decode_utf8(name: str, data: bytes) -> tuple[SourceText, tuple[Diagnostic, ...]]:
    try:
        return SourceText(name, data.decode("utf-8")), ()
    except UnicodeDecodeError as error:
        source = SourceText(name, data.decode("utf-8", errors="replace"))
        offset = len(data[: error.start].decode("utf-8"))
        problem = Diagnostic(
            "wrong-encoding",
            Severity.ERROR,
            f"byte 0x{data[error.start]:02x} is not valid UTF-8",
            source.place(Span(offset, offset + 1)),
            help="save the file as UTF-8",
        )
        return source, (problem,)


def _decode_wide(name: str, data: bytes, encoding: str) -> tuple[SourceText | None, tuple[Diagnostic, ...]]:
    text = data.decode(encoding, errors="replace").removeprefix(BOM)
    if "\x00" in text or text.count("\ufffd") * 4 > len(text):
        return None, (_not_text(name, data),)
    problem = Diagnostic(
        "wrong-encoding",
        Severity.ERROR,
        f"the file is {encoding[:6].upper()}, not UTF-8",
        Place(name, "", 1, 1, 1, 1),
        help="save the file as UTF-8",
    )
    return SourceText(name, text), (problem,)


def _not_text(name: str, data: bytes) -> Diagnostic:
    return Diagnostic(
        "wrong-encoding",
        Severity.ERROR,
        f"the file is binary data of {len(data):,} bytes, not JSON text",
        Place(name),
        help="give the config.json of the model, not its weights",
    )
