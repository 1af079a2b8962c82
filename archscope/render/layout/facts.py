"""What stands above and below the stack: header, layer pattern, parameters by component, findings.

Each function draws from a given y downwards and returns its shapes with the y where it ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from archscope.render.figure import Bar, Category, Chip, Figure, Finding, Row, Segment, Strip
from archscope.render.layout import nodes
from archscope.render.layout.lines import HEAD_LENGTH, dot, line, number, ring
from archscope.render.layout.scene import Box, Group, Head, Paint, Path, Rect, Shape, Text
from archscope.render.quantities import count, exact, share, whole
from archscope.render.theme import fill, stroke
from archscope.render.widths import cut, width, wrap

LEFT, RIGHT = 20.0, 880.0
SMALL = 11.0
PLAIN = 12.0
TITLE = 13.0
LABEL = 48.0
Drawn = tuple[tuple[Shape, ...], float]


# Header


def header(figure: Figure) -> Drawn:
    """Name, class, source, and the chips under them."""
    wanted = width(figure.name, 22, bold=True) + width(figure.model_class, PLAIN, mono=True) + 40
    source = cut(figure.source, max(100.0, min(200.0, RIGHT - LEFT - wanted)), SMALL, mono=True)
    room = RIGHT - LEFT - width(source, SMALL, mono=True) - 24
    class_name = cut(figure.model_class, room * 0.55, PLAIN, mono=True)
    class_width = width(class_name, PLAIN, mono=True)
    name = cut(figure.name, room - class_width - 14, 22, bold=True)
    x = LEFT + width(name, 22, bold=True) * 1.01 + 14
    shapes: list[Shape] = [
        Group("name", (Text(LEFT, 40, name, 22, bold=True),), title=figure.name),
        Text(x, 40, class_name, PLAIN, "muted", mono=True),
        Text(RIGHT, 40, source, SMALL, "muted", anchor="end", mono=True),
    ]
    x, y = LEFT, 54.0
    for chip in figure.chips:
        drawn, length = _chip(chip, x, y)
        if x > LEFT and x + length > RIGHT:
            x, y = LEFT, y + 27
            drawn, length = _chip(chip, x, y)
        shapes.append(drawn)
        x += length + 6
    y += 22
    for remark in figure.remarks:
        for text in wrap(remark, RIGHT - LEFT - 10, SMALL, most=2):
            y += 16
            shapes.append(Text(LEFT, y, text, SMALL, "muted", italic=True))
    return tuple(shapes), y


def _chip(chip: Chip, x: float, y: float) -> tuple[Shape, float]:
    value = cut(chip.value, 420, PLAIN, bold=True)
    label_width = width(chip.label, SMALL) * 1.01
    value_width = width(value, PLAIN, bold=True) * 1.01
    length = 7 + label_width + 7 + value_width + 7
    box = Box(x, y, length, 22)
    shapes = (
        Rect(box, Paint("panel", "rule", 1), 5),
        Text(x + 7, y + 15, chip.label, SMALL, "muted"),
        Text(x + 14 + label_width, y + 15.2, value, PLAIN, bold=True),
    )
    return Group("chip", shapes, title=chip.origin), length


# Layer pattern

MOST_CELLS = 130
"""Cells of all rows that have a tooltip each; more are drawn as one path a kind."""
MOST_RUNS = 300


def strip(pattern: Strip, y: float) -> Drawn:
    """Title with the pattern in words, the legend on the right, then a row of cells for each property."""
    legend = [pair for row in pattern.rows for pair in zip(row.categories, row.counts(), strict=True)]
    shapes: list[Shape] = []
    title = cut(pattern.title, 300, TITLE, bold=True)
    baseline = y + 13
    shapes.append(Text(LEFT, baseline, title, TITLE, bold=True))
    start = LEFT + width(title, TITLE, bold=True) * 1.02 + 10
    lengths = [22 + width(_entry(*pair), SMALL) * 1.03 + 16 for pair in legend]
    fits = start + width(pattern.text, SMALL) + 24 + sum(lengths) <= RIGHT
    room = RIGHT - start - (sum(lengths) if fits else 0)
    shapes.append(Text(start, baseline, cut(pattern.text, room, SMALL), SMALL, "muted"))
    if not fits:
        baseline += 18
    x = RIGHT - sum(lengths) + 16 if sum(lengths) - 16 <= RIGHT - LEFT else LEFT
    for pair, length in zip(legend, lengths, strict=True):
        if x > LEFT and x + length - 16 > RIGHT + 0.5:
            x, baseline = LEFT, baseline + 18
        shapes += _sample(pair[0], x, baseline)
        shapes.append(Text(x + 20, baseline, _entry(*pair), SMALL))
        x += length
    y = baseline + 8
    single = sum(len(row.cells) for row in pattern.rows) <= MOST_CELLS
    for row in pattern.rows:
        shapes.append(_row(row, y, single=single))
        y += 26
    number_of = len(pattern.rows[0].cells)
    shapes += _ruler(number_of, y)
    return tuple(shapes), y + 11


def _entry(category: Category, number_of: int) -> str:
    return f"{category.name} × {whole(number_of)}"


def _sample(category: Category, x: float, baseline: float) -> Iterator[Shape]:
    box = Box(x, baseline - 11.5, 11.5, 14)
    yield from _cell(category, box)
    marks = _marks(category, box)
    if marks:
        yield _inked(category, marks)


def _row(row: Row, y: float, *, single: bool) -> Shape:
    """One cell a layer, with its tooltip where it is `single`."""
    total = len(row.cells)
    pitch = (RIGHT - LEFT - LABEL) / total
    gap = 1.5 if pitch >= 6 else 0.6 if pitch >= 2 else 0.0
    shapes: list[Shape] = [Text(LEFT, y + 14, row.label, SMALL, "muted")]
    marks: dict[Category, list[str]] = {}
    plain: dict[Category, list[Box]] = {}
    for first, last in _cells(row.cells, single=pitch >= 2):
        category = row.categories[row.cells[first]]
        box = Box(LEFT + LABEL + first * pitch, y, (last - first + 1) * pitch - gap, 20)
        if single:
            shapes.append(Group("cell", tuple(_cell(category, box)), title=f"layer {first}: {category.name}"))
        else:
            plain.setdefault(category, []).append(box)
        marks.setdefault(category, []).append(_marks(category, box))
    shapes += [_plain(category, boxes) for category, boxes in plain.items()]
    shapes += [_inked(category, "".join(data)) for category, data in marks.items() if any(data)]
    return Group("strip", tuple(shapes), label=_spoken(row))


def _spoken(row: Row) -> str:
    counts = ", ".join(_entry(*pair) for pair in zip(row.categories, row.counts(), strict=True))
    return f"{row.label} by layer: {counts}"


def _cells(cells: Sequence[int], *, single: bool) -> Iterator[tuple[int, int]]:
    """First and last layer of each cell: one layer, or where they are too narrow a run of equal ones."""
    if single:
        yield from ((index, index) for index in range(len(cells)))
        return
    runs: list[tuple[int, int]] = []
    start = 0
    for index in range(1, len(cells) + 1):
        if index == len(cells) or cells[index] != cells[start]:
            runs.append((start, index - 1))
            start = index
    step = -(-len(runs) // MOST_RUNS)
    # Too fine to be seen: each cell shows the first of several short runs.
    yield from ((runs[at][0], runs[min(at + step, len(runs)) - 1][1]) for at in range(0, len(runs), step))


def _cell(category: Category, box: Box) -> Iterator[Shape]:
    """A cell by its form: what is in it is left out where it is narrow."""
    ink, paper = stroke(category.kind), fill(category.kind)
    edge = 1.2 if box.width > 4 else 0.0
    if category.form == "full":
        yield Rect(box, Paint(ink), min(2.0, box.width / 4))
        return
    if category.form == "low":
        box = Box(box.x, box.y + box.height * 0.42, box.width, box.height * 0.58)
    inset = edge / 2
    inner = Box(box.x + inset, box.y + inset, max(box.width - edge, 0.2), box.height - edge)
    yield Rect(inner, Paint(paper, ink if edge else "", edge or 1), min(2.0, box.width / 4))
    if not edge:
        yield Rect(Box(box.x, box.y, box.width, 2), Paint(ink))


def _plain(category: Category, boxes: Sequence[Box]) -> Path:
    """Many cells of one category as one path."""
    data = []
    for box in boxes:
        top = box.y + (box.height * 0.42 if category.form == "low" else 0)
        wide = number(max(box.width, 0.2))
        data.append(f"M{number(box.x)} {number(top)}h{wide}V{number(box.bottom)}h-{wide}z")
    ink = stroke(category.kind)
    if category.form == "full":
        return Path("".join(data), Paint(ink))
    return Path("".join(data), Paint(fill(category.kind), ink, 1.2 if boxes[0].width > 4 else 0.3))


def _marks(category: Category, box: Box) -> str:
    """What is in a cell, as a path; nothing where it is narrow."""
    if box.width < 7:
        return ""
    if category.form == "bars":
        x, right = box.x + 3, box.right - 3
        return "".join(f"M{number(x)} {number(box.y + box.height * part)}H{number(right)}" for part in (0.36, 0.66))
    if category.form == "dots":
        rows = [number(box.y + box.height * part) for part in (0.34, 0.66)]
        return "".join(f"M{number(box.middle + dx - 1.1)} {row}h2.2" for dx in (-2, 2) for row in rows)
    return ""


def _inked(category: Category, data: str) -> Path:
    return Path(data, Paint(stroke=stroke(category.kind), width=2.0 if category.form == "dots" else 1.3))


def _ruler(total: int, y: float) -> Iterator[Shape]:
    """Layer numbers under the cells: every tenth (or rarer, for many layers), and the last."""
    pitch = (RIGHT - LEFT - LABEL) / total
    step = 10
    while total / step > 14:
        step *= 2 if str(step)[0] != "2" else 5
    for number_of in sorted({*range(0, total, step), total - 1}):
        near = number_of != total - 1 and (total - 1 - number_of) * pitch < 30
        if near and total > 1:
            continue
        x = LEFT + LABEL + (number_of + 0.5) * pitch
        last = number_of == total - 1 and total > 1
        text = whole(number_of)
        x = min(x, RIGHT - width(text, SMALL) / 2) if last else x
        yield Text(x, y + 5, text, SMALL, "muted", anchor="middle")


# Parameters by component

BAR_RIGHT = 822.0


def bars(shown: Sequence[Bar], signs: Sequence[str], y: float) -> Drawn:
    """A bar of all parameters and one of the active ones, with their legend and that of the signs used."""
    shapes: list[Shape] = [Text(LEFT, y + 13, "Parameters by component", TITLE, bold=True)]
    y += 22
    for bar in shown:
        shapes.append(_bar(bar, y))
        y += 24
    y += 2
    legend, y = _legend(shown[0], y)
    keys, y = _keys(signs, y)
    return (*shapes, *legend, *keys), y


def _bar(bar: Bar, y: float) -> Shape:
    x = LEFT + LABEL
    shapes: list[Shape] = [Text(LEFT, y + 13.5, bar.label, SMALL, "muted")]
    for segment, length in zip(bar.segments, lengths(bar, BAR_RIGHT - x), strict=True):
        box = Box(x + 0.5, y + 0.5, length - 1, 18)
        inner: list[Shape] = [Rect(box, Paint(fill(segment.kind), stroke(segment.kind), 1.2), min(2, box.width / 3))]
        said = share(segment.value, bar.total)
        text = next((t for t in (f"{segment.name} {said}", said) if width(t, SMALL) * 1.05 <= length - 8), "")
        if text:
            inner.append(Text(box.middle, y + 13.5, text, SMALL, anchor="middle"))
        title = f"{segment.name}: {whole(segment.value)} ({said})"
        shapes.append(Group("segment", tuple(inner), title=title, data=(("value", exact(segment.value)),)))
        x += length
    shapes.append(Text(RIGHT, y + 14, count(bar.total), PLAIN, anchor="end", bold=True))
    return Group("bar", tuple(shapes), data=(("total", exact(bar.total)),))


def lengths(bar: Bar, room: float) -> list[float]:
    """Lengths of a bar's segments: in proportion, but at least 3, taken from the widest. Units: pixels."""
    if not bar.segments or bar.total <= 0:
        return [3.0] * len(bar.segments)
    proportional = [room * (segment.value / bar.total) for segment in bar.segments]
    found = [max(3.0, length) for length in proportional]
    widest = max(range(len(found)), key=found.__getitem__)
    found[widest] -= sum(found) - room
    return found


def _legend(bar: Bar, y: float) -> Drawn:
    shapes: list[Shape] = []
    x = LEFT
    for segment in bar.segments:
        entry, length = _legend_entry(segment, bar.total, x, y)
        if x > LEFT and x + length > RIGHT:
            x, y = LEFT, y + 18
            entry, length = _legend_entry(segment, bar.total, x, y)
        shapes += entry
        x += length + 14
    return tuple(shapes), y + 18


def _legend_entry(segment: Segment, total: int, x: float, y: float) -> tuple[list[Shape], float]:
    name, value, said = cut(segment.name, 220, SMALL), count(segment.value), share(segment.value, total)
    first = x + 16
    second = first + width(name, SMALL) * 1.01 + 6
    third = second + width(value, SMALL, bold=True) * 1.01 + 5
    shapes: list[Shape] = [
        Rect(Box(x + 0.5, y + 1.5, 10, 10), Paint(fill(segment.kind), stroke(segment.kind), 1.3), 2.5),
        Text(first, y + 10.5, name, SMALL),
        Text(second, y + 10.5, value, SMALL, bold=True),
        Text(third, y + 10.5, said, SMALL, "muted"),
    ]
    return shapes, third + width(said, SMALL) * 1.01 - x


_SIGNS = {
    "residual": "residual branch",
    "sum": "residual or expert sum",
    "product": "elementwise product",
    "cache": "kept in the KV cache",
    "cone": "opens to detail",
}


def _keys(signs: Sequence[str], y: float) -> Drawn:
    shapes: list[Shape] = []
    x = LEFT
    for sign in signs:
        icon, wide = _key(sign, x, y + 9)
        shapes += [*icon, Text(x + wide + 6, y + 13, _SIGNS[sign], SMALL, "muted")]
        x += wide + 6 + width(_SIGNS[sign], SMALL) * 1.03 + 18
    return tuple(shapes), y + (22 if signs else 0)


def _key(sign: str, x: float, y: float) -> tuple[tuple[Shape, ...], float]:
    if sign == "residual":
        return (line(((x, y), (x + 18 - HEAD_LENGTH + 1, y))), dot(x + 5, y), Head(x + 18, y, "right", free=True)), 18
    if sign in ("sum", "product"):
        return ring(x + 8, y, sign, 7.5), 16
    if sign == "cache":
        box = Box(x, y - 7, 16, 14)
        paint = Paint(fill("cache"), stroke("cache"), 1.4)
        lid = Path(nodes.lid(box, 2.6), Paint(stroke=stroke("cache"), width=1.4))
        return (Path(nodes.cylinder(box, 2.6), paint), lid), 16
    return (Path(f"M{number(x)} {number(y)}h20", Paint(stroke="muted", width=1, dash="4 3")),), 20


# Findings

MOST_FINDINGS = 8


def _spelled(finding: Finding) -> str:
    return f"{finding.level} {finding.rule}: {finding.message} ({finding.location})"


def findings(found: Sequence[Finding], y: float) -> Drawn:
    """The list of findings: pill, message, place."""
    shapes: list[Shape] = [Path(f"M{LEFT:g} {number(y)}H{RIGHT:g}", Paint(stroke="rule"))]
    y += 10
    for finding in found[:MOST_FINDINGS]:
        name = cut(finding.rule, 210, SMALL, bold=True)
        length = width(name, SMALL, bold=True) * 1.03 + 32
        shapes.append(Group("badge", nodes.pill_shapes(finding.level, name, Box(LEFT, y, length, nodes.PILL)),
                            title=_spelled(finding)))  # fmt: skip
        place = cut(finding.location, 200, SMALL, mono=True)
        room = RIGHT - LEFT - length - 10 - width(place, SMALL, mono=True) - 16
        texts = wrap(finding.message, room / 1.03, SMALL)
        shapes += [Text(LEFT + length + 8, y + 13.5 + 14 * index, text, SMALL) for index, text in enumerate(texts)]
        shapes.append(Text(RIGHT, y + 13.5, place, SMALL, "muted", anchor="end", mono=True))
        y += max(nodes.PILL, 14 * len(texts) + 5) + 4
    more = len(found) - MOST_FINDINGS
    if more > 0:
        shapes.append(Text(LEFT, y + 12, f"and {whole(more)} more", SMALL, "muted"))
        y += 18
    return tuple(shapes), y
