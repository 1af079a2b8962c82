"""What a figure says, before anything is placed: one model of it feeds every format.

`Words` are several ways to say one thing, the fullest first: a format takes the first that fits and keeps the fullest
for the tooltip. Ids are module paths with layer ranges where a node is a module.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from archscope.records import dataclass

Kind = Literal["emb", "attn", "swa", "ssm", "ffn", "moe", "moe2", "norm", "vis", "op", "io", "other", "cache"]
Shape = Literal["block", "bar", "pill", "cylinder", "sum", "product"]
Level = Literal["error", "warning", "info"]
Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Badge:
    """What was found about a block: the rule's name, or how many findings; `details` has a line for each."""

    level: Level
    label: str
    details: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Heads:
    """Query heads over the key/value heads that they share."""

    num_heads: int
    num_kv_heads: int


@dataclass(frozen=True, slots=True)
class HeadParts:
    """What one head of latent attention is made of: widths of the plain and the rotary part, and of the value."""

    num_heads: int
    plain: int
    rotary: int
    value: int


@dataclass(frozen=True, slots=True)
class ExpertGrid:
    """Experts with those that one token uses, in routing groups where there are any."""

    count: int
    active: int
    groups: int = 1
    top_groups: int = 1


Glyph = Heads | HeadParts | ExpertGrid


@dataclass(frozen=True, slots=True)
class Node:
    """One box.

    `suffix` stands behind the title in monospaced letters; `mono` says that the title is a parameter's name. `params`
    counts what all its occurrences hold, None where it holds nothing of its own. `origins` say where its numbers come
    from.
    """

    id: str
    kind: Kind
    title: Words
    lines: tuple[Words, ...] = ()
    suffix: str = ""
    mono: bool = False
    shape: Shape = "block"
    glyph: Glyph | None = None
    params: int | None = None
    origins: tuple[str, ...] = ()
    badge: Badge | None = None

    @property
    def name(self) -> str:
        """The title in full."""
        return self.title[0]


@dataclass(frozen=True, slots=True)
class Slot:
    """Several nodes in one place: in a given layer one of them, or all of them side by side.

    `chips` has a short text for each node: in which layers it stands.
    """

    id: str
    mode: Literal["one", "all"]
    caption: Words
    nodes: tuple[Node, ...]
    chips: tuple[str, ...]


Item = Node | Slot


@dataclass(frozen=True, slots=True)
class Step:
    """What is between a tap of the residual stream and its add; without both where `residual` is False.

    Items go along the flow: those before the branches, each branch, those after the add. `factor` is what the residual
    is multiplied by, "" for nothing; `apart` are the branches that are added elsewhere.
    """

    before: tuple[Item, ...]
    branches: tuple[tuple[Item, ...], ...]
    after: tuple[Item, ...]
    residual: bool = True
    factor: str = ""
    apart: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Frame:
    """Equal layers, drawn once. `where` names them where they are not the whole stack."""

    id: str
    label: str
    count: int
    steps: tuple[Step, ...]
    where: str = ""
    input_shape: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """One stack from what comes in (first) to what goes out (last)."""

    items: tuple[Node | Frame, ...]
    label: str = ""


@dataclass(frozen=True, slots=True)
class Crossing:
    """The output of the first column as the memory of a node in the second."""

    target: str
    label: str


@dataclass(frozen=True, slots=True)
class Cell:
    """A node in a panel's grid: column and span in columns from the left, row from the bottom.

    `rows` is how many rows it is centred over.
    """

    node: Node
    column: float
    row: int
    span: float = 1
    rows: int = 1


@dataclass(frozen=True, slots=True)
class Wire:
    """Data from one cell to another: ids, with "@column" where it does not leave or enter at the middle.

    Target "" is the way out of the panel.
    """

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Input:
    """What comes into a panel from below: its text, the cells that it goes to, and the columns it stands under."""

    text: str
    targets: tuple[str, ...]
    column: float
    span: float


@dataclass(frozen=True, slots=True)
class Panel:
    """A detail of one or several blocks of the stack.

    A grid has cells and wires; where it is `free`, the wires alone decide where the cells stand. A chain, in which
    everything follows from left to right, has `chain` alone. `opens` are the ids of the stack's nodes that it explains;
    `link` says how a chain is joined to the stack.
    """

    id: str
    kind: Kind
    title: Words
    subtitle: Words = ()
    note: Words = ()
    columns: int = 1
    cells: tuple[Cell, ...] = ()
    wires: tuple[Wire, ...] = ()
    inputs: tuple[Input, ...] = ()
    free: bool = False
    chain: tuple[tuple[Node, ...], ...] = ()
    opens: tuple[str, ...] = ()
    link: Literal["cone", "from_stack", "into_embedding", "none"] = "cone"
    badge: Badge | None = None


@dataclass(frozen=True, slots=True)
class Category:
    """One kind of layer in the pattern: its name, its colour and its form."""

    name: str
    kind: Kind
    form: Literal["full", "open", "low", "bars", "dots"]


@dataclass(frozen=True, slots=True)
class Row:
    """One property of every layer, by index into `categories`."""

    label: str
    categories: tuple[Category, ...]
    cells: tuple[int, ...]

    def counts(self) -> tuple[int, ...]:
        """How many layers each category has."""
        return tuple(self.cells.count(index) for index in range(len(self.categories)))


@dataclass(frozen=True, slots=True)
class Strip:
    """How the layers of one stack vary."""

    title: str
    text: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Segment:
    """A share of the parameters. Units: parameters."""

    name: str
    kind: Kind
    value: int


@dataclass(frozen=True, slots=True)
class Bar:
    """Parameters by component; the segments add up to `total`."""

    label: str
    total: int
    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class Chip:
    """A fact: of the header, or of what the model takes in memory. `origin` says where it comes from."""

    label: str
    value: str
    origin: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """A diagnostic as the list shows it."""

    level: Level
    rule: str
    message: str
    location: str


@dataclass(frozen=True, slots=True)
class Figure:
    """Everything that a figure of one model says.

    `remarks` are what a reader must know of how far it can be trusted. `memory` is what weights and cache take.
    """

    name: str
    model_class: str
    source: str
    chips: tuple[Chip, ...]
    columns: tuple[Column, ...]
    panels: tuple[Panel, ...]
    strips: tuple[Strip, ...]
    bars: tuple[Bar, ...]
    findings: tuple[Finding, ...]
    description: str
    crossings: tuple[Crossing, ...] = ()
    remarks: tuple[str, ...] = ()
    memory: tuple[Chip, ...] = ()

    def frames(self) -> Iterator[Frame]:
        """The frames of all columns."""
        for column in self.columns:
            yield from (item for item in column.items if isinstance(item, Frame))

    def stack_nodes(self) -> Iterator[Node]:
        """The nodes of all columns along the flow."""
        for column in self.columns:
            for item in column.items:
                yield from nodes_of(item)


def nodes_of(item: Item | Frame) -> Iterator[Node]:
    """The nodes in a part of a column, along the flow."""
    if isinstance(item, Node):
        yield item
    elif isinstance(item, Slot):
        yield from item.nodes
    else:
        for step in item.steps:
            for inner in (*step.before, *(i for branch in step.branches for i in branch), *step.after):
                yield from nodes_of(inner)
