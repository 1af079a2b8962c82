"""Free panels: rows by distance from the input, few crossings, a track for each line that bends.

The steps are those of Sugiyama, Tagawa and Toda (1981): rank, order, place, route.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import field
from math import sqrt
from typing import NamedTuple

from archscope.records import dataclass
from archscope.render.figure import Node, Panel
from archscope.render.layout import nodes
from archscope.render.layout.lines import ROUND, arrow
from archscope.render.layout.nodes import PANEL
from archscope.render.layout.scene import Box, Shape, Text
from archscope.render.widths import fit

GAP = 12.0
LEAST_GAP = 20.0
TRACK = 7.0
WIDEST = 190.0
CYLINDER = 90.0
PASSING = 0.3
"""Share of a row that a line takes which only passes through it, in widths of a box."""
SWEEPS = 4
SMALL = 11.0
OUT = 14.0
TEXT_ROW = 16.0
Edge = tuple[str, str]


class Route(NamedTuple):
    """An edge with the places that it passes, ends included."""

    stops: tuple[str, ...]


@dataclass(slots=True)
class Plan:
    """Rows from the bottom, what stands in them from left to right, and how edges run through them."""

    rows: list[list[str]]
    routes: list[Route]
    real: Mapping[str, Node]
    texts: Mapping[str, str]
    centres: dict[str, float] = field(default_factory=dict)
    widths: dict[str, float] = field(default_factory=dict)

    def row_height(self, row: int) -> float:
        """Height of the highest box of a row."""
        sizes = [nodes.height(self.real[name], PANEL) if name in self.real else 0.0 for name in self.rows[row]]
        return max((*sizes, TEXT_ROW if any(name in self.texts for name in self.rows[row]) else 0.0))


def plan(panel: Panel, width: float) -> Plan:
    """Everything but the heights."""
    real = {cell.node.id: cell.node for cell in panel.cells}
    texts = {f"\x00in{index}": entry.text for index, entry in enumerate(panel.inputs)}
    edges: list[Edge] = [
        (f"\x00in{index}", target) for index, entry in enumerate(panel.inputs) for target in entry.targets
    ]
    edges += [(wire.source, wire.target) for wire in panel.wires if wire.target]
    edges = _acyclic(list(dict.fromkeys(edges)))
    ranks = _ranks([*texts, *real], edges, set(texts))
    top = max(ranks.values(), default=0) + 1
    for wire in panel.wires:
        if not wire.target:
            name = f"\x00out{wire.source}"
            ranks[name] = top
            edges.append((wire.source, name))
    rows, routes = _rows(ranks, edges)
    made = Plan(rows, routes, real, texts)
    _order(made)
    _spread(made, width)
    return made


def _acyclic(edges: Sequence[Edge]) -> list[Edge]:
    """The edges without those that would close a circle."""
    follows: dict[str, set[str]] = defaultdict(set)
    kept = []
    for source, target in edges:
        seen, open_ = {target}, [target]
        while open_:
            for name in follows[open_.pop()]:
                if name not in seen:
                    seen.add(name)
                    open_.append(name)
        if source not in seen:
            follows[source].add(target)
            kept.append((source, target))
    return kept


def _ranks(names: Sequence[str], edges: Sequence[Edge], inputs: set[str]) -> dict[str, int]:
    """Longest distance from an input; what nothing leads to stands just below what it leads to."""
    floor = 1 if inputs else 0
    ranks = {name: 0 if name in inputs else floor for name in names}
    for _ in names:
        changed = False
        for source, target in edges:
            if ranks[target] <= ranks[source]:
                ranks[target] = ranks[source] + 1
                changed = True
        if not changed:
            break
    led = {target for _, target in edges}
    for name in names:
        goals = [ranks[target] for source, target in edges if source == name]
        if name not in led and name not in inputs and goals:
            ranks[name] = max(floor, min(goals) - 1)
    return ranks


def _rows(ranks: Mapping[str, int], edges: Sequence[Edge]) -> tuple[list[list[str]], list[Route]]:
    """Each row, with a passing place for every edge that skips it."""
    rows: list[list[str]] = [[] for _ in range(max(ranks.values(), default=0) + 1)]
    for name, rank in ranks.items():
        rows[rank].append(name)
    routes = []
    for source, target in edges:
        passed = []
        for rank in range(ranks[source] + 1, ranks[target]):
            # Edges of one source into one row share their way.
            name = f"\x00via{source}\x00{rank}\x00{target}"
            rows[rank].append(name)
            passed.append(name)
        routes.append(Route((source, *passed, target)))
    return rows, routes


def _order(made: Plan) -> None:
    """Sort rows by the mean place of their neighbours, upwards and downwards in turn."""
    below: dict[str, list[str]] = defaultdict(list)
    above: dict[str, list[str]] = defaultdict(list)
    for route in made.routes:
        for a, b in zip(route.stops, route.stops[1:], strict=False):
            below[b].append(a)
            above[a].append(b)
    for sweep in range(SWEEPS):
        up = sweep % 2 == 0
        near = below if up else above
        place = {name: (index + 0.5) / len(row) for row in made.rows for index, name in enumerate(row)}
        for row in made.rows if up else reversed(made.rows):
            means = {
                name: sum(place[other] for other in near[name]) / len(near[name]) if near[name] else place[name]
                for name in row
            }
            row.sort(key=means.__getitem__)
            place.update({name: (index + 0.5) / len(row) for index, name in enumerate(row)})


def _spread(made: Plan, width: float) -> None:
    """Give each place its x: rows are as wide as the panel, passing lines take little of it."""
    for row in made.rows:
        units = [1.0 if name in made.real or name in made.texts else PASSING for name in row]
        unit = width / (sum(units) or 1.0)
        x = 0.0
        for name, share in zip(row, units, strict=True):
            room = share * unit
            made.centres[name] = x + room / 2
            if name in made.real:
                node = made.real[name]
                widest = {"sum": 2 * ROUND, "product": 2 * ROUND, "cylinder": CYLINDER}.get(node.shape, WIDEST)
                least = min(room - GAP, widest)
                made.widths[name] = max(least, 10.0)
            else:
                made.widths[name] = max(room - 4, 2.0)
            x += room
    _settle(made, width)


def _settle(made: Plan, width: float) -> None:
    """Passing lines and circles move over what they come from or lead to, where the row leaves them the room."""
    for route in made.routes:
        for here, after in zip(route.stops[1:-1], route.stops[2:], strict=False):
            wanted = made.centres[after]
            row = next(row for row in made.rows if here in row)
            made.centres[here] = _allowed(made, row, here, wanted, width)


def _allowed(made: Plan, row: Sequence[str], name: str, wanted: float, width: float) -> float:
    index = row.index(name)
    low = made.centres[row[index - 1]] + _half(made, row[index - 1]) + 8 if index else 4.0
    high = made.centres[row[index + 1]] - _half(made, row[index + 1]) - 8 if index + 1 < len(row) else width - 4
    return min(max(wanted, low), high) if low <= high else made.centres[name]


def _half(made: Plan, name: str) -> float:
    return made.widths[name] / 2 if name in made.real else 2.0


# Lines


class Step(NamedTuple):
    """One line of an edge between two rows: where it starts and ends."""

    source: str
    target: str
    start: float
    end: float

    @property
    def bends(self) -> bool:
        """Whether it is not straight up."""
        return abs(self.start - self.end) > 0.6


def steps(made: Plan) -> list[list[Step]]:
    """The lines of every gap, from the lowest up. One source leaves at one point; a target is entered side by side."""
    row_of = {name: index for index, row in enumerate(made.rows) for name in row}
    entering: dict[str, list[str]] = defaultdict(list)
    leaving: dict[str, set[str]] = defaultdict(set)
    for route in made.routes:
        for a, b in zip(route.stops, route.stops[1:], strict=False):
            if a not in entering[b]:
                entering[b].append(a)
            leaving[a].add(b)
    found: list[list[Step]] = [[] for _ in made.rows[1:]]
    for target, sources in entering.items():
        ordered = sorted(sources, key=lambda name: made.centres[name])
        for index, source in enumerate(ordered):
            start = made.centres[source]
            end = _port(made, target, index, len(ordered))
            if (
                len(ordered) == 1
                and target in made.real
                and abs(start - made.centres[target]) < made.widths[target] / 2 - 8
            ):
                end = start if made.real[target].shape not in ("sum", "product") else end
            if len(leaving[source]) == 1 and source in made.real and abs(end - start) < made.widths[source] / 2 - 8:
                start = end
            found[row_of[source]].append(Step(source, target, start, end))
    return found


def _port(made: Plan, target: str, index: int, of: int) -> float:
    centre = made.centres[target]
    if target not in made.real or of == 1:
        return centre
    if made.real[target].shape in ("sum", "product"):
        return centre + (index - (of - 1) / 2) * min(12.0 / max(of - 1, 1), 12.0)
    return centre + made.widths[target] * ((index + 1) / (of + 1) - 0.5)


def _tracks(gap: Sequence[Step]) -> dict[str, int]:
    """A height for the bend of each source."""
    bending = list(dict.fromkeys(step.source for step in gap if step.bends))
    bending.sort(key=lambda name: min(step.start for step in gap if step.source == name))
    return {name: index for index, name in enumerate(bending)}


def _gap_height(gap: Sequence[Step]) -> float:
    return max(LEAST_GAP, 13 + TRACK * len(_tracks(gap)))


def height(panel: Panel, width: float) -> float:
    """Height of the rows and the gaps between them. Units: pixels."""
    made = plan(panel, width)
    return sum(made.row_height(row) for row in range(len(made.rows))) + sum(map(_gap_height, steps(made)))


def draw(panel: Panel, box: Box, spare: float) -> tuple[list[Shape], list[Shape], list[Shape]]:
    """Lines, boxes and badges in a box; `spare` is spread over the gaps."""
    made = plan(panel, box.width)
    gaps = steps(made)
    extra = spare / max(len(gaps), 1)
    floors = [box.bottom]
    for row, gap in enumerate(gaps):
        floors.append(floors[-1] - made.row_height(row) - _gap_height(gap) - extra)
    places = _places(made, box.x, floors)
    boxes: list[Shape] = []
    badges: list[Shape] = []
    for name, place in places.items():
        if name in made.real:
            node = made.real[name]
            boxes.append(nodes.draw(node, place, PANEL))
            if node.badge is not None:
                badges.append(nodes.pill(node.badge, place.right + 6, place.y, place.width))
        elif name in made.texts:
            said = fit((made.texts[name], made.texts[name].partition(" ")[0]), place.width, SMALL, mono=True)
            boxes.append(Text(place.middle, place.bottom - 4, said, SMALL, "muted", anchor="middle", mono=True))
    return _lines(made, gaps, places, box.x), boxes, badges


def _places(made: Plan, left: float, floors: Sequence[float]) -> dict[str, Box]:
    found = {}
    for row, floor in zip(made.rows, floors, strict=True):
        high = max((nodes.height(made.real[name], PANEL) for name in row if name in made.real), default=0.0)
        for name in row:
            size = (
                nodes.height(made.real[name], PANEL) if name in made.real else TEXT_ROW if name in made.texts else high
            )
            bottom = floor - (high - size) / 2 if name in made.real else floor
            found[name] = Box(left + made.centres[name] - made.widths[name] / 2, bottom - size, made.widths[name], size)
    return found


def _lines(made: Plan, gaps: Sequence[Sequence[Step]], places: Mapping[str, Box], left: float) -> list[Shape]:
    """Every edge as one line with one head."""
    lines = {(step.source, step.target): (step, row) for row, gap in enumerate(gaps) for step in gap}
    bends = [_tracks(gap) for gap in gaps]
    shapes: list[Shape] = []
    for route in made.routes:
        points: list[tuple[float, float]] = []
        for source, target in zip(route.stops, route.stops[1:], strict=False):
            step, row = lines[source, target]
            start, end = left + step.start, left + step.end
            foot = max(places[name].bottom for name in made.rows[row + 1])
            roof = min(places[name].y for name in made.rows[row])
            if not points:
                points.append((start, places[source].y))
            if step.bends:
                turn = _turn(foot, roof, bends[row][source], len(bends[row]))
                points += [(start, turn), (end, turn)]
            points.append((end, _tip(made, target, places[target], end)))
        shapes += arrow(points, free=route.stops[-1] not in made.real)
    return shapes


def _turn(foot: float, roof: float, track: int, of: int) -> float:
    """The height of a bend in a gap; heads of arrows keep their room above it."""
    middle = (foot + 6 + roof) / 2
    return middle + (track - (of - 1) / 2) * TRACK


def _tip(made: Plan, target: str, place: Box, x: float) -> float:
    node = made.real.get(target)
    if node is None or node.shape not in ("sum", "product"):
        return place.bottom
    offset = min(abs(x - place.middle), ROUND)
    return place.centre + sqrt(ROUND * ROUND - offset * offset)
