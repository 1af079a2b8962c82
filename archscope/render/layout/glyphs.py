"""Small pictures inside boxes: heads, parts of a head, experts.

Equal pieces are one path, so that a grid of a thousand cells stays a line of text.
"""

from __future__ import annotations

from collections.abc import Sequence

from archscope.render.figure import ExpertGrid, Glyph, HeadParts, Heads
from archscope.render.layout.lines import Point, number
from archscope.render.layout.scene import Box, Paint, Path, Rect, Shape, Text
from archscope.render.quantities import plural, whole
from archscope.render.theme import stroke
from archscope.render.widths import cut, width

SMALL = 11.0
MOST_CELLS = 1024
ROW = 18.0
MARGIN = 14.0


def height(glyph: Glyph) -> float:
    """How high a glyph is, with the space under it. Units: pixels."""
    if isinstance(glyph, Heads):
        return 42.0
    if isinstance(glyph, HeadParts):
        return 3 * ROW + 8
    pitch, _, rows = _grid(glyph)
    return rows * pitch + (18 if glyph.count > MOST_CELLS else 8)


def draw(glyph: Glyph, box: Box, kind: str) -> tuple[Shape, ...]:
    """The glyph in the middle of its box."""
    if isinstance(glyph, Heads):
        return _heads(glyph, box)
    if isinstance(glyph, HeadParts):
        return _parts(glyph, box)
    return _experts(glyph, box, kind)


# Heads

SQUARES = (9.0, 8.0, 7.0, 6.0, 5.0, 4.0)


def _heads(glyph: Heads, box: Box) -> tuple[Shape, ...]:
    """Query squares over the key/value bar that they share; the middle is left out where not all fit."""
    labels = (f"{whole(glyph.num_heads)} Q", f"{whole(glyph.num_kv_heads)} KV")
    column = max(width(said, SMALL) for said in labels) + 16
    left, room = box.x + MARGIN, box.width - 2 * MARGIN - column
    texts = tuple(
        Text(left + column - 12, box.y + 9 + 19.5 * row, said, SMALL, anchor="end") for row, said in enumerate(labels)
    )
    groups = _group_sizes(glyph)
    size, shown = _fitting(groups, room)
    bars: list[str] = []
    squares: list[Point] = []
    joints: list[str] = []
    dots: list[Shape] = []
    gap, between = _gaps(size)
    total = _extent([groups[index] for index in shown if index >= 0], size) + (22 if -1 in shown else 0)
    x = left + column + max(0.0, (room - total) / 2)
    for index in shown:
        if index < 0:
            dots.append(Text(x + 8, box.y + 9, "…", SMALL, anchor="middle"))
            dots.append(Text(x + 8, box.y + 28.5, "…", SMALL, anchor="middle"))
            x += 22
            continue
        drawn, cut_off = _squares_that_fit(groups[index], size, room)
        length = max(drawn * (size + gap) - gap, size)
        for place in range(drawn):
            if cut_off and place == drawn - 2:
                dots.append(Text(x + place * (size + gap) + size / 2, box.y + 9, "…", SMALL, anchor="middle"))
                continue
            squares.append((x + place * (size + gap) + 0.5, box.y + 0.5))
        joints.append(f"M{number(x + length / 2)} {number(box.y + 10)}v9")
        bars.append(f"M{number(x)} {number(box.y + 19.5)}h{number(length)}v10h{number(-length)}z")
        x += length + between
    ink = stroke("attn")
    return (
        *texts,
        Path("".join(joints), Paint(stroke=ink, width=1)),
        Path(_squares(squares, size - 1), Paint("page", ink, 1.1)),
        Path("".join(bars), Paint(ink)),
        *dots,
    )


def _squares(corners: Sequence[Point], size: float) -> str:
    """Many equal squares as one path, each placed from the one before: that is the shortest way to write them."""
    side = number(size)
    data: list[str] = []
    x = y = 0.0
    for corner_x, corner_y in corners:
        step_x, step_y = round(corner_x - x, 1), round(corner_y - y, 1)
        data.append(f"{'m' if data else 'M'}{number(step_x)} {number(step_y)}h{side}v{side}h-{side}z")
        x, y = x + step_x, y + step_y
    return "".join(data)


def _group_sizes(glyph: Heads) -> list[int]:
    """Query heads of each key/value head, as even as they come."""
    shared = max(1, min(glyph.num_kv_heads, 4096))
    base, over = divmod(max(glyph.num_heads, shared), shared)
    return [base + (index < over) for index in range(shared)]


def _gaps(size: float) -> tuple[float, float]:
    return (1.5, 6.0) if size > 6 else (1.0, 4.0)


def _extent(groups: Sequence[int], size: float) -> float:
    gap, between = _gaps(size)
    return sum(max(number_of * (size + gap) - gap, size) + between for number_of in groups) - (between if groups else 0)


def _fitting(groups: Sequence[int], room: float) -> tuple[float, list[int]]:
    """The largest squares with which all groups fit; else small ones, and which groups to show (-1: some left out)."""
    everything = list(range(len(groups)))
    for size in SQUARES:
        if _extent(groups, size) <= room:
            return size, everything
    size = 7.0 if len(groups) > 1 and groups[0] == 1 else SQUARES[-1]
    first = 0
    while first + 2 < len(groups) and _extent((*groups[: first + 1], groups[-1]), size) + 28 <= room:
        first += 1
    if first == 0 or len(groups) < 2:
        return size, [0]
    return size, [*range(first), -1, len(groups) - 1]


def _squares_that_fit(number_of: int, size: float, room: float) -> tuple[int, bool]:
    gap, _ = _gaps(size)
    most = max(3, int((room + gap) // (size + gap)))
    return (number_of, False) if number_of <= most else (most, True)


# Latent attention


def _parts(glyph: HeadParts, box: Box) -> tuple[Shape, ...]:
    """Widths of one head: what turns with the position is dashed."""
    rows = (
        ("query head", ((glyph.plain, "nope", False), (glyph.rotary, "rope", True))),
        ("key head", ((glyph.plain, "nope", False), (glyph.rotary, "rope, shared", True))),
        ("value head", ((glyph.value, "value", False),)),
    )
    times = cut(f"× {plural(glyph.num_heads, 'head')}", 96, SMALL, bold=True)
    tail = width(times, SMALL, bold=True) + 8
    column = 74.0
    left = box.x + MARGIN + column
    room = box.width - 2 * MARGIN - column - tail
    longest = max(glyph.plain + glyph.rotary, glyph.value, 1)
    unit = room / longest
    shapes: list[Shape] = [Text(box.right - MARGIN + 4, box.y + 1.5 * ROW + 3, times, SMALL, anchor="end", bold=True)]
    for row, (name, pieces) in enumerate(rows):
        y = box.y + row * ROW
        shapes.append(Text(left - 8, y + 11, name, SMALL, anchor="end"))
        x = left
        for number_of, said, dashed in pieces:
            if not number_of:
                continue
            length = max(number_of * unit - 1.5, 2.0)
            place = Box(x, y, length, 15)
            shapes.append(Rect(place, Paint("page", stroke("attn"), 1.2, "3 2" if dashed else ""), 2))
            text = _in_bar(number_of, said, length)
            if text:
                shapes.append(Text(place.middle, y + 11.3, text, SMALL, anchor="middle"))
            x += number_of * unit
    return tuple(shapes)


def _in_bar(number_of: int, said: str, length: float) -> str:
    for text in (f"{whole(number_of)} {said}", f"{whole(number_of)} {said.partition(',')[0]}", whole(number_of)):
        if width(text, SMALL) <= length - 3:
            return text
    return ""


# Experts


def _grid(glyph: ExpertGrid) -> tuple[float, int, int]:
    """Pitch, columns and rows of the grid."""
    count = max(0, min(glyph.count, MOST_CELLS))
    pitch = 20.0 if count <= 16 else 13.0 if count <= 64 else 10.0 if count <= 128 else 7.0
    if _grouped(glyph):
        per_group = -(-count // glyph.groups)
        return 7.0 if count > 64 else 10.0, 4, -(-per_group // 4)
    columns = min(count, 8 if count <= 16 else 16 if count <= 128 else 32) or 1
    return pitch, columns, -(-count // columns)


def _grouped(glyph: ExpertGrid) -> bool:
    return 1 < glyph.groups <= 8 and glyph.count % glyph.groups == 0 and glyph.count <= MOST_CELLS


def _experts(glyph: ExpertGrid, box: Box, kind: str) -> tuple[Shape, ...]:
    pitch, columns, rows = _grid(glyph)
    count = max(0, min(glyph.count, MOST_CELLS))
    cell = pitch * 0.8
    blocks = glyph.groups if _grouped(glyph) else 1
    between = pitch * 0.6 if blocks > 1 else 0.0
    block_width = columns * pitch + between
    left = box.middle - (blocks * block_width - between - (pitch - cell)) / 2
    per_block = count // blocks if blocks > 1 else count
    chosen = active_cells(glyph)
    off: list[Point] = []
    on: list[Point] = []
    for index in range(count):
        block, place = divmod(index, per_block) if blocks > 1 else (0, index)
        row, column = divmod(place, columns)
        corner = (left + block * block_width + column * pitch, box.y + row * pitch)
        (on if index in chosen else off).append(corner)
    shapes: list[Shape] = []
    if off:
        shapes.append(Path(_squares(off, cell), Paint("page", stroke(kind), 0.8)))
    if on:
        shapes.append(Path(_squares(on, cell), Paint(stroke(kind), stroke(kind), 0.8)))
    if glyph.count > MOST_CELLS:
        said = f"{whole(MOST_CELLS)} of {whole(glyph.count)} drawn"
        shapes.append(Text(box.middle, box.y + rows * pitch + 9, said, SMALL, anchor="middle"))
    return tuple(shapes)


def active_cells(glyph: ExpertGrid) -> frozenset[int]:
    """Which experts are shown as active: a fixed choice that looks like one, within the groups that may be chosen."""
    count = max(0, min(glyph.count, MOST_CELLS))
    wanted = max(0, min(glyph.active, count))
    if _grouped(glyph):
        size = count // glyph.groups
        groups = [(3 * index + 1) % glyph.groups for index in range(glyph.groups)]
        kept = sorted(set(groups[: max(1, min(glyph.top_groups, glyph.groups))]))
        allowed = [group * size + place for group in kept for place in range(size)]
    else:
        allowed = list(range(count))
    chosen: set[int] = set()
    state = 7 * count + 11
    while len(chosen) < min(wanted, len(allowed)):
        # A small linear congruential generator: the same on every machine.
        state = (1103515245 * state + 12345) % 2**31
        chosen.add(allowed[(state >> 8) % len(allowed)])
    return frozenset(chosen)
