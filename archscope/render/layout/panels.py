"""Panels: the grid of a mechanism from bottom to top, or a chain from left to right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from archscope.render.figure import Cell, Input, Node, Panel
from archscope.render.layout import flow, nodes
from archscope.render.layout.lines import ROUND, arrow, line
from archscope.render.layout.nodes import PANEL
from archscope.render.layout.scene import Box, Group, Paint, Path, Rect, Shape, Text
from archscope.render.theme import stroke
from archscope.render.widths import SPARE, fit, width

PAD = 18.0
GAP = 12.0
ROW_GAP = 20.0
FOOT = 40.0
TITLE = 13.0
SMALL = 11.0
OUT = 14.0
CHAIN_GAP = 20.0
MOST_GROWTH = 70.0


class Piece(NamedTuple):
    """What a panel is made of, by when it is painted: lines first, then boxes, badges last."""

    lines: tuple[Shape, ...]
    boxes: tuple[Shape, ...]
    badges: tuple[Shape, ...]


def height(panel: Panel, width_: float) -> float:
    """The least height of a panel. Units: pixels."""
    if panel.chain:
        return _head(panel) + _chain_height(panel) + 22
    if panel.free:
        return _head(panel) + flow.height(panel, width_ - 2 * PAD) + 10
    rows = _row_heights(panel)
    return _head(panel) + OUT + sum(rows) + ROW_GAP * (len(rows) - 1) + (FOOT if panel.inputs else 14)


def growth(panel: Panel) -> float:
    """How much higher a panel may be made to fill the page."""
    return 0.0 if panel.chain else MOST_GROWTH


def _head(panel: Panel) -> float:
    """Where the way out of the top row ends."""
    return 46.0 if panel.subtitle else 34.0


def draw(panel: Panel, box: Box) -> tuple[Shape, ...]:
    """The panel with everything in it."""
    made = _chain(panel, box) if panel.chain else _free(panel, box) if panel.free else _grid(panel, box)
    frame: list[Shape] = [
        Rect(box, Paint("panel", "rule", 1.2), 10),
        Path(
            f"M{box.x + 10:g} {box.y:g}h{box.width - 20:g}", Paint(stroke=stroke(panel.kind), width=3), round_caps=True
        ),
    ]
    badge = (nodes.pill(panel.badge, box.right + 3, box.y, box.width / 2),) if panel.badge else ()
    title = (panel.title[0], *(line_[0] for line_ in (panel.subtitle, panel.note) if line_))
    shapes = (*frame, *_heading(panel, box), *made.lines, *made.boxes, *made.badges, *badge)
    return (Group("panel", shapes, data=(("id", panel.id), ("kind", panel.kind)), label=". ".join(title)),)


def _heading(panel: Panel, box: Box) -> tuple[Shape, ...]:
    room = (box.width - 2 * 14) / 1.03
    shapes: list[Shape] = []
    note_width = 0.0
    if panel.note:
        note = fit(panel.note, room * 0.55, SMALL)
        note_width = width(note, SMALL) * 1.05 + 16
        shapes.append(Text(box.right - 14, box.y + 21, note, SMALL, "muted", anchor="end"))
    title = fit(panel.title, room - note_width, TITLE, bold=True)
    shapes.append(Text(box.x + 14, box.y + 21, title, TITLE, bold=True))
    if panel.subtitle:
        shapes.append(Text(box.x + 14, box.y + 36, fit(panel.subtitle, room, SMALL), SMALL, "muted"))
    return tuple(shapes)


def _free(panel: Panel, box: Box) -> Piece:
    top = box.y + _head(panel)
    inside = Box(box.x + PAD, top, box.width - 2 * PAD, box.bottom - 10 - top)
    lines, boxes, badges = flow.draw(panel, inside, box.height - height(panel, box.width))
    return Piece(tuple(lines), tuple(boxes), tuple(badges))


# Grids


def _row_heights(panel: Panel) -> list[float]:
    """The height of each row from the bottom; cells over several rows make the upper one higher where they must."""
    rows = [0.0] * (max((cell.row + cell.rows for cell in panel.cells), default=1))
    for cell in panel.cells:
        if cell.rows == 1:
            rows[cell.row] = max(rows[cell.row], nodes.height(cell.node, PANEL))
    for cell in panel.cells:
        if cell.rows > 1:
            last = cell.row + cell.rows - 1
            inside = sum(rows[cell.row : last + 1]) + ROW_GAP * (cell.rows - 1)
            rows[last] += max(0.0, nodes.height(cell.node, PANEL) - inside)
    return rows


class _Frame(NamedTuple):
    """The geometry of one grid."""

    left: float
    pitch: float
    boxes: Mapping[str, Box]
    cells: Mapping[str, Cell]
    tops: tuple[float, ...]
    gap: float

    def port(self, end: str) -> tuple[str, float]:
        """The cell of a wire's end and the x where it leaves or enters."""
        name, _, column = end.partition("@")
        box = self.boxes[name]
        x = self.left + float(column) * self.pitch + (self.pitch - GAP) / 2 if column else box.middle
        return name, min(max(x, box.x + 4), box.right - 4)


def _grid(panel: Panel, box: Box) -> Piece:
    heights = _row_heights(panel)
    spare = box.height - height(panel, box.width)
    gap = ROW_GAP + (spare / len(heights) if heights else 0)
    frame = _placed(panel, box, heights, gap)
    lines: list[Shape] = []
    for entry in panel.inputs:
        lines += _enter(frame, entry, box)
    for wire in panel.wires:
        lines += _wire(frame, wire.source, wire.target)
    boxes = tuple(nodes.draw(cell.node, frame.boxes[cell.node.id], PANEL) for cell in panel.cells)
    badges = tuple(
        nodes.pill(cell.node.badge, frame.boxes[cell.node.id].right + 6, frame.boxes[cell.node.id].y, cell_room)
        for cell in panel.cells
        if cell.node.badge is not None
        for cell_room in [frame.boxes[cell.node.id].width]
    )
    return Piece(tuple(lines), boxes, badges)


def _placed(panel: Panel, box: Box, heights: Sequence[float], gap: float) -> _Frame:
    pitch = (box.width - 2 * PAD + GAP) / panel.columns
    left = box.x + PAD
    bottom = box.bottom - (FOOT if panel.inputs else 14) - (gap - ROW_GAP) / 2
    floors: list[float] = []
    for row_height in heights:
        floors.append(bottom)
        bottom -= row_height + gap
    boxes: dict[str, Box] = {}
    cells: dict[str, Cell] = {}
    for cell in panel.cells:
        size = nodes.height(cell.node, PANEL)
        floor = floors[cell.row]
        if cell.rows > 1:
            ceiling = floors[cell.row + cell.rows - 1] - heights[cell.row + cell.rows - 1]
            floor -= (floor - ceiling - size) / 2
        boxes[cell.node.id] = _cell_box(
            cell.node, left + cell.column * pitch, floor - size, cell.span * pitch - GAP, size
        )
        cells[cell.node.id] = cell
    tops = tuple(floor - row_height for floor, row_height in zip(floors, heights, strict=True))
    return _Frame(left, pitch, boxes, cells, tops, gap)


def _cell_box(node: Node, x: float, y: float, room: float, size: float) -> Box:
    if node.shape in ("sum", "product"):
        return Box(x + room / 2 - ROUND, y, 2 * ROUND, size)
    if node.shape == "cylinder":
        wanted = max(82.0, width(node.name, SMALL) * 1.05 + 18)
        narrow = min(wanted, room)
        return Box(x + (room - narrow) / 2, y, narrow, size)
    return Box(x, y, room, size)


def _enter(frame: _Frame, entry: Input, box: Box) -> list[Shape]:
    """The input's text, one junction above it, and a line to each target."""
    left = frame.left + entry.column * frame.pitch
    room = entry.span * frame.pitch - GAP
    middle = left + room / 2
    floor = max(frame.boxes[name.partition("@")[0]].bottom for name in entry.targets)
    text = fit((entry.text, entry.text.partition(" ")[0]), room, SMALL, mono=True)
    baseline = floor + 32
    shapes: list[Shape] = [Text(middle, baseline, text, SMALL, "muted", anchor="middle", mono=True)]
    junction = floor + 11
    start = baseline - 12
    for target in entry.targets:
        name, x = frame.port(target)
        foot = frame.boxes[name].bottom
        if abs(x - middle) < 0.6:
            shapes += arrow(((middle, start), (x, foot)))
        else:
            shapes += arrow(((middle, start), (middle, junction), (x, junction), (x, foot)))
    return shapes


def _wire(frame: _Frame, source: str, target: str) -> tuple[Shape, ...]:
    name, x = frame.port(source)
    top = frame.boxes[name].y
    if not target:
        return arrow(((x, top), (x, top - OUT)), free=True)
    goal, end_x = frame.port(target)
    box = frame.boxes[goal]
    if frame.cells[goal].node.shape in ("sum", "product") and abs(box.middle - x) > ROUND:
        side = box.x if x < box.middle else box.right
        return arrow(((x, top), (x, box.centre), (side, box.centre)))
    if "@" not in target and abs(end_x - x) > 0.6 and box.x + 6 < x < box.right - 6 and "@" in source:
        end_x = x
    if abs(end_x - x) < 0.6:
        return arrow(((x, top), (end_x, box.bottom)))
    turn = box.bottom + frame.gap / 2
    return arrow(((x, top), (x, turn), (end_x, turn), (end_x, box.bottom)))


# Chains


def _chain_height(panel: Panel) -> float:
    return max(sum(nodes.height(node, PANEL) for node in step) + 8 * (len(step) - 1) for step in panel.chain)


def _chain(panel: Panel, box: Box) -> Piece:
    """Steps from left to right with an arrow between them; nodes of one step stand above one another."""
    count = len(panel.chain)
    wired = panel.link != "none" or panel.kind == "vis"
    rooms = _shares(panel, box.width - 2 * PAD - CHAIN_GAP * (count - 1))
    middle = box.y + _head(panel) + 4 + _chain_height(panel) / 2
    lines: list[Shape] = []
    boxes: list[Shape] = []
    badges: list[Shape] = []
    before: list[Box] = []
    x = box.x + PAD
    for step, room in zip(panel.chain, rooms, strict=True):
        here = _stacked(step, x, middle, room)
        boxes += [nodes.draw(node, place, PANEL) for node, place in zip(step, here, strict=True)]
        badges += [nodes.pill(node.badge, place.right + 4, place.y, place.width)
                   for node, place in zip(step, here, strict=True) if node.badge is not None]  # fmt: skip
        if wired and before:
            lines += _links(before, here)
        before = here
        x += room + CHAIN_GAP
    return Piece(tuple(lines), tuple(boxes), tuple(badges))


def _shares(panel: Panel, room: float) -> list[float]:
    """Widths of a chain's steps, by how much each has to say."""
    wanted = [min(max(_natural(node) for node in step), 150.0) for step in panel.chain]
    scale = room / sum(wanted)
    return [width_ * scale for width_ in wanted]


def _natural(node: Node) -> float:
    lines = [width(words[0], SMALL) for words in node.lines if words]
    return max(
        60.0, width(node.name, 12, bold=True, mono=node.mono) * SPARE + 16, *(line_ * SPARE + 16 for line_ in lines)
    )


def _stacked(step: Sequence[Node], x: float, middle: float, room: float) -> list[Box]:
    sizes = [nodes.height(node, PANEL) for node in step]
    y = middle - (sum(sizes) + 8 * (len(sizes) - 1)) / 2
    places = []
    for size in sizes:
        places.append(Box(x, y, room, size))
        y += size + 8
    return places


def _links(before: Sequence[Box], here: Sequence[Box]) -> list[Shape]:
    goal = here[0] if len(here) == 1 else None
    target_y = goal.centre if goal is not None else (here[0].y + here[-1].bottom) / 2
    shapes: list[Shape] = []
    for place in before:
        turn = place.right + CHAIN_GAP * 0.35
        tip = (here[0].x, target_y)
        if len(before) == 1 or abs(place.centre - target_y) < 0.6:
            shapes += arrow(((place.right, target_y), tip))
        else:
            shapes.append(line(((place.right, place.centre), (turn, place.centre), (turn, target_y)), corner=3))
    if len(before) > 1:
        turn = before[0].right + CHAIN_GAP * 0.35
        shapes += arrow(((turn, target_y), (here[0].x, target_y)))
    return shapes
