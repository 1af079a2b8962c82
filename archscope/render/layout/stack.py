"""A column of the figure: rungs from bottom to top on one main line, frames around layers, residual lanes beside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from itertools import pairwise

from archscope.records import dataclass
from archscope.render.figure import Column, Frame, Item, Node, Slot, Step
from archscope.render.layout import nodes
from archscope.render.layout.lines import ROUND, arrow, dot, line, number, ring
from archscope.render.layout.nodes import STACK
from archscope.render.layout.scene import Box, Group, Paint, Path, Rect, Shape, Text
from archscope.render.quantities import count, whole
from archscope.render.widths import fit, width

SMALL = 11.0
GAP = 16.0
EDGE = 24.0
LABEL_SPACE = 32.0
BELOW_BADGE, ABOVE_BADGE = 22.0, 20.0
OUTER_STRETCH, INNER_STRETCH = 24.0, 12.0
SLOT_TOP, SLOT_OR, SLOT_BOTTOM = 22.0, 17.0, 7.0
SLOT_BADGE = 8.0
BRANCH_GAP = 10.0
FORK = 14.0
RESIDUAL = 1.6


@dataclass(frozen=True, slots=True)
class Geometry:
    """Where a column stands. `mirrored` puts lane and bracket on the right."""

    centre: float
    width: float
    mirrored: bool = False

    @property
    def lane(self) -> float:
        """X of the residual lane."""
        return self.centre - self.width / 2 - 20 if not self.mirrored else self.centre + self.width / 2 + 20

    @property
    def frame(self) -> tuple[float, float]:
        """Left and right edge of a frame."""
        half = self.width / 2
        outer, inner = half + 36, half + 18
        return (self.centre - (inner if self.mirrored else outer), self.centre + (outer if self.mirrored else inner))

    def block(self, share: float = 1.0) -> tuple[float, float]:
        """Left edge and width of a block of this share of the column."""
        return self.centre - self.width * share / 2, self.width * share


@dataclass(slots=True)
class Rung:
    """One thing on the main line, with the gap below it."""

    kind: str
    height: float
    gap: float
    outer: bool
    item: Node | Slot | None = None
    step: Step | None = None
    frame: Frame | None = None
    y: float = 0.0

    @property
    def bottom(self) -> float:
        """Y of the lower edge."""
        return self.y + self.height


@dataclass(slots=True)
class Placed:
    """A drawn column: shapes by when they are painted, and where things are.

    `half` says for nodes that stand side by side whether they are the left (0) or the right (1) one.
    """

    frames: list[Shape] = field(default_factory=list)
    lines: list[Shape] = field(default_factory=list)
    boxes: list[Shape] = field(default_factory=list)
    badges: list[Shape] = field(default_factory=list)
    at: dict[str, Box] = field(default_factory=dict)
    half: dict[str, int] = field(default_factory=dict)
    exits: list[float] = field(default_factory=list)
    top: float = 0.0


def rungs(column: Column) -> list[Rung]:
    """The column as rungs from bottom to top."""
    found: list[Rung] = []
    for item in column.items:
        if isinstance(item, Frame):
            found += _frame_rungs(item)
        else:
            found.append(Rung("node", nodes.height(item, STACK), GAP, True, item=item))
    for below, here in pairwise(found):
        here.gap = _gap(below, here)
        # Only what is between nodes of the outer flow may be spread far.
        here.outer = here.outer and (below.outer or below.kind == "top")
    return found


def _frame_rungs(frame: Frame) -> list[Rung]:
    inner: list[Rung] = []
    for step in frame.steps:
        if step.residual:
            inner.append(Rung("tap", 0, GAP, False, step=step))
        inner += [_item_rung(item) for item in step.before]
        if len(step.branches) == 2:
            inner.append(Rung("fork", _fork_height(step), GAP, False, step=step))
        elif len(step.branches) > 2:
            inner.append(_item_rung(_all_of(step)))
        else:
            inner += [_item_rung(item) for branch in step.branches for item in branch]
        if step.residual or len(step.branches) == 2:
            inner.append(Rung("add", 2 * ROUND, GAP, False, step=step))
        inner += [_item_rung(item) for item in step.after]
    return [Rung("bottom", 0, EDGE, True, frame=frame), *inner, Rung("top", 0, LABEL_SPACE, False, frame=frame)]


def _item_rung(item: Item) -> Rung:
    if isinstance(item, Slot):
        return Rung("slot", slot_height(item), GAP, False, item=item)
    return Rung("node", nodes.height(item, STACK), GAP, False, item=item)


def _all_of(step: Step) -> Slot:
    """More than two branches: one above another in a box that says that all of them run."""
    inside = [
        node
        for branch in step.branches
        for item in branch
        for node in (item.nodes if isinstance(item, Slot) else (item,))
    ]
    bodies = tuple(node for node in inside if node.shape != "bar") or tuple(inside)
    caption = ("all in parallel, then summed", "all, then summed")
    return Slot(f"{bodies[0].id}#parallel", "all", caption, bodies, ("",) * len(bodies))


def _gap(below: Rung, here: Rung) -> float:
    if here.kind == "bottom" or below.kind == "top":
        gap = EDGE + 2
    elif below.kind == "bottom":
        gap = EDGE - 4
    elif here.kind == "top":
        named = here.frame is not None and here.frame.where and below.kind != "add"
        gap = LABEL_SPACE + (12 if named else 0)
    else:
        gap = GAP
    badge_here = isinstance(here.item, Node) and here.item.badge is not None
    badge_below = isinstance(below.item, Node) and below.item.badge is not None
    if badge_here:
        gap = max(gap, ABOVE_BADGE)
    if badge_below:
        gap = max(gap, BELOW_BADGE)
    return gap


def slot_height(slot: Slot) -> float:
    """How high a slot is with all its nodes. Units: pixels."""
    badge = SLOT_BADGE if slot.nodes[-1].badge is not None else 0.0
    inside = sum(nodes.height(node, STACK) for node in slot.nodes) + SLOT_OR * (len(slot.nodes) - 1)
    return badge + SLOT_TOP + inside + SLOT_BOTTOM


def _fork_height(step: Step) -> float:
    badged = any(branch and isinstance(branch[-1], Node) and branch[-1].badge is not None for branch in step.branches)
    return 2 * FORK + max(_branch_height(branch) for branch in step.branches) + (8 if badged else 0)


def _branch_height(branch: Sequence[Item]) -> float:
    sizes = [nodes.height(item, STACK) for item in branch if isinstance(item, Node)]
    return sum(sizes) + GAP * (len(sizes) - 1)


def height(found: Sequence[Rung]) -> float:
    """The least height of a column. Units: pixels."""
    return sum(rung.height + (rung.gap if index else 0) for index, rung in enumerate(found))


def stretch(found: Sequence[Rung], spare: float) -> float:
    """Spread a column over more height, the outer gaps first; returns what is left."""
    for outer, most in ((True, OUTER_STRETCH), (False, INNER_STRETCH)):
        chosen = [rung for rung in found[1:] if rung.outer is outer]
        if chosen and spare > 0:
            extra = min(spare / len(chosen), most)
            for rung in chosen:
                rung.gap += extra
            spare -= extra * len(chosen)
    return max(spare, 0.0)


def place(found: Sequence[Rung], geometry: Geometry, bottom: float) -> Placed:
    """Put the rungs on the page, the first one standing on `bottom`, and draw them."""
    y = bottom
    for index, rung in enumerate(found):
        y -= rung.height + (rung.gap if index else 0)
        rung.y = y
    drawn = Placed(top=y)
    for rung in found:
        _draw(rung, geometry, drawn)
    drawn.lines += _main_line(found, geometry)
    drawn.lines += _residuals(found, geometry)
    for below, above in _framed(found):
        _frame(below, above, geometry, drawn)
    return drawn


def _draw(rung: Rung, geometry: Geometry, drawn: Placed) -> None:
    if rung.kind == "slot" and isinstance(rung.item, Slot):
        _slot(rung.item, rung, geometry, drawn)
    elif rung.kind == "fork" and rung.step is not None:
        _fork(rung.step, rung, geometry, drawn)
    elif rung.kind == "add":
        drawn.boxes += [Group("sum", ring(geometry.centre, rung.y + ROUND, "sum"))]
    elif isinstance(rung.item, Node):
        node = rung.item
        wide = {"bar": geometry.width - 76, "pill": geometry.width - 40}.get(node.shape, geometry.width)
        _node(node, Box(geometry.centre - wide / 2, rung.y, wide, rung.height), drawn)


def _node(node: Node, box: Box, drawn: Placed) -> None:
    drawn.at[node.id] = box
    drawn.boxes.append(nodes.draw(node, box, STACK))
    if node.badge is not None:
        drawn.badges.append(nodes.pill(node.badge, box.right + 6, box.y, box.width))


def _slot(slot: Slot, rung: Rung, geometry: Geometry, drawn: Placed) -> None:
    """Alternatives one above another, the first to occur at the bottom."""
    left, wide = geometry.block()
    box = Box(left - 5, rung.y, wide + 10, rung.height)
    caption = fit(slot.caption, wide - 16, SMALL)
    drawn.boxes.append(Rect(box, Paint("panel", "muted", 1.2, "2 3"), 9))
    drawn.boxes.append(Text(left + 6, rung.y + 15, caption, SMALL, "muted", italic=True))
    y = rung.y + SLOT_TOP + (SLOT_BADGE if slot.nodes[-1].badge is not None else 0.0)
    pairs = list(zip(slot.nodes, slot.chips, strict=True))
    for index, (node, chip) in enumerate(reversed(pairs)):
        if index:
            word = "or" if slot.mode == "one" else "and"
            drawn.boxes.append(Text(left + 8, y + 12, word, SMALL, "muted", italic=True))
            start = left + 14 + width(word, SMALL)
            drawn.boxes.append(
                Path(f"M{number(start)} {number(y + 8.5)}H{number(left + wide - 8)}", Paint(stroke="rule"))
            )
            y += SLOT_OR
        place_ = Box(left + 1, y, wide - 2, nodes.height(node, STACK))
        drawn.at[node.id] = place_
        drawn.boxes.append(nodes.aligned(node, chip, place_, STACK))
        if node.badge is not None:
            drawn.badges.append(nodes.pill(node.badge, place_.right + 6, place_.y, place_.width - 30))
        y = place_.bottom
    drawn.at[slot.id] = box


def _fork(step: Step, rung: Rung, geometry: Geometry, drawn: Placed) -> None:
    """Two branches side by side, joined again below the circle that adds them."""
    left, wide = geometry.block()
    each = (wide - BRANCH_GAP) / 2
    for index, branch in enumerate(step.branches):
        x = left + index * (each + BRANCH_GAP)
        middle = x + each / 2
        items = [item for item in branch if isinstance(item, Node)]
        y = rung.bottom - FORK
        start = (geometry.centre, rung.bottom)
        points = [start, (geometry.centre, rung.bottom - 2), (middle, rung.bottom - 2)]
        for node in items:
            size = nodes.height(node, STACK)
            box = Box(x, y - size, each, size)
            drawn.lines += arrow((*points, (middle, box.bottom)))
            _node(node, box, drawn)
            drawn.half[node.id] = index
            points = [(middle, box.y)]
            y = box.y - GAP
        top = points[-1]
        if index not in step.apart:
            drawn.lines.append(
                line((top, (middle, rung.y + 2), (geometry.centre, rung.y + 2), (geometry.centre, rung.y)))
            )


def _main_line(found: Sequence[Rung], geometry: Geometry) -> Iterator[Shape]:
    """The flow from each rung to the next."""
    x = geometry.centre
    start: float | None = None
    for index, rung in enumerate(found):
        if start is not None and rung.kind not in ("tap", "top"):
            yield from (
                arrow(((x, start), (x, rung.bottom)))
                if rung.kind != "fork"
                else (line(((x, start), (x, rung.bottom))),)
            )
            start = None
        if rung.kind == "tap":
            yield dot(x, rung.y)
        start = rung.y if start is None else start
        if index == len(found) - 1 and rung.kind == "top":
            yield from arrow(((x, start), (x, rung.y - EDGE)), free=True)


def _residuals(found: Sequence[Rung], geometry: Geometry) -> Iterator[Shape]:
    """From each tap along the lane into the circle that adds."""
    tap: Rung | None = None
    side = geometry.centre + (ROUND if geometry.mirrored else -ROUND)
    for rung in found:
        if rung.kind == "tap":
            tap = rung
        elif rung.kind == "add" and tap is not None and tap.step is rung.step:
            y = rung.y + ROUND
            points = ((geometry.centre, tap.y), (geometry.lane, tap.y), (geometry.lane, y), (side, y))
            yield from arrow(points, width=RESIDUAL, corner=7)
            if rung.step is not None and rung.step.factor:
                x, anchor = (side + 12, "start") if geometry.mirrored else (side - 12, "end")
                yield Text(x, y - 5, rung.step.factor, SMALL, "muted", anchor=anchor)  # type: ignore[arg-type]
            tap = None


def _framed(found: Sequence[Rung]) -> Iterator[tuple[Rung, Rung]]:
    below: Rung | None = None
    for rung in found:
        if rung.kind == "bottom":
            below = rung
        elif rung.kind == "top" and below is not None:
            yield below, rung
            below = None


def _frame(below: Rung, above: Rung, geometry: Geometry, drawn: Placed) -> None:
    frame = below.frame
    assert frame is not None
    left, right = geometry.frame
    box = Box(left, above.y, right - left, below.y - above.y)
    room = geometry.centre - 14 - (left + 13)
    start = geometry.centre + 14 if geometry.mirrored else left + 13
    if geometry.mirrored:
        room = right - 13 - start
    label = fit((frame.label,), room, 12, bold=True)
    shapes: list[Shape] = [Rect(box, Paint("panel", "frame", 1.4), 12), Text(start, box.y + 19, label, 12, bold=True)]
    if frame.where:
        shapes.append(Text(start, box.y + 33, fit((frame.where,), room, SMALL), SMALL, "muted"))
    if frame.input_shape:
        room = right - geometry.centre - 14
        said = fit((frame.input_shape,), room, SMALL, mono=True)
        shapes.append(Text(geometry.centre + 8, box.bottom + 14, said, SMALL, "muted", mono=True))
    drawn.frames.append(Group("frame", (*shapes, *_bracket(frame, box, geometry)), data=(("id", frame.id),)))
    drawn.at[frame.id] = box
    drawn.exits.append(box.y)


def _bracket(frame: Frame, box: Box, geometry: Geometry) -> Iterator[Shape]:
    """How often the frame repeats, beside it."""
    x, tick = (box.right + 10, -5.0) if geometry.mirrored else (box.x - 10, 5.0)
    top, bottom = box.y + 8, box.bottom - 8
    data = f"M{number(x + tick)} {number(top)}H{number(x)}V{number(bottom)}H{number(x + tick)}"
    yield Path(data, Paint(stroke="line", width=1.8))
    for size, said in ((19, whole(frame.count)), (13, whole(frame.count)), (11, count(frame.count))):
        if width(f"× {said}", size, bold=True) <= 50 or size == 11:
            anchor_x = x + 8 if geometry.mirrored else x - 8
            anchor = "start" if geometry.mirrored else "end"
            yield Text(anchor_x, box.centre + size * 0.35, f"× {said}", size, anchor=anchor, bold=True)  # type: ignore[arg-type]
            return
