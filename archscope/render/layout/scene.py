"""What is drawn, placed: a few primitives that every vector format has.

Colours are names of the theme's. Units: pixels, y downwards; sizes of text in pixels.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from archscope.records import dataclass

Anchor = Literal["start", "middle", "end"]
Direction = Literal["up", "down", "left", "right"]


class Box(NamedTuple):
    """A rectangle on the page."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """X of the right edge."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """Y of the lower edge."""
        return self.y + self.height

    @property
    def middle(self) -> float:
        """X of the centre."""
        return self.x + self.width / 2

    @property
    def centre(self) -> float:
        """Y of the centre."""
        return self.y + self.height / 2


class Paint(NamedTuple):
    """How a shape is filled and bordered; "" is not at all."""

    fill: str = ""
    stroke: str = ""
    width: float = 1.0
    dash: str = ""
    fill_opacity: float = 1.0
    stroke_opacity: float = 1.0


@dataclass(frozen=True, slots=True)
class Rect:
    """A rectangle with rounded corners."""

    box: Box
    paint: Paint
    radius: float = 0.0


@dataclass(frozen=True, slots=True)
class Circle:
    """A circle."""

    x: float
    y: float
    radius: float
    paint: Paint


@dataclass(frozen=True, slots=True)
class Path:
    """An outline in SVG's path language: absolute and relative moves, lines, arcs and curves."""

    data: str
    paint: Paint
    round_caps: bool = False


@dataclass(frozen=True, slots=True)
class Polygon:
    """A closed polygon."""

    points: tuple[tuple[float, float], ...]
    paint: Paint


@dataclass(frozen=True, slots=True)
class Head:
    """The head of an arrow, with its tip at a point; `free` where it leads out of the picture and touches nothing."""

    x: float
    y: float
    direction: Direction
    free: bool = False


@dataclass(frozen=True, slots=True)
class Text:
    """One line of text; y is its baseline."""

    x: float
    y: float
    text: str
    size: float
    colour: str = "text"
    anchor: Anchor = "start"
    bold: bool = False
    italic: bool = False
    mono: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """Shapes that are one thing to a reader: with a tooltip, and attributes for scripts.

    `name` is its class; `label` is read out; `data` are pairs of a data attribute and its value.
    """

    name: str
    shapes: tuple[Shape, ...]
    title: str = ""
    label: str = ""
    data: tuple[tuple[str, str], ...] = ()


Shape = Rect | Circle | Path | Polygon | Head | Text | Group


@dataclass(frozen=True, slots=True)
class Scene:
    """A whole figure, placed."""

    width: float
    height: float
    title: str
    description: str
    shapes: tuple[Shape, ...]
