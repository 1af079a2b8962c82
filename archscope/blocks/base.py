"""The tree of blocks: what every block is, and how its tensors are named.

A block has a `name` relative to its parent (dots allowed, empty adds no segment), so that the path of a leaf is the name
of its tensor as saved on disk. Semantic blocks (attention, mlp, moe, ...) say what their parts mean through `role`.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import ClassVar, NamedTuple

from archscope.blocks.size import formula
from archscope.records import dataclass


class Port(NamedTuple):
    """One end of an edge inside a block: the role of a part, "in", "out", or an operation "#name"."""

    role: str
    width: int | None = None


class Flow(NamedTuple):
    """A data-flow edge inside a block.

    `kind` is "data", "residual" or "cache". Widths are the size of the last dimension that each end has by itself; where
    both are known they must be equal.
    """

    source: Port
    target: Port
    kind: str = "data"


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """One box of the structure.

    Attributes:
        name: path below the parent, as in the names of saved tensors.
        role: what the parent uses this block for ("q", "gate", "router", ...).
        fields: canonical config fields that decide its shape.
        tied_to: full name of the tensor or module whose weights this block uses; then it has none of its own on disk.
    """

    component: ClassVar[str] = ""
    """Which share of the parameter table claims everything inside ("" leaves it to the parts)."""

    name: str = ""
    role: str = ""
    fields: tuple[str, ...] = ()
    tied_to: str = ""

    def children(self) -> tuple[Block, ...]:
        """The parts, in the order of the data flow where there is one."""
        return ()

    def weights(self) -> tuple[Weight, ...]:
        """The tensors that belong to the block itself, not to its parts."""
        return ()

    def flows(self) -> tuple[Flow, ...]:
        """Data flow between the parts; by default a chain from "in" through every part to "out"."""
        return chain(self.children())

    @property
    def in_width(self) -> int | None:
        """Size of the last dimension of what comes in, None if the block takes any."""
        first = next((part for part in self.children() if not part.role.startswith("side")), None)
        return None if first is None else first.in_width

    @property
    def out_width(self) -> int | None:
        """Size of the last dimension of what goes out, None if it is that of the input."""
        for part in reversed(self.children()):
            if part.out_width is not None and not part.role.startswith("side"):
                return part.out_width
        return None

    def find(self, role: str) -> Block | None:
        """The first direct part with this role."""
        return next((part for part in self.children() if part.role == role), None)


@dataclass(frozen=True, kw_only=True, slots=True)
class Weight(Block):
    """One tensor.

    Shapes: as saved on disk. `parameter` is False for saved buffers, which count as tensors but not as parameters.
    """

    shape: tuple[int, ...]
    parameter: bool = True

    def weights(self) -> tuple[Weight, ...]:
        return (self,)

    def flows(self) -> tuple[Flow, ...]:
        return ()

    @property
    def numel(self) -> int:
        """Number of elements."""
        return prod(int(n) for n in self.shape)

    @property
    def formula(self) -> str:
        """The shape in symbols."""
        return formula(self.shape)


@dataclass(frozen=True, kw_only=True, slots=True)
class Group(Block):
    """A module that only holds others."""

    parts: tuple[Block, ...] = ()

    def children(self) -> tuple[Block, ...]:
        return self.parts


def weight(name: str, *shape: int, parameter: bool = True, role: str = "") -> Weight:
    """A bare tensor."""
    return Weight(name=name, shape=shape, parameter=parameter, role=role)


def group(name: str, *parts: Block | None, role: str = "") -> Group:
    """A module of the parts that are not None."""
    return Group(name=name, parts=present(*parts), role=role)


def present(*parts: Block | None) -> tuple[Block, ...]:
    """The parts that are not None."""
    return tuple(part for part in parts if part is not None)


def chain(parts: tuple[Block, ...]) -> tuple[Flow, ...]:
    """Edges from "in" through every part in order to "out"; parts whose role starts with "side" stand beside it."""
    flows: list[Flow] = []
    at = Port("in")
    for part in parts:
        if part.role.startswith("side"):
            continue
        key = part.role or part.name
        flows.append(Flow(at, Port(key, part.in_width)))
        at = Port(key, part.out_width if part.out_width is not None else at.width)
    if flows:
        flows.append(Flow(at, Port("out")))
    return tuple(flows)


def join(prefix: str, name: str) -> str:
    """Two path pieces with a dot between, if neither is empty."""
    return f"{prefix}.{name}" if prefix and name else prefix or name


class Repeating:
    """Mixin for a block that holds equal parts under consecutive numbers.

    `striped` is True where the number stands after the first segment of a part's names ("attentions.3.q"), not before.
    """

    __slots__ = ()
    striped: ClassVar[bool] = False

    def indexed(self) -> Iterator[tuple[str, Block]]:
        """Pairs of index prefix and part, one by one."""
        raise NotImplementedError

    def kinds(self) -> tuple[tuple[Block, int], ...]:
        """Each different part once, with how often it occurs."""
        raise NotImplementedError
