"""Modules fed from outside side by side, bundles without drawn wiring, and tables saved in pieces."""

from __future__ import annotations

from typing import ClassVar

from archscope.blocks.base import Block, Flow, Port, Weight, present, weight
from archscope.records import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Joined(Block):
    """Parts that each get an input of their own; what they give is put side by side, or summed where `summed`."""

    parts: tuple[Block, ...]
    width: int
    summed: bool = False

    def children(self) -> tuple[Block, ...]:
        return self.parts

    @property
    def in_width(self) -> int | None:
        return None

    @property
    def out_width(self) -> int | None:
        return self.width

    def flows(self) -> tuple[Flow, ...]:
        """Every part from "in" to the join."""
        join = "#sum" if self.summed else "#concat"
        flows: list[Flow] = []
        for part in self.parts:
            key = part.role or part.name
            flows.append(Flow(Port("in"), Port(key, part.in_width)))
            flows.append(Flow(Port(key, part.out_width), Port(join, self.width if self.summed else None)))
        flows.append(Flow(Port(join, self.width), Port("out")))
        return tuple(flows)


def side_by_side(width: int, *parts: Block, name: str = "", role: str = "joined") -> Joined:
    """Parts whose outputs make up `width` together."""
    return Joined(name=name, role=role, parts=parts, width=width)


def summed(width: int, *parts: Block, name: str = "", role: str = "joined") -> Joined:
    """Parts whose outputs of one width are added."""
    return Joined(name=name, role=role, parts=parts, width=width, summed=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class Bundle(Block):
    """Modules that work together in a way that no edges describe: convolutions over time, their scales and pools."""

    parts: tuple[Block, ...]

    def children(self) -> tuple[Block, ...]:
        return self.parts

    @property
    def in_width(self) -> int | None:
        return None

    @property
    def out_width(self) -> int | None:
        return None

    def flows(self) -> tuple[Flow, ...]:
        return ()


def bundle(name: str, *parts: Block | None, role: str = "") -> Bundle:
    """A bundle of the parts that are not None."""
    return Bundle(name=name, parts=present(*parts), role=role)


@dataclass(frozen=True, kw_only=True, slots=True)
class PiecedTable(Block):
    """One lookup table that is saved as several tensors, each with the next rows: `pieces` are (name, rows)."""

    component: ClassVar[str] = "embedding"

    pieces: tuple[tuple[str, int], ...]
    dim: int
    of: str = "token"

    def weights(self) -> tuple[Weight, ...]:
        return tuple(weight(name, rows, self.dim) for name, rows in self.pieces)

    @property
    def out_width(self) -> int | None:
        return self.dim

    def flows(self) -> tuple[Flow, ...]:
        return ()
