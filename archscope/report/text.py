"""Diagnostics for people: message, source line, caret, related places, help."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from archscope.diagnostics import Diagnostic, Place, Severity
from archscope.report import Report, counted
from archscope.report.escape import cell, visible, width
from archscope.source import Document

MAX_WIDTH = 100  # columns of a source line that are shown
_BEFORE = 40  # columns kept before the caret when a line is cut
_COLORS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}

_Paint = Callable[..., str]


def write(report: Report, *, color: bool = False, summary: bool = True) -> str:
    """The report as text, with colours only if asked for."""
    paint = _painter(color)
    blocks = ["\n".join(_block(item, report, paint)) for item in report.diagnostics]
    if summary:
        blocks.append(_footer(report, paint))
    return "\n\n".join(blocks) + "\n" if blocks else ""


def _painter(color: bool) -> _Paint:
    if not color:
        return lambda text, **_: text
    import click

    return click.style


def _block(diagnostic: Diagnostic, report: Report, paint: _Paint) -> Iterator[str]:
    place = diagnostic.place
    mark = _COLORS[diagnostic.severity]
    kind = paint(f"{diagnostic.severity}[{visible(diagnostic.rule)}]", fg=mark, bold=True)
    yield f"{paint(_where(place), bold=True)}: {kind} {visible(diagnostic.message)}"
    places = (place, *diagnostic.related)
    gutter = max(len(str(shown.line or "")) for shown in places)
    rail = " " * gutter + " " + paint("|", fg="blue")
    file = place.file
    framed = False
    for number, shown in enumerate(places):
        frame = list(_frame(shown, report.documents.get(shown.file), gutter, rail, paint, mark if not number else "blue",
                            "^" if not number else "-"))  # fmt: skip
        if shown.file != file and number:
            yield " " * gutter + paint("-->", fg="blue") + " " + _where(shown)
        elif frame:
            yield rail
        if not frame and number:
            yield f"{' ' * gutter} {paint('=', fg='blue')} {_where(shown)}: {visible(shown.note)}"
        yield from frame
        framed = framed or bool(frame)
        file = shown.file
    if diagnostic.help:
        if framed:
            yield rail
        yield f"{' ' * gutter} {paint('=', fg='blue')} {paint('help', bold=True)}: {visible(diagnostic.help)}"


def _where(place: Place) -> str:
    name = visible(place.file)
    if place.line is None:
        return f"{name}:{visible(place.pointer)}" if place.pointer else name
    return f"{name}:{place.line}:{place.column}"


def _frame(
    place: Place, document: Document | None, gutter: int, rail: str, paint: _Paint, mark: str, underline: str
) -> Iterator[str]:
    """A source line and the caret line below it; nothing for a place without text."""
    if place.line is None or place.column is None or document is None or document.text is None:
        return
    line = document.text.line(place.line)
    start = min(place.column - 1, len(line))
    if place.end_line == place.line and place.end_column is not None:
        end = min(place.end_column - 1, len(line))
    else:
        end = len(line)
    shown, offset, length = _window(line, start, max(end, start))
    note = f" {visible(place.note)}" if place.note else ""
    yield f"{paint(str(place.line).rjust(gutter), fg='blue')} {paint('|', fg='blue')} {shown}".rstrip()
    yield f"{rail} {' ' * offset}{paint(underline * length + note, fg=mark)}"


def _window(line: str, start: int, end: int) -> tuple[str, int, int]:
    """The part of a line around a span that fits: its text, the columns before the span and the span's own columns."""
    first = start
    room = _BEFORE
    while first > 0 and room > 0:
        first -= 1
        room -= width(cell(line[first]))
    if first <= 3 or width("".join(map(cell, line[: MAX_WIDTH + 1]))) <= MAX_WIDTH and len(line) <= MAX_WIDTH:
        first = 0
    before = "".join(map(cell, line[first:start]))
    lead = "..." if first else ""
    taken = width(lead + before)
    shown = [lead + before]
    columns = 0
    for index in range(start, len(line)):
        char = cell(line[index])
        if taken + width(char) > MAX_WIDTH:
            shown.append("...")
            break
        shown.append(char)
        taken += width(char)
        if index < end:
            columns += width(char)
    return "".join(shown), width(lead + before), max(columns, 1)


def _footer(report: Report, paint: _Paint) -> str:
    checked = [file for file in report.files if file.status in ("checked", "failed")]
    passed_over = sum(file.status == "foreign" for file in report.files)
    extra = f", {counted(passed_over, 'other file')} passed over" if passed_over else ""
    total = len(report.diagnostics)
    scope = counted(len(checked), "file")
    if not total:
        return paint(f"no findings in {scope}{extra}", fg="green" if checked else None)
    counts = ", ".join(
        f"{counted(report.count(severity), word)}"
        for severity, word in ((Severity.ERROR, "error"), (Severity.WARNING, "warning"))
    )
    return paint(
        f"{counted(total, 'finding')}: {counts}, {report.count(Severity.INFO)} info in {scope}{extra}", bold=True
    )
