"""Diagnostics for programs: one JSON object, described by schemas/report.schema.json."""

from __future__ import annotations

import json
from typing import Any

from archscope.diagnostics import Diagnostic, Place, Severity
from archscope.report import Report

VERSION = 1


def write(report: Report, *, color: bool = False, summary: bool = True) -> str:
    """The report as JSON; it holds the summary in any case, and no colours."""
    return json.dumps(as_dict(report), indent=2) + "\n"


def as_dict(report: Report) -> dict[str, Any]:
    """The report as plain values."""
    return {
        "version": VERSION,
        "files": [
            {"path": file.path, "status": file.status, "fidelity": file.fidelity, "note": file.note}
            for file in report.files
        ],
        "diagnostics": [_diagnostic(diagnostic) for diagnostic in report.diagnostics],
        "summary": {
            "files": sum(file.status in ("checked", "failed") for file in report.files),
            "errors": report.count(Severity.ERROR),
            "warnings": report.count(Severity.WARNING),
            "infos": report.count(Severity.INFO),
        },
    }


def _diagnostic(diagnostic: Diagnostic) -> dict[str, Any]:
    return {
        "rule": diagnostic.rule,
        "severity": diagnostic.severity.value,
        "message": diagnostic.message,
        **_place(diagnostic.place),
        "related": [{**_place(place), "note": place.note} for place in diagnostic.related],
        "help": diagnostic.help,
        "fixes": [
            {
                "title": fix.title,
                "safe": fix.safe,
                "edits": [
                    {"file": edit.file, "start": edit.start, "end": edit.end, "text": edit.text} for edit in fix.edits
                ],
            }
            for fix in diagnostic.fixes
        ],
    }


def _place(place: Place) -> dict[str, Any]:
    return {
        "file": place.file,
        "pointer": place.pointer,
        "line": place.line,
        "column": place.column,
        "end_line": place.end_line,
        "end_column": place.end_column,
    }
