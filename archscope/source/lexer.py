"""Tokens of JSON text, and of what people write instead of JSON."""

from __future__ import annotations

import re
from collections.abc import Container
from json import dumps
from json.decoder import scanstring  # type: ignore[attr-defined]  # in C where Python has it so
from typing import Any, NamedTuple, Protocol

from archscope.diagnostics import Edit, Fix, Severity
from archscope.source.limits import MAX_BROKEN_STRING, MAX_DIGITS
from archscope.source.text import BOM, SourceText, Span

_SPACE = r"[ \t\n\r]*+"
_PLAIN = r'"[^"\\\x00-\x1f]*+"'
_NUMBER = r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?+[0-9]++)?+"
_TOKEN = re.compile(
    rf"""{_SPACE}(?:
      ("[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{{4}})[^"\\\x00-\x1f]*+)*+")
    | ([{{}}\[\],:])
    | ({_NUMBER})(?![\w.+-])
    | (true|false|null)(?!\w)
    )""",
    re.VERBOSE,
)
# A member as most are: a key and a scalar without escapes, and a comma or the end of the object behind it.
_MEMBER = re.compile(
    rf"{_SPACE}({_PLAIN}){_SPACE}:{_SPACE}(?:({_PLAIN})|({_NUMBER})|(true|false|null)){_SPACE}(?:(,)|(?=\}}))"
)
_BLANK = re.compile(r"[ \t\n\r]*+")
_ODD_BLANK = re.compile(r"[\s\ufeff\u200b\u2060]+")
_COMMENT = re.compile(r"(?://|\#)[^\n\r]*+|/\*.*?\*/", re.DOTALL)
_BODY = {
    quote: re.compile(rf"[^{quote}\\\n\r]*+(?:\\[^\n\r][^{quote}\\\n\r]*+)*+") for quote in ('"', "'", "`", "”", "’")
}
_CLOSING = {"“": "”", "‘": "’"}
_WORD = re.compile(r"""[^\s,:;={}\[\]"'`]++""")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f]")
_LONE = re.compile("[\ud800-\udfff]")
_LITERALS: dict[str, object] = {"true": True, "false": False, "null": None}
_PYTHON_WORDS = {"True": "true", "False": "false", "None": "null", "TRUE": "true", "FALSE": "false", "NULL": "null",
                 "Null": "null", "undefined": "null"}  # fmt: skip
_NONFINITE = {"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}
_ODD_NONFINITE = re.compile(r"[+-]?(?:nan|inf|infinity)", re.IGNORECASE)
_ODD_INT = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]{1,64}|[0-9][0-9_]{0,199})")
_ODD_FLOAT = re.compile(r"[+-]?(?:[0-9]{1,200}\.?[0-9]{0,200}|\.[0-9]{1,200})(?:[eE][+-]?[0-9]{1,6})?")
_NAMES = {"\t": "tab", "\n": "line feed", "\r": "carriage return", "\xa0": "no-break space", BOM: "byte order mark",
          "\x00": "NUL", "\x1b": "escape"}  # fmt: skip


class Member(NamedTuple):
    """A key and its scalar value; `comma` is the offset of the comma behind it, None at the end of the object."""

    key: tuple[str, int, int]
    value: Any
    start: int
    end: int
    comma: int | None


class Token(NamedTuple):
    """One token: `kind` is a bracket, comma or colon itself, or one of string, scalar, word, junk, end."""

    kind: str
    start: int
    end: int
    value: Any


class Report(Protocol):
    """How the lexer and the parser state a problem."""

    def __call__(
        self,
        rule: str,
        severity: Severity,
        message: str,
        span: Span,
        *,
        help: str = "",
        fix: Fix | None = None,
    ) -> None:
        """Record one problem at a span."""


class Lexer:
    """Reads one token after another; oddities are reported and read as what was meant."""

    def __init__(self, source: SourceText, report: Report) -> None:
        self.source = source
        self.text = source.text
        self.position = 1 if self.text.startswith(BOM) else 0
        self.report = report

    def next(self) -> Token:
        """The next token; `end` for ever once the text is used up."""
        match = _TOKEN.match(self.text, self.position)
        if match is None:
            return self._odd()
        group = match.lastindex or 0
        start, end = match.span(group)
        self.position = end
        written = match[group]
        if group == 1:
            return Token("string", start, end, self._string(written, start, end))
        if group == 2:
            return Token(written, start, end, None)
        if group == 3:
            return Token("scalar", start, end, self._number(written, Span(start, end)))
        return Token("scalar", start, end, _LITERALS[written])

    def next_member(self, taken: Container[str]) -> Member | None:
        """The next member at one go, if it is a plain one and its key is not taken; else nothing is read."""
        match = _MEMBER.match(self.text, self.position)
        if match is None or (key := match[1][1:-1]) in taken:
            return None
        text, number, comma = match[2], match[3], match[5]
        start, end = match.span(2 if text is not None else 3 if number is not None else 4)
        value: Any
        if text is not None:
            value = text[1:-1]
        else:
            value = _LITERALS[match[4]] if number is None else self._number(number, Span(start, end))
        self.position = match.end()
        return Member((key, *match.span(1)), value, start, end, None if comma is None else self.position - 1)

    def _string(self, written: str, start: int, end: int) -> str:
        if "\\" not in written:
            return written[1:-1]
        value: str = scanstring(self.text, start + 1)[0]
        if _LONE.search(value):
            # Python reads half a surrogate pair and then cannot write it in any encoding.
            message = "the string holds half of a surrogate pair, which is no character"
            self.report("invalid-json", Severity.WARNING, message, Span(start, end))
            value = _LONE.sub("\ufffd", value)
        return value

    def _number(self, written: str, span: Span) -> int | float | None:
        if written.lstrip("-").isdecimal():
            if len(written) <= MAX_DIGITS:
                return int(written)
            message = f"the number has {len(written):,} digits; Python reads at most {MAX_DIGITS:,}"
            self.report("invalid-json", Severity.ERROR, message, span)
            return None
        value = float(written)
        if value in (float("inf"), float("-inf")):
            message = f"the number {shown(written)} overflows to infinity"
            self.report("nonfinite-number", Severity.WARNING, message, span)
        return value

    def _odd(self) -> Token:
        """A token that is not JSON, after skipping blanks and comments that are not JSON either."""
        while True:
            start = self.position = _BLANK.match(self.text, self.position).end()  # type: ignore[union-attr]
            if start >= len(self.text):
                return Token("end", start, start, None)
            if not (self._odd_blank(start) or self._comment(start)):
                break
            if _TOKEN.match(self.text, self.position):
                return self.next()
        char = self.text[start]
        if _CLOSING.get(char, char) in _BODY:
            return self._odd_string(start, _CLOSING.get(char, char))
        word = _WORD.match(self.text, start)
        self.position = word.end() if word else start + 1
        span = Span(start, self.position)
        return self._word(word[0], span) if word else Token("junk", *span, char)

    def _odd_blank(self, start: int) -> bool:
        match = _ODD_BLANK.match(self.text, start)
        if match is None:
            return False
        self.position = match.end()
        span = Span(start, match.end())
        fix = Fix("replace it with a space", (Edit(self.source.name, *span, " "),), safe=True)
        message = f"{named(self.text[start])} between values is not JSON white space"
        self.report("invalid-json", Severity.ERROR, message, span, fix=fix)
        return True

    def _comment(self, start: int) -> bool:
        match = _COMMENT.match(self.text, start)
        if match is None and not self.text.startswith("/*", start):
            return False
        self.position = match.end() if match else len(self.text)
        span = Span(start, self.position)
        fix = Fix("remove the comment", (Edit(self.source.name, *span, ""),)) if match else None
        message = "JSON has no comments" if match else "the comment is not closed, and JSON has no comments"
        self.report("json-comment", Severity.ERROR, message, span, help="remove the comment", fix=fix)
        return True

    def _odd_string(self, start: int, quote: str) -> Token:
        """A string that is not closed, not in double quotes, or holds what a string may not hold."""
        end = _BODY[quote].match(self.text, start + 1).end()  # type: ignore[union-attr]
        closed = self.text.startswith(quote, end)
        body = self.text[start + 1 : end]
        if not closed:
            # Most likely the quote before the comma at the end of the line was forgotten.
            body = body.rstrip().removesuffix(",").rstrip()
        self.position = end = end + 1 if closed else start + 1 + len(body)
        span = Span(start, end)
        if not closed:
            self.report("invalid-json", Severity.ERROR, "the string is not closed on its line", span)
        long = len(body) > MAX_BROKEN_STRING
        value = body if long else self._unescape(body, start + 1, strict=closed and quote == '"')
        if quote != '"' and closed:
            fix = Fix("use double quotes", (Edit(self.source.name, *span, _quoted(value)),), safe=True)
            message = f"the string is in {self.text[start]} quotes, not in double quotes"
            self.report("invalid-json", Severity.ERROR, message, span, fix=fix)
        return Token("string", start, end, value)

    def _unescape(self, body: str, offset: int, *, strict: bool) -> str:
        def value_of(match: re.Match[str]) -> str:
            written = match[1]
            if written[0] == "u" and len(written) == 5:
                return chr(int(written[1:], 16))
            if written in _ESCAPED:
                return _ESCAPED[written]
            if strict:
                at = offset + match.start()
                message = f"\\{shown(written)} is not an escape of JSON"
                fix = Fix("write the backslash twice", (Edit(self.source.name, at, at + 1, "\\\\"),))
                self.report("invalid-json", Severity.ERROR, message, Span(at, at + 2), fix=fix)
            return written if written in "'`" else match[0]

        control = _CONTROL.search(body) if strict else None
        if control:
            at = offset + control.start()
            fix = Fix("escape it", (Edit(self.source.name, at, at + 1, _quoted(control[0])[1:-1]),), safe=True)
            message = f"{named(control[0])} in a string must be written as an escape"
            self.report("invalid-json", Severity.ERROR, message, Span(at, at + 1), fix=fix)
        value = _ESCAPE.sub(value_of, body)
        # Two halves of a pair, each written as an escape, are one character.
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if _LONE.search(value) else value

    def _word(self, word: str, span: Span) -> Token:
        if word in _NONFINITE:
            self.report("nonfinite-number", Severity.WARNING, f"{word} is not a number of JSON", span,
                        help="write a finite number, or null")  # fmt: skip
            return Token("scalar", *span, float(_NONFINITE[word]))
        if word in _PYTHON_WORDS:
            written = _PYTHON_WORDS[word]
            fix = Fix(f"write {written}", (Edit(self.source.name, *span, written),), safe=True)
            self.report("invalid-json", Severity.ERROR, f"{word} is not JSON", span, help=f"write {written}", fix=fix)
            return Token("scalar", *span, _LITERALS[written])
        number = _odd_number(word)
        if number is not None:
            self.report("invalid-json", Severity.ERROR, f"{shown(word)} is not a number of JSON", span)
            return Token("scalar", *span, number)
        return Token("word", *span, word)


_ESCAPED = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def _odd_number(word: str) -> int | float | None:
    """The value of a number as other languages write it: `+1`, `.5`, `1.`, `007`, `0x1F`, `1_000`."""
    if _ODD_INT.fullmatch(word):
        digits = word.lstrip("+-").replace("_", "")
        value = int(digits, 16) if digits[:2] in ("0x", "0X") else int(digits)
        return -value if word[0] == "-" else value
    if _ODD_FLOAT.fullmatch(word) or _ODD_NONFINITE.fullmatch(word):
        return float(word)
    return None


def _quoted(text: str) -> str:
    return dumps(text, ensure_ascii=False)


def shown(text: str, limit: int = 40) -> str:
    """Text of the file as a message may quote it: short."""
    return text if len(text) <= limit else text[: limit - 3] + "..."


def named(char: str) -> str:
    """A character that cannot be seen, by its number and name."""
    code = f"U+{ord(char):04X}"
    return f"{code} ({_NAMES[char]})" if char in _NAMES else code
