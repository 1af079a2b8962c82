"""What archscope says about a file: severities, places and diagnostics."""

from __future__ import annotations

import enum

from archscope.records import dataclass


class Severity(enum.StrEnum):
    """How bad a diagnostic is.

    ERROR: the file will not load, or computes something other than its author meant. WARNING: it loads, almost surely
    unintended, or readers disagree. INFO: worth knowing.
    """

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """0 for info, 1 for warning, 2 for error."""
        return ("info", "warning", "error").index(self.value)


@dataclass(frozen=True, slots=True)
class Place:
    """A stretch of one file.

    Units: line and column count from 1, in characters; end_column is exclusive. They are None where the value has no
    text (a dict handed to `load`, a missing key with no parent in the text).
    """

    file: str
    pointer: str = ""
    line: int | None = None
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the characters from start to end (offsets in the decoded text of `file`) with `text`."""

    file: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """A change that repairs the fault. Only `safe` ones keep the meaning of the file."""

    title: str
    edits: tuple[Edit, ...]
    safe: bool = False


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One fact about a file, with its place.

    `pointer` is the RFC 6901 pointer of the primary value; `related` are further places that the message speaks of,
    each with its note.
    """

    rule: str
    severity: Severity
    message: str
    place: Place
    related: tuple[Place, ...] = ()
    help: str = ""
    fixes: tuple[Fix, ...] = ()

    @property
    def file(self) -> str:
        """The file of the primary place."""
        return self.place.file

    @property
    def pointer(self) -> str:
        """The RFC 6901 pointer of the primary place."""
        return self.place.pointer

    @property
    def line(self) -> int | None:
        """The line of the primary place, from 1."""
        return self.place.line

    @property
    def column(self) -> int | None:
        """The column of the primary place, from 1."""
        return self.place.column

    def sort_key(self) -> tuple[str, int, int, str, str]:
        """Order of reports: file, place, rule, message."""
        return (self.file, self.line or 0, self.column or 0, self.rule, self.message)
