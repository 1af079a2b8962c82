"""Diagnostics for people: message, source line, caret, related places, help."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from archscope.diagnostics import Diagnostic, Place, Severity
from archscope.report import Checked, Report, counted
from archscope.report.escape import cell, visible, width

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
    kind = paint(f"{diagnostic.severity}[{visible(diagnostic.rule)}]", fg=_COLORS[diagnostic.severity], bold=True)
    yield f"{paint(_where(place), bold=True)}: {kind} {visible(diagnostic.message)}"
    gutter = max(len(str(shown.line or "")) for shown in (place, *diagnostic.related))
    rail = " " * gutter + " " + paint("|", fg="blue")
    bullet = " " * gutter + " " + paint("=", fg="blue")
    frames = [_frame(place, report, gutter, paint, _COLORS[diagnostic.severity], "^")]
    frames += [_frame(other, report, gutter, paint, "blue", "-") for other in diagnostic.related]
    file = place.file
    for shown, frame in zip((place, *diagnostic.related), frames, strict=True):
        if frame and shown.file != file:
            yield " " * gutter + paint("-->", fg="blue") + " " + _where(shown)
        if frame:
            yield rail
            yield from frame
            file = shown.file
        elif shown is not place:
            yield f"{bullet} {_where(shown)}: {visible(shown.note)}"
    if diagnostic.help:
        if any(frames):
            yield rail
        yield f"{bullet} {paint('help', bold=True)}: {visible(diagnostic.help)}"


def _where(place: Place) -> str:
    name = visible(place.file)
    if place.line is None:
        return f"{name}:{visible(place.pointer)}" if place.pointer else name
    return f"{name}:{place.line}:{place.column}"


def _frame(place: Place, report: Report, gutter: int, paint: _Paint, color: str, underline: str) -> tuple[str, ...]:
    """A source line and the caret line below it; nothing for a place without text."""
    document = report.documents.get(place.file)
    if place.line is None or place.column is None or document is None or document.text is None:
        return ()
    line = document.text.line(place.line)
    start = min(place.column - 1, len(line))
    # What goes on below is underlined to the end of its first line.
    on_one_line = place.end_line in (None, place.line)
    end = min((place.end_column or place.column) - 1, len(line)) if on_one_line else len(line)
    shown, offset, length = _window(line, start, end)
    note = f" {visible(place.note)}" if place.note else ""
    bar = paint("|", fg="blue")
    return (
        f"{paint(str(place.line).rjust(gutter), fg='blue')} {bar} {shown}".rstrip(),
        f"{' ' * gutter} {bar} {' ' * offset}{paint(underline * length + note, fg=color)}",
    )


def _window(line: str, start: int, end: int) -> tuple[str, int, int]:
    """The part of a line around a span that fits: its text, the columns before the span and the span's own columns."""
    first = _first_shown(line, start)
    before = ("..." if first else "") + "".join(map(cell, line[first:start]))
    shown = [before]
    taken = width(before)
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
    return "".join(shown), width(before), max(columns, 1)


def _first_shown(line: str, start: int) -> int:
    """The first character to show: that of the line, unless the line is too long and the span far from its start."""
    if len(line) <= MAX_WIDTH and width("".join(map(cell, line))) <= MAX_WIDTH:
        return 0
    first, room = start, _BEFORE
    while first > 0 and room > 0:
        first -= 1
        room -= width(cell(line[first]))
    return first if first > len("...") else 0


def _footer(report: Report, paint: _Paint) -> str:
    checked = [file for file in report.files if file.status in ("checked", "failed")]
    passed_over = sum(file.status == "foreign" for file in report.files)
    scope = f"in {counted(len(checked), 'file')}{_fidelity(checked)}"
    if passed_over:
        scope += f", {counted(passed_over, 'file')} of another kind"
    total = len(report.diagnostics)
    if not total:
        return paint(f"no findings {scope}", fg="green" if checked else None)
    errors, warnings, infos = (report.count(severity) for severity in Severity)
    counts = f"{counted(errors, 'error')}, {counted(warnings, 'warning')}, {infos:,} info"
    return paint(f"{counted(total, 'finding')}: {counts} {scope}", bold=True)


def _fidelity(checked: list[Checked]) -> str:
    """How the structures behind the findings are known, such as `(structure: 4 exact, 1 inferred)`."""
    counts = Counter(file.fidelity or "not built" for file in checked)
    if len(checked) == 1:
        return f" (structure {next(iter(counts))})"
    return f" (structure: {', '.join(f'{counts[word]:,} {word}' for word in sorted(counts))})" if counts else ""
