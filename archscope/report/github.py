"""Diagnostics as workflow commands, which GitHub Actions shows at their lines.

Source: https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions; the escapes are those of
actions/toolkit, packages/core/src/command.ts.
"""

from __future__ import annotations

from archscope.diagnostics import Diagnostic, Place, Severity
from archscope.report import Report
from archscope.report.escape import visible

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def write(report: Report, *, color: bool = False, summary: bool = True) -> str:
    """The report as one command a line; no summary and no colours."""
    return "".join(f"{_command(diagnostic)}\n" for diagnostic in report.diagnostics)


def _command(diagnostic: Diagnostic) -> str:
    place = diagnostic.place
    properties = {"file": _clean(place.file).replace("\\", "/")}
    if place.line is not None:
        properties["line"] = str(place.line)
        # Columns are only accepted on annotations of one line.
        if place.end_line in (None, place.line):
            properties["col"] = str(place.column)
            properties["endColumn"] = str(place.end_column or place.column)
        else:
            properties["endLine"] = str(place.end_line)
    properties["title"] = _clean(diagnostic.rule)
    written = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{_COMMANDS[diagnostic.severity]} {written}::{_data(_message(diagnostic))}"


def _message(diagnostic: Diagnostic) -> str:
    lines = [_clean(diagnostic.message)]
    lines += [f"{_where(place)}: {_clean(place.note)}" for place in diagnostic.related]
    if diagnostic.help:
        lines.append(f"help: {_clean(diagnostic.help)}")
    return "\n".join(lines)


def _where(place: Place) -> str:
    position = place.pointer if place.line is None else f"{place.line}:{place.column}"
    return _clean(f"{place.file}:{position}")


def _clean(text: str) -> str:
    """Line ends stay, to be escaped as the commands want them; other control characters become visible."""
    return "\n".join(visible(line) for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
