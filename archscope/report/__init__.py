"""Diagnostics as text for people, as JSON and as workflow annotations: one small pure function each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

from archscope.diagnostics import Diagnostic, Severity
from archscope.source import Document

Status = Literal["checked", "foreign", "unreadable", "failed"]


class Checked(NamedTuple):
    """One file of a run and what became of it.

    `foreign` files are no model's configuration; `unreadable` ones could not be opened; on `failed` ones archscope
    itself broke. `note` says why, where there is a reason to give.
    """

    path: str
    status: Status
    fidelity: str | None = None
    note: str = ""


class Report(NamedTuple):
    """All there is to say about a run; diagnostics are in their final order."""

    diagnostics: Sequence[Diagnostic]
    files: Sequence[Checked]
    documents: Mapping[str, Document]

    def count(self, severity: Severity) -> int:
        """Number of diagnostics of one severity."""
        return sum(diagnostic.severity is severity for diagnostic in self.diagnostics)


class Writer(Protocol):
    """A report format."""

    def __call__(self, report: Report, *, color: bool, summary: bool) -> str:
        """The whole text, with its final line end; empty where there is nothing to say."""


def counted(number: int, noun: str) -> str:
    """A number with its noun: `1 file`, `2 files`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
