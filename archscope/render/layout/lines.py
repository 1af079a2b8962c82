"""Lines of the data flow: orthogonal, with rounded corners and an arrowhead."""

from __future__ import annotations

from collections.abc import Sequence

from archscope.render.layout.scene import Circle, Direction, Head, Paint, Path, Shape

CORNER = 6.0
WIDTH = 1.4
HEAD_LENGTH = 7.0
HEAD_HALF = 3.8
DOT = 2.6
ROUND = 10.0
"""Radius of the circles that add and multiply."""

Point = tuple[float, float]


def number(value: float) -> str:
    """A coordinate with one decimal; with two where it is small enough that they show."""
    text = (f"{value:.1f}" if abs(value) >= 1 else f"{value:.2f}").rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def arrow(
    points: Sequence[Point], *, width: float = WIDTH, dash: str = "", corner: float = CORNER, free: bool = False
) -> tuple[Shape, ...]:
    """A line along the points with its head at the last one."""
    direction = _direction(points[-2], points[-1])
    tip = points[-1]
    end = _back(tip, direction, HEAD_LENGTH - 1)
    return (line((*points[:-1], end), width=width, dash=dash, corner=corner), Head(*tip, direction, free))


def line(points: Sequence[Point], *, width: float = WIDTH, dash: str = "", corner: float = CORNER) -> Path:
    """A line along the points, without a head."""
    return Path(_rounded(_straightened(points), corner), Paint(stroke="line", width=width, dash=dash))


def dot(x: float, y: float) -> Circle:
    """Where a line branches off."""
    return Circle(x, y, DOT, Paint(fill="line"))


def ring(x: float, y: float, sign: str, radius: float = ROUND) -> tuple[Shape, ...]:
    """A circle with a drawn plus or times in it: no bundled font has the circled signs."""
    reach = radius * (0.52 if sign == "sum" else 0.4)
    if sign == "sum":
        data = (
            f"M{number(x - reach)} {number(y)}h{number(2 * reach)}M{number(x)} {number(y - reach)}v{number(2 * reach)}"
        )
    else:
        across = f"l{number(2 * reach)} {number(2 * reach)}"
        back = f"l{number(2 * reach)} {number(-2 * reach)}"
        data = f"M{number(x - reach)} {number(y - reach)}{across}M{number(x - reach)} {number(y + reach)}{back}"
    return (
        Circle(x, y, radius, Paint(fill="page", stroke="line", width=1.6)),
        Path(data, Paint(stroke="line", width=1.6)),
    )


def head_points(head: Head) -> tuple[Point, Point, Point]:
    """The three corners of an arrowhead, the tip first."""
    x, y = head.x, head.y
    back_x, back_y = _back((x, y), head.direction, HEAD_LENGTH)
    if head.direction in ("up", "down"):
        return ((x, y), (x - HEAD_HALF, back_y), (x + HEAD_HALF, back_y))
    return ((x, y), (back_x, y - HEAD_HALF), (back_x, y + HEAD_HALF))


def _direction(start: Point, end: Point) -> Direction:
    if abs(end[0] - start[0]) > abs(end[1] - start[1]):
        return "right" if end[0] > start[0] else "left"
    return "down" if end[1] > start[1] else "up"


def _back(tip: Point, direction: Direction, length: float) -> Point:
    x, y = tip
    steps = {"up": (x, y + length), "down": (x, y - length), "left": (x + length, y), "right": (x - length, y)}
    return steps[direction]


def _straightened(points: Sequence[Point]) -> list[Point]:
    """The points without repeated ones and without those in the middle of a straight line."""
    kept: list[Point] = []
    for point in points:
        if kept and abs(point[0] - kept[-1][0]) < 0.01 and abs(point[1] - kept[-1][1]) < 0.01:
            continue
        if len(kept) > 1:
            (ax, ay), (bx, by) = kept[-2], kept[-1]
            if (abs(ax - bx) < 0.01 and abs(bx - point[0]) < 0.01) or (
                abs(ay - by) < 0.01 and abs(by - point[1]) < 0.01
            ):
                kept.pop()
        kept.append(point)
    return kept


def _rounded(points: Sequence[Point], corner: float) -> str:
    data = [f"M{number(points[0][0])} {number(points[0][1])}"]
    for before, here, after in zip(points, points[1:], points[2:], strict=False):
        radius = min(corner, _length(before, here) / 2, _length(here, after) / 2)
        start, end = _towards(here, before, radius), _towards(here, after, radius)
        data.append(f"L{number(start[0])} {number(start[1])}")
        data.append(f"Q{number(here[0])} {number(here[1])} {number(end[0])} {number(end[1])}")
    if len(points) > 1:
        data.append(f"L{number(points[-1][0])} {number(points[-1][1])}")
    return "".join(data)


def _length(a: Point, b: Point) -> float:
    return abs(a[0] - b[0]) + abs(a[1] - b[1])


def _towards(start: Point, end: Point, distance: float) -> Point:
    whole = _length(start, end) or 1.0
    return (start[0] + (end[0] - start[0]) * distance / whole, start[1] + (end[1] - start[1]) * distance / whole)
