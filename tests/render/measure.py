"""What a finished SVG really holds: its texts and boxes measured, independent of the layout that placed them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations, pairwise
from typing import NamedTuple
from xml.etree import ElementTree

from archscope.render.layout.scene import Box, Circle, Group, Head, Path, Polygon, Rect, Scene, Shape, Text
from archscope.render.widths import width

SVG = "{http://www.w3.org/2000/svg}"
PORTABLE = {"svg", "title", "desc", "style", "g", "rect", "circle", "path", "polygon", "text"}
FORBIDDEN = {"opacity", "filter", "mask", "clip-path", "href", "onload", "onclick", "style", "marker-end"}


class Written(NamedTuple):
    """A line of text with the box that its ink takes."""

    text: str
    box: Box


def parse(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


def problems_of_markup(root: ElementTree.Element) -> list[str]:
    """Elements and attributes outside of what every consumer has."""
    found = []
    for element in root.iter():
        name = element.tag.removeprefix(SVG)
        if name not in PORTABLE:
            found.append(f"element {name}")
        found += [f"attribute {key} of {name}" for key in element.attrib if key.rpartition("}")[2] in FORBIDDEN]
        if element.get("font-weight") not in (None, "bold"):
            found.append(f"font-weight {element.get('font-weight')}")
        size = element.get("font-size")
        if size is not None and float(size) not in (22, 19, 13, 12, 11):
            found.append(f"font-size {size}")
    return found


def written(element: ElementTree.Element) -> Written:
    """A text element measured."""
    text = element.text or ""
    size = float(element.get("font-size", "0"))
    long = width(text, size, bold=element.get("font-weight") == "bold", mono="font-family" in element.attrib)
    x, y = float(element.get("x", "0")), float(element.get("y", "0"))
    anchor = element.get("text-anchor", "start")
    left = x - long / 2 if anchor == "middle" else x - long if anchor == "end" else x
    return Written(text, Box(left, y - 0.72 * size, long, 0.9 * size))


def rectangle(element: ElementTree.Element) -> Box:
    return Box(*(float(element.get(name, "0")) for name in ("x", "y", "width", "height")))


def meet(a: Box, b: Box, slack: float = 0.3) -> bool:
    """Whether two boxes overlap by more than the slack."""
    across = min(a.right, b.right) - max(a.x, b.x)
    down = min(a.bottom, b.bottom) - max(a.y, b.y)
    return across > slack and down > slack


def inside(a: Box, b: Box, slack: float = 0.6) -> bool:
    """Whether the first box is within the second."""
    return a.x >= b.x - slack and a.right <= b.right + slack and a.y >= b.y - slack and a.bottom <= b.bottom + slack


def overlapping_texts(root: ElementTree.Element) -> list[str]:
    texts = [written(element) for element in root.iter(f"{SVG}text") if (element.text or "").strip()]
    return [f"{a.text!r} meets {b.text!r}" for a, b in combinations(texts, 2) if meet(a.box, b.box)]


def texts_outside(root: ElementTree.Element) -> list[str]:
    """Texts that leave the page, or the box of the node, chip, badge or segment that they belong to."""
    page = Box(0, 0, float(root.get("width", "0")), float(root.get("height", "0")))
    found = []
    for element in root.iter(f"{SVG}text"):
        line = written(element)
        if not inside(line.box, page, 0):
            found.append(f"{line.text!r} leaves the page")
    for group in root.iter(f"{SVG}g"):
        frame = group.find(f"{SVG}rect")
        if group.get("class") in ("node", "chip", "badge", "segment") and frame is not None:
            box = rectangle(frame)
            lines = map(written, group.findall(f"{SVG}text"))
            found += [f"{line.text!r} leaves its {group.get('class')}" for line in lines if not inside(line.box, box)]
    return found


def covered_texts(root: ElementTree.Element) -> list[str]:
    """Texts under a chip or a pill that they do not belong to."""
    found = []
    texts = list(root.iter(f"{SVG}text"))
    for group in root.iter(f"{SVG}g"):
        frame = group.find(f"{SVG}rect")
        if group.get("class") in ("chip", "badge") and frame is not None:
            box, own = rectangle(frame), {id(text) for text in group.iter(f"{SVG}text")}
            found += [
                f"{text.text!r} is under a {group.get('class')}"
                for text in texts
                if id(text) not in own and (text.text or "").strip() and meet(written(text).box, box)
            ]
    return found


def hidden_texts(root: ElementTree.Element) -> list[str]:
    """Texts within a node that they do not belong to; pills sit on its border."""
    found = []
    pills = {id(t) for g in root.iter(f"{SVG}g") if g.get("class") == "badge" for t in g.iter(f"{SVG}text")}
    texts = [t for t in root.iter(f"{SVG}text") if (t.text or "").strip() and id(t) not in pills]
    for group in root.iter(f"{SVG}g"):
        frame = group.find(f"{SVG}rect")
        if group.get("class") == "node" and frame is not None:
            box, own = rectangle(frame), {id(text) for text in group.iter(f"{SVG}text")}
            other = [text for text in texts if id(text) not in own and meet(written(text).box, box, 1.5)]
            found += [f"{text.text!r} is on {group.get('data-id')}" for text in other]
    return found


# Scenes


def walk(shapes: tuple[Shape, ...]) -> Iterator[Shape]:
    for shape in shapes:
        yield shape
        if isinstance(shape, Group):
            yield from walk(shape.shapes)


def node_boxes(scene: Scene) -> list[tuple[str, Box]]:
    """Boxes of nodes with their ids; cylinders by their outline, circles by their square."""
    found = []
    for shape in walk(scene.shapes):
        if isinstance(shape, Group) and shape.name in ("node", "sum"):
            first = shape.shapes[0]
            name = dict(shape.data).get("id", shape.name)
            if isinstance(first, Rect):
                found.append((name, first.box))
            elif isinstance(first, Circle):
                r = first.radius
                found.append((name, Box(first.x - r, first.y - r, 2 * r, 2 * r)))
            elif isinstance(first, Path):
                found.append((name, _outline(first.data)))
    return found


def _outline(data: str) -> Box:
    """The box of a cylinder: M x y, a lid of the full width, down, and back."""
    numbers = [float(number) for number in re.findall(r"-?\d+\.?\d*", data)]
    x, y, depth, wide, down = numbers[0], numbers[1], numbers[3], numbers[7], numbers[9]
    return Box(x, y - depth, wide, down + 2 * depth)


def overlapping_nodes(scene: Scene) -> list[str]:
    return [f"{a} meets {b}" for (a, one), (b, other) in combinations(node_boxes(scene), 2) if meet(one, other)]


def loose_heads(scene: Scene, slack: float = 0.5) -> list[str]:
    """Arrowheads whose tip touches no box, frame or circle."""
    edges = [box for _, box in node_boxes(scene)]
    rings = [shape for shape in walk(scene.shapes) if isinstance(shape, Circle)]
    for shape in walk(scene.shapes):
        if isinstance(shape, Group) and shape.name in ("frame", "panel") and isinstance(shape.shapes[0], Rect):
            edges.append(shape.shapes[0].box)
        elif isinstance(shape, Rect) and shape.paint.dash == "2 3":
            edges.append(shape.box)
    heads = [shape for shape in walk(scene.shapes) if isinstance(shape, Head) and not shape.free]
    return [
        f"head at {head.x:.1f}, {head.y:.1f}"
        for head in heads
        if not any(_touches(head, box, slack) for box in edges)
        and not any(abs(((head.x - r.x) ** 2 + (head.y - r.y) ** 2) ** 0.5 - r.radius) <= slack for r in rings)
    ]


def _touches(head: Head, box: Box, slack: float) -> bool:
    along = box.x - slack <= head.x <= box.right + slack and box.y - slack <= head.y <= box.bottom + slack
    gaps = (abs(head.x - box.x), abs(head.x - box.right), abs(head.y - box.y), abs(head.y - box.bottom))
    return along and min(gaps) <= slack


def crossed_nodes(scene: Scene) -> list[str]:
    """Lines of the flow that run through a node."""
    boxes = [(name, Box(b.x + 1.5, b.y + 1.5, b.width - 3, b.height - 3)) for name, b in node_boxes(scene)]
    found = []
    for shape in walk(scene.shapes):
        if isinstance(shape, Path) and shape.paint.stroke == "line" and "L" in shape.data and not shape.round_caps:
            points = _points(shape.data)
            for (ax, ay), (bx, by) in pairwise(points):
                piece = Box(min(ax, bx), min(ay, by), abs(ax - bx) + 0.01, abs(ay - by) + 0.01)
                found += [f"a line at {ax:.0f},{ay:.0f} crosses {name}" for name, box in boxes if meet(piece, box, 0)]
    return found


def _points(data: str) -> list[tuple[float, float]]:
    """The corners of a line: ends of its straight pieces."""
    found = []
    for command, numbers in re.findall(r"([MLQ])([^MLQ]*)", data):
        values = [float(number) for number in numbers.split()]
        if command == "Q":
            found.append((values[0], values[1]))
        found.append((values[-2], values[-1]))
    return found


def polygons(scene: Scene) -> list[Polygon]:
    return [shape for shape in walk(scene.shapes) if isinstance(shape, Polygon)]


def crossed_texts(scene: Scene) -> list[str]:
    """Lines of the flow that run through a text; a pill covers what is below it."""
    pills = [shape for shape in walk(scene.shapes) if isinstance(shape, Group) and shape.name == "badge"]
    covered = {id(shape) for pill in pills for shape in walk(pill.shapes)}
    texts = [shape for shape in walk(scene.shapes) if isinstance(shape, Text) and id(shape) not in covered]
    boxes = [(text.text, _ink(text)) for text in texts if text.text.strip()]
    found = []
    for shape in walk(scene.shapes):
        if isinstance(shape, Path) and shape.paint.stroke == "line" and "L" in shape.data:
            points = _points(shape.data)
            for (ax, ay), (bx, by) in pairwise(points):
                piece = Box(min(ax, bx) - 0.5, min(ay, by) - 0.5, abs(ax - bx) + 1, abs(ay - by) + 1)
                found += [
                    f"a line at {ax:.0f},{ay:.0f} runs through {text!r}" for text, box in boxes if meet(piece, box)
                ]
    return found


def _ink(text: Text) -> Box:
    long = width(text.text, text.size, bold=text.bold, mono=text.mono)
    left = {"start": text.x, "middle": text.x - long / 2, "end": text.x - long}[text.anchor]
    return Box(left, text.y - 0.72 * text.size, long, 0.9 * text.size)
