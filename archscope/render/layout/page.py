"""A whole figure on its page: header, stack and panels side by side, and what stands below them."""

from __future__ import annotations

from collections.abc import Sequence

from archscope.render.figure import Figure, Node, Panel, nodes_of
from archscope.render.layout import facts, panels, stack
from archscope.render.layout.lines import arrow, dot, number
from archscope.render.layout.scene import Box, Paint, Path, Polygon, Rect, Scene, Shape, Text
from archscope.render.layout.stack import Geometry, Placed, Rung
from archscope.render.theme import stroke
from archscope.render.widths import width

WIDTH = 900.0
LEFT, RIGHT = 20.0, 880.0
SINGLE = Geometry(centre=242, width=256)
ALONE = Geometry(centre=450, width=256)
PAIR = (Geometry(centre=222, width=216), Geometry(centre=678, width=216, mirrored=True))
PANEL_LEFT = 422.0
PANEL_GAP = 18.0
LEADER = 405.0
"""x of the dashed lines that join panels to the stack."""


def layout(figure: Figure) -> Scene:
    """Place everything. The width is fixed; the height follows."""
    shapes, y = facts.header(figure)
    body, y = _body(figure, y + 18)
    shapes += body
    for pattern in figure.strips:
        drawn, y = facts.strip(pattern, y + 18)
        shapes += drawn
    if figure.bars and all(segment.value > 0 for bar in figure.bars for segment in bar.segments):
        drawn, y = facts.bars(figure.bars, _signs(figure), y + 20)
        shapes += drawn
    if figure.findings:
        drawn, y = facts.findings(figure.findings, y + 14)
        shapes += drawn
    height = round(y + 16)
    page = Rect(Box(0, 0, WIDTH, height), Paint("page"), 10)
    return Scene(WIDTH, height, f"{figure.name} architecture", figure.description, (page, *shapes))


def _signs(figure: Figure) -> tuple[str, ...]:
    """The signs that the figure uses, for its key."""
    steps = [step for frame in figure.frames() for step in frame.steps]
    shapes = {cell.node.shape for panel in figure.panels for cell in panel.cells}
    used = {
        "residual": any(step.residual for step in steps),
        "sum": "sum" in shapes or any(step.residual for step in steps),
        "product": "product" in shapes,
        "cache": "cylinder" in shapes,
        "cone": len(figure.columns) == 1 and any(panel.link == "cone" for panel in figure.panels),
    }
    return tuple(sign for sign, is_used in used.items() if is_used)


def _body(figure: Figure, top: float) -> tuple[tuple[Shape, ...], float]:
    if len(figure.columns) > 1:
        return _pair(figure, top)
    if not figure.columns:
        return _below(figure.panels, top)
    return _single(figure, top)


# One stack, with its panels on the right


def _single(figure: Figure, top: float) -> tuple[tuple[Shape, ...], float]:
    found = stack.rungs(figure.columns[0])
    wanted = stack.height(found)
    width_ = RIGHT - PANEL_LEFT
    shown = _ordered(figure, found)
    sizes = [panels.height(panel, width_) for panel in shown]
    beside = sum(sizes) + PANEL_GAP * max(len(sizes) - 1, 0)
    height = max(wanted, beside)
    left = stack.stretch(found, height - wanted)
    sizes, above = _grown(shown, sizes, height - beside)
    drawn = stack.place(found, SINGLE if sizes else ALONE, top + height - left / 2)
    boxes = []
    y = top + above
    for size in sizes:
        boxes.append(Box(PANEL_LEFT, y, width_, size))
        y += size + PANEL_GAP
    behind = [shape for panel, box in zip(shown, boxes, strict=True)
              for shape in _joint(panel, box, drawn, found, _sharers(figure, panel))]  # fmt: skip
    zooms = [shape for panel, box in zip(shown, boxes, strict=True) for shape in panels.draw(panel, box)]
    shapes = (*drawn.frames, *behind, *drawn.lines, *drawn.boxes, *zooms, *drawn.badges)
    return shapes, top + height


def _ordered(figure: Figure, found: Sequence[Rung]) -> tuple[Panel, ...]:
    """The panels from top to bottom as the blocks that they open stand, so that cones do not cross."""
    place: dict[str, tuple[int, int]] = {}
    for index, rung in enumerate(found):
        items = (
            [item for branch in rung.step.branches for item in branch]
            if rung.kind == "fork" and rung.step
            else [rung.item]
        )
        inside = [node for item in items if item is not None for node in nodes_of(item)]
        place.update({node.id: (index, order) for order, node in enumerate(inside)})
    cones = [panel for panel in figure.panels if panel.link == "cone"]
    cones.sort(key=lambda panel: max((place.get(name, (0, 0)) for name in _sharers(figure, panel)), default=(0, 0)),
               reverse=True)  # fmt: skip
    first = [panel for panel in figure.panels if panel.link == "from_stack"]
    return (*first, *cones, *(panel for panel in figure.panels if panel.link not in ("cone", "from_stack")))


def _grown(shown: Sequence[Panel], sizes: list[float], spare: float) -> tuple[list[float], float]:
    """Panels made higher where the stack is; returns their heights and the space that is left above them."""
    able = [panels.growth(panel) for panel in shown]
    if spare <= 0 or not any(able):
        return sizes, max(spare, 0.0) / 2
    extra = min(spare / sum(1 for most in able if most), max(able))
    grown = [size + (extra if most else 0.0) for size, most in zip(sizes, able, strict=True)]
    return grown, max(spare - sum(grown) + sum(sizes), 0.0) / 2


def _sharers(figure: Figure, panel: Panel) -> tuple[str, ...]:
    """Of the nodes that a panel opens, those of one place in the frame with the most layers: where its cone starts."""
    for frame in sorted(figure.frames(), key=lambda frame: -frame.count):
        for step in reversed(frame.steps):
            for item in (*step.after, *(item for branch in step.branches for item in branch), *step.before):
                here = tuple(node.id for node in nodes_of(item) if node.id in panel.opens)
                if here:
                    return here
    return panel.opens


def _joint(panel: Panel, box: Box, drawn: Placed, found: Sequence[Rung], opened: Sequence[str]) -> tuple[Shape, ...]:
    """What joins a panel to the stack: a cone from the blocks that it opens, or a dashed line."""
    if panel.link == "cone":
        return _cone(panel, box, drawn, opened)
    if panel.link == "from_stack" and drawn.exits:
        y = min(drawn.exits) - 9
        return (dot(SINGLE.centre, y), *arrow(
            ((SINGLE.centre, y), (LEADER, y), (LEADER, box.centre), (box.x, box.centre)), dash="4 3"))  # fmt: skip
    if panel.link == "into_embedding":
        tables = (rung.item for rung in found if isinstance(rung.item, Node) and rung.item.kind == "emb")
        table = next((drawn.at[node.id] for node in tables), None)
        if table is not None:
            y = table.centre
            return arrow(((box.x, box.centre), (LEADER, box.centre), (LEADER, y), (table.right, y)), dash="4 3")
    return ()


def _cone(panel: Panel, box: Box, drawn: Placed, opened: Sequence[str]) -> tuple[Shape, ...]:
    """From the right edge of the blocks to the left edge of the panel.

    Of two blocks side by side each has half of the height; the left one's cone passes behind the right one.
    """
    places = [drawn.at[name] for name in opened if name in drawn.at]
    if not places:
        return ()
    top, bottom = min(place.y for place in places) + 3, max(place.bottom for place in places) - 3
    start = max(place.right for place in places)
    right = start
    half = drawn.half.get(opened[0])
    if half is not None:
        right = SINGLE.centre + SINGLE.width / 2
        top, bottom = ((top + bottom) / 2, bottom) if half == 0 else (top, (top + bottom) / 2)
    ink = stroke(panel.kind)
    corners = (
        (start, top),
        (right, top),
        (box.x, box.y + 9),
        (box.x, box.bottom - 9),
        (right, bottom),
        (start, bottom),
    )
    edges = "".join(
        f"M{number(right)} {number(y)}L{number(box.x)} {number(end)}"
        for y, end in ((top, box.y + 9), (bottom, box.bottom - 9))
    )
    return (
        Polygon(corners, Paint(ink, fill_opacity=0.13)),
        Path(edges, Paint(stroke=ink, width=1, dash="4 3", stroke_opacity=0.7)),
    )


# Two stacks, encoder and decoder, with their panels below


def _pair(figure: Figure, top: float) -> tuple[tuple[Shape, ...], float]:
    both = [stack.rungs(column) for column in figure.columns[:2]]
    top += 34
    height = max(stack.height(found) for found in both)
    drawn: list[Placed] = []
    shapes: list[Shape] = []
    for found, geometry, column in zip(both, PAIR, figure.columns, strict=False):
        stack.stretch(found, height - stack.height(found))
        placed = stack.place(found, geometry, top + height)
        drawn.append(placed)
        label = column.label
        shapes.append(Text(geometry.centre, top - 25, label, 13, anchor="middle", bold=True))
    leaders = tuple(shape for crossing in figure.crossings for shape in _leader(drawn, crossing.target, crossing.label))
    for part in ("frames", "lines", "boxes", "badges"):
        for placed in drawn:
            shapes += getattr(placed, part)
        if part == "frames":
            shapes += leaders
    below, y = _below(figure.panels, top + height + 22)
    return (*shapes, *below), y


def _leader(drawn: Sequence[Placed], target: str, label: str) -> tuple[Shape, ...]:
    """The encoder's output, up and over to the block of the decoder that attends to it."""
    goal = drawn[1].at.get(target)
    if goal is None:
        return ()
    x, top = PAIR[0].centre, drawn[0].top
    middle = (PAIR[0].frame[1] + PAIR[1].frame[0]) / 2
    shapes = [*arrow(((x, top), (x, top - 16), (middle, top - 16), (middle, goal.centre), (goal.x, goal.centre)))]
    room = width(label, 11) + 4
    return (
        (*shapes, Text(middle - 6, goal.centre - 6, label, 11, "muted", anchor="end"))
        if room < middle - 352
        else (*shapes,)
    )


def _below(shown: Sequence[Panel], top: float) -> tuple[tuple[Shape, ...], float]:
    """Panels in two columns, each in the shorter one."""
    if not shown:
        return (), top
    each = (RIGHT - LEFT - PANEL_GAP) / 2
    ends = [top, top]
    shapes: list[Shape] = []
    for panel in shown:
        side = 0 if ends[0] <= ends[1] else 1
        size = panels.height(panel, each)
        shapes += panels.draw(panel, Box(LEFT + side * (each + PANEL_GAP), ends[side], each, size))
        ends[side] += size + PANEL_GAP
    return tuple(shapes), max(ends) - PANEL_GAP
