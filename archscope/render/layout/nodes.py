"""One box with its text, in the stack and in panels."""

from __future__ import annotations

from typing import NamedTuple

from archscope.render.figure import Badge, Node
from archscope.render.layout import glyphs
from archscope.render.layout.lines import number, ring
from archscope.render.layout.scene import Box, Circle, Group, Paint, Path, Rect, Shape, Text
from archscope.render.theme import fill, stroke
from archscope.render.widths import SPARE, cut, fit, width

SMALL = 11.0
PLAIN = 12.0
BAR = 26.0
CIRCLE = 20.0
CYLINDER = 28.0
PAD = 8.0
BADGE_SHIFT = 6.0
PILL = 19.0


class Style(NamedTuple):
    """How boxes are set: size of the title, distance of lines, height of what is not text."""

    title: float
    leading: float
    base: float


STACK = Style(13.0, 14.0, 26.0)
PANEL = Style(12.0, 13.5, 24.0)


def height(node: Node, style: Style) -> float:
    """How high a node is. Units: pixels."""
    if node.shape in ("sum", "product"):
        return CIRCLE
    if node.shape == "cylinder":
        return CYLINDER
    lines = len(node.lines)
    if node.shape in ("bar", "pill") and not lines:
        return BAR if style is STACK else style.base
    shift = BADGE_SHIFT if node.badge is not None else 0.0
    glyph = glyphs.height(node.glyph) if node.glyph is not None else 0.0
    return style.base + style.leading * lines + glyph + shift


def draw(node: Node, box: Box, style: Style) -> Shape:
    """The node in its box, as one group with its tooltip."""
    if node.shape in ("sum", "product"):
        inner = ring(box.middle, box.centre, node.shape)
    elif node.shape == "cylinder":
        inner = _cylinder(node, box)
    elif node.shape == "pill":
        inner = _pill(node, box)
    else:
        inner = _block(node, box, style)
    return grouped(node, inner)


def grouped(node: Node, shapes: tuple[Shape, ...]) -> Group:
    """Shapes as the node that they show."""
    said = [line[0] for line in node.lines if line]
    title = "\n".join((node.name, *said, *node.origins))
    data = [("id", node.id), ("kind", node.kind)]
    if node.origins:
        data.append(("prov", "; ".join(node.origins)))
    return Group("node", shapes, title, ": ".join(filter(None, (node.name, ", ".join(said)))), tuple(data))


def border(node: Node, box: Box, radius: float) -> Rect:
    """The box itself, with the border of a finding where there is one."""
    if node.badge is not None:
        return Rect(box, Paint(fill(node.kind), node.badge.level, 2.4), radius)
    return Rect(box, Paint(fill(node.kind), stroke(node.kind), 1.4), radius)


def _block(node: Node, box: Box, style: Style) -> tuple[Shape, ...]:
    # What is narrow has no room to spare.
    room = (box.width - 2 * PAD) / SPARE if box.width > 90 else (box.width - PAD) / 1.02
    bar = node.shape == "bar"
    size = PLAIN if bar or style is PANEL else style.title
    shift = BADGE_SHIFT if node.badge is not None else 0.0
    plain = not node.lines and node.glyph is None
    baseline = box.centre + size * 0.35 + shift / 2 if plain else box.y + style.base * 0.5 + size * 0.35 + shift + 1.5
    said = fit(node.title, room, size, bold=not bar, mono=node.mono)
    shapes: list[Shape] = [
        border(node, box, 6),
        Text(box.middle, baseline, said, size, anchor="middle", bold=not bar, mono=node.mono),
    ]
    for words in node.lines:
        baseline += style.leading
        shapes.append(Text(box.middle, baseline, fit(words, room, SMALL), SMALL, anchor="middle"))
    if node.glyph is not None:
        top = baseline + 7
        shapes += glyphs.draw(node.glyph, Box(box.x, top, box.width, box.bottom - top), node.kind)
    return tuple(shapes)


def aligned(node: Node, chip: str, box: Box, style: Style) -> Shape:
    """A node of a slot: text on the left, the chip that says which layers on the right."""
    shift = BADGE_SHIFT if node.badge is not None else 0.0
    chip_width = width(chip, SMALL) * 1.04 + 14 if chip else 0.0
    left = box.x + 12
    room = box.width - 24 - (chip_width + 6 if chip else 0)
    baseline = box.y + 18 + shift
    title = fit(node.title, room / 1.04, style.title, bold=True, mono=node.mono)
    shapes: list[Shape] = [border(node, box, 6), Text(left, baseline, title, style.title, bold=True, mono=node.mono)]
    if chip:
        place = Box(box.right - 7 - chip_width, box.y + 5.5 + shift, chip_width, 17)
        paint = Paint("page", stroke(node.kind), 1.2)
        shapes.append(
            Group("chip", (Rect(place, paint, 8.5), Text(place.middle, place.y + 12.3, chip, SMALL, anchor="middle")))
        )
    for words in node.lines:
        baseline += style.leading
        shapes.append(Text(left, baseline, fit(words, (box.width - 24) / 1.04, SMALL), SMALL))
    return grouped(node, tuple(shapes))


def _pill(node: Node, box: Box) -> tuple[Shape, ...]:
    """What comes in or goes out: a name with its shape behind it."""
    title = cut(node.name, box.width * 0.6, PLAIN, bold=True)
    name = width(title, PLAIN, bold=True)
    suffix = fit((node.suffix,), box.width - name - 34, SMALL, mono=True) if node.suffix else ""
    whole = name + (width(suffix, SMALL, mono=True) + 8 if suffix else 0)
    start = box.middle - whole / 2
    shapes: list[Shape] = [border(node, box, box.height / 2), Text(start, box.centre + 4, title, PLAIN, bold=True)]
    if suffix:
        shapes.append(Text(start + name + 8, box.centre + 4, suffix, SMALL, "muted", mono=True))
    return tuple(shapes)


def _cylinder(node: Node, box: Box) -> tuple[Shape, ...]:
    paint = Paint(fill("cache"), stroke("cache"), 1.4)
    text = fit(node.title, box.width - 8, SMALL)
    return (
        Path(cylinder(box, 4.5), paint),
        Path(lid(box, 4.5), Paint(stroke=stroke("cache"), width=1.4)),
        Text(box.middle, box.centre + 6.5, text, SMALL, anchor="middle"),
    )


def cylinder(box: Box, depth: float) -> str:
    """The outline of a cylinder whose lid is 2 * depth high."""
    rx = number(box.width / 2)
    down = number(box.height - 2 * depth)
    d = number(depth)
    return (
        f"M{number(box.x)} {number(box.y + depth)}a{rx} {d} 0 0 1 {number(box.width)} 0v{down}"
        f"a{rx} {d} 0 0 1 {number(-box.width)} 0z"
    )


def lid(box: Box, depth: float) -> str:
    """The lower half of a cylinder's lid."""
    return (
        f"M{number(box.x)} {number(box.y + depth)}a{number(box.width / 2)} {number(depth)} 0 0 0 {number(box.width)} 0"
    )


# Findings


def pill(badge: Badge, right: float, top: float, room: float) -> Group:
    """The pill of a finding, its right edge at `right` and its middle at `top`."""
    text = cut(badge.label, room - 32, SMALL, bold=True)
    length = width(text, SMALL, bold=True) * 1.03 + 32
    box = Box(right - length, top - PILL / 2, length, PILL)
    return Group(
        "badge",
        pill_shapes(badge.level, text, box),
        "\n".join(badge.details),
        badge.details[0] if badge.details else "",
    )


def pill_shapes(level: str, text: str, box: Box) -> tuple[Shape, ...]:
    """A pill with its icon and its text."""
    return (
        Rect(box, Paint(level, "page", 1.5), PILL / 2),
        *icon(level, box.x + 12.5, box.centre),
        Text(box.x + 22, box.centre + 3.9, text, SMALL, "onbadge", bold=True),
    )


def icon(level: str, x: float, y: float) -> tuple[Shape, ...]:
    """Error an octagon with a cross, warning a triangle with a bar, info a disc with an i."""
    ink = Paint(stroke=level, width=1.6)
    if level == "error":
        a, b = 2.3, 5.6
        corners = ((a, b), (b, a), (b, -a), (a, -b), (-a, -b), (-b, -a), (-b, a), (-a, b))
        octagon = "M" + "L".join(f"{number(x + dx)} {number(y + dy)}" for dx, dy in corners) + "z"
        cross = f"M{number(x - 2.2)} {number(y - 2.2)}l4.4 4.4M{number(x - 2.2)} {number(y + 2.2)}l4.4 -4.4"
        return (Path(octagon, Paint("onbadge")), Path(cross, ink))
    if level == "warning":
        triangle = (
            f"M{number(x)} {number(y - 5.8)}L{number(x + 6)} {number(y + 4.8)}L{number(x - 6)} {number(y + 4.8)}z"
        )
        bar = f"M{number(x)} {number(y - 2)}v3.2M{number(x)} {number(y + 2.4)}v1.3"
        return (Path(triangle, Paint("onbadge")), Path(bar, ink))
    mark = f"M{number(x)} {number(y - 0.9)}v3.9M{number(x)} {number(y - 3.1)}v1.3"
    return (Circle(x, y, 5.6, Paint("onbadge")), Path(mark, ink))
