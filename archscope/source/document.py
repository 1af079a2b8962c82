"""A file as a plain value that knows where its keys and values stand."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from archscope.diagnostics import Diagnostic, Place, Severity
from archscope.records import dataclass
from archscope.source.limits import MAX_DEPTH, MAX_PROBLEMS
from archscope.source.parser import parse
from archscope.source.pointer import Path, pointer
from archscope.source.text import SourceText, Span, decode, without_surrogates

if TYPE_CHECKING:
    from archscope.source.spans import SpanIndex

MAX_CONTAINERS = 100_000  # of a Python value: one that shares its parts may unfold without end
_LFS_MARK = "version https://git-lfs.github.com/spec/"


@dataclass(frozen=True)
class Document:
    """One JSON document.

    `value` is what Python's json would give; where the text is broken, what could be read of it. `text` is None for a
    document that never was text (a dict) or could not be read as text.
    """

    name: str
    value: Any
    text: SourceText | None = None
    problems: tuple[Diagnostic, ...] = ()

    @cached_property
    def mapping(self) -> Mapping[str, Any]:
        """The members of the top-level object; none where the top level is something else."""
        return MappingProxyType(self.value) if isinstance(self.value, dict) else MappingProxyType({})

    @cached_property
    def _spans(self) -> SpanIndex:
        # Here, not above: most files are flawless, and nobody asks where things stand in them.
        from archscope.source.careful import locate
        from archscope.source.spans import SpanIndex

        return SpanIndex(None, None) if self.text is None else locate(self.text).spans

    def key_span(self, path: Path) -> Span | None:
        """Span of the key at a path with its quotes; None for an array item or what is not in the text."""
        return self._spans.key(path)

    def value_span(self, path: Path) -> Span | None:
        """Span of the value at a path; None if it is not in the text."""
        return self._spans.value(path)

    def place(self, path: Path, *, key: bool = False, note: str = "") -> Place:
        """The place of the value (or of the key) at a path.

        What is not in the text is placed at its nearest parent that is: at that parent's key, or at its opening
        bracket. The pointer stays the one asked for.
        """
        where = pointer(path)
        if self.text is None:
            return Place(self.name, where, note=note)
        span = (self.key_span(path) if key else None) or self.value_span(path)
        for length in range(len(path) - 1, -1, -1):
            if span is not None:
                break
            span = self.key_span(path[:length]) or _opening(self.value_span(path[:length]))
        if span is None:
            return Place(self.name, where, note=note)
        return self.text.place(span, where, note)


def _opening(span: Span | None) -> Span | None:
    return Span(span.start, span.start + 1) if span else None


def document_of_bytes(name: str, data: bytes) -> Document:
    """The document in the bytes of a file. Any bytes will do: what is wrong with them is in `problems`."""
    text, problems = decode(name, data)
    if text is None:
        return Document(name, None, None, problems)
    if text.text.startswith(_LFS_MARK):
        return Document(name, None, text, (*problems, _lfs_pointer(text)))
    return _document(name, text, problems)


def document_of_text(name: str, text: str) -> Document:
    """The document in a text."""
    return document_of_bytes(name, text.encode("utf-8", "replace"))


def document_of_value(name: str, value: Any) -> Document:
    """The document that a Python value is; what JSON cannot hold becomes text, and a problem says so."""
    plain = _Plain(name)
    return Document(name, plain.copy(value, ()), None, tuple(plain.problems))


def _document(name: str, text: SourceText, problems: tuple[Diagnostic, ...]) -> Document:
    parsed = parse(text)
    document = Document(name, parsed.value, text, (*problems, *parsed.problems))
    if parsed.spans is not None:
        # The careful parse has located everything already: fill the cached property.
        document.__dict__["_spans"] = parsed.spans
    return document


def _lfs_pointer(text: SourceText) -> Diagnostic:
    return Diagnostic(
        "invalid-json",
        Severity.ERROR,
        "the file is a Git LFS pointer, not the file itself",
        text.place(Span(0, len(text.line(1)))),
        help="run `git lfs pull` in the repository",
    )


class _Plain:
    """Copies a Python value in terms of JSON, within the bounds of a file."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.problems: list[Diagnostic] = []
        self.budget = MAX_CONTAINERS

    def report(self, rule: str, message: str, path: Path) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Diagnostic(rule, Severity.ERROR, message, Place(self.name, pointer(path))))

    def copy(self, value: object, path: Path) -> Any:
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, str):
            return without_surrogates(value)
        self.budget -= 1
        if len(path) >= MAX_DEPTH or self.budget < 0:
            self.report("too-deep", f"values are nested more than {MAX_DEPTH} levels deep, or without end", path)
            return None
        if isinstance(value, Mapping):
            names = {without_surrogates(str(key)): item for key, item in value.items()}
            return {name: self.copy(item, (*path, name)) for name, item in names.items()}
        if isinstance(value, list | tuple):
            return [self.copy(item, (*path, index)) for index, item in enumerate(value)]
        self.report("invalid-json", f"a {type(value).__name__} is not a JSON value", path)
        return without_surrogates(str(value))
