"""Building the grid of a panel: cells with nodes for parameters and operations, wires between them."""

from __future__ import annotations

from itertools import pairwise

from archscope.blocks.base import Block
from archscope.blocks.leaves import Linear, Norm
from archscope.costs.parameters import of_block
from archscope.render.compose.context import Context
from archscope.render.compose.labels import label
from archscope.render.figure import Badge, Cell, Glyph, Input, Kind, Node, Shape, Wire, Words
from archscope.render.quantities import count, whole

WIDE = 0.47
"""Share of the columns for a node that has the middle of a panel to itself."""


class Grid:
    """Cells of one panel while it is made. `prefix` is the id of the block that the panel opens."""

    def __init__(self, ctx: Context, prefix: str, pointer: str, kind: Kind, columns: int) -> None:
        self.ctx = ctx
        self.prefix = prefix
        self.pointer = pointer
        self.kind = kind
        self.columns = columns
        self.cells: list[Cell] = []
        self.wires: list[Wire] = []
        self.inputs: list[Input] = []
        self.row = 0

    def next_row(self) -> int:
        """Go on to the row above; returns its number."""
        self.row += 1
        return self.row

    def part(self, block: Block, column: float, span: float = 1, *, kind: Kind | None = None, title: str = "") -> str:
        """A module of the block: its parameter's name, its widths, its size; on one line where it is wide."""
        name = title or block.name or block.role or type(block).__name__
        if isinstance(block, Norm):
            return self.norm(block, column, span)
        lines = part_lines(block, wide=span * 3 > self.columns)
        node = Node(
            id=self.ctx.unique(f"{self.prefix}.{block.name or block.role}"),
            kind=kind or self.kind,
            title=names(name),
            lines=lines,
            mono=True,
            origins=self.ctx.origins((block,), self.pointer),
            badge=self.ctx.badge(block),
        )
        return self.put(node, column, span)

    def norm(self, block: Block, column: float, span: float = 1, *, title: Words = ()) -> str:
        """A normalisation as a bar."""
        said = title or (label(block).title if isinstance(block, Norm) else (block.name, "norm"))
        node = Node(self.ctx.unique(f"{self.prefix}.{block.name}"), "norm", said, shape="bar",
                    origins=self.ctx.origins((block,), self.pointer))  # fmt: skip
        return self.put(node, column, span)

    def op(
        self,
        name: str,
        title: Words,
        column: float,
        span: float = 1,
        *,
        kind: Kind = "op",
        lines: tuple[Words, ...] = (),
        shape: Shape = "block",
        glyph: Glyph | None = None,
        badge: Badge | None = None,
        origins: tuple[str, ...] = (),
        rows: int = 1,
    ) -> str:
        """An operation without parameters of its own."""
        node_id = self.ctx.unique(f"{self.prefix}#{name}")
        node = Node(node_id, kind, title, lines, shape=shape, glyph=glyph, badge=badge, origins=origins)
        return self.put(node, column, span, rows=rows)

    def put(self, node: Node, column: float, span: float = 1, *, rows: int = 1) -> str:
        """Place a node in the row that is being filled; returns its id."""
        self.cells.append(Cell(node, column, self.row, span, rows))
        return node.id

    @property
    def wide(self) -> float:
        """Columns of a node that has the middle of the panel to itself."""
        return self.columns * WIDE

    def wire(self, source: str, *targets: str) -> None:
        """Connect a source to each target, "" being the way out."""
        self.wires.extend(Wire(source, target) for target in targets)

    def chain(self, *ids: str) -> str:
        """Connect cells one after another; empty ids are left out. Returns the last one."""
        some = [one for one in ids if one]
        for source, target in pairwise(some):
            self.wire(source, target)
        return some[-1]

    def enters(self, text: str, *targets: str, column: float = 0, span: float | None = None) -> None:
        """What comes in from below."""
        self.inputs.append(Input(text, targets, column, self.columns if span is None else span))


def names(name: str) -> Words:
    """A parameter's name, then ever less of it."""
    steps = name.split(".")
    return tuple(dict.fromkeys((name, ".".join(steps[-2:]), steps[-1], steps[-1].removesuffix("_proj"))))


def part_lines(block: Block, *, wide: bool) -> tuple[Words, ...]:
    """Widths and size of a module; on one line where there is room."""
    shape, size = widths(block), count(of_block(block))
    ways = (shape, shape.partition(" ")[2]) if shape else ()
    biased = f"{size} with bias" if isinstance(block, Linear) and block.bias else size
    if wide and shape:
        return (tuple(dict.fromkeys((f"{shape} · {biased}", f"{shape} · {size}", shape))),)
    return tuple(filter(None, (ways, tuple(dict.fromkeys((biased, size))))))


def at(cell: str, column: int) -> str:
    """A port of a cell over one column of the grid."""
    return f"{cell}@{column}"


def widths(block: Block) -> str:
    """In and out width of a block, "" where it has none."""
    if block.in_width is None or block.out_width is None:
        return ""
    return f"{whole(block.in_width)} → {whole(block.out_width)}"


def stream(width: int | None, name: str = "x", length: str = "T") -> str:
    """A tensor of one vector a token."""
    return f"{name} [B, {length}, {whole(width)}]" if width is not None else name
