"""The structure lowered to a typed graph: pydantic nodes and edges, networkx underneath."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import networkx
from pydantic import BaseModel, ConfigDict

from archscope.blocks.assembly import Run, Stack, Tower
from archscope.blocks.base import Block, Flow, Port, Repeating, Weight, join
from archscope.blocks.size import formula
from archscope.structure.placed import ranges

if TYPE_CHECKING:
    from archscope.structure.structure import Structure

Scalar = bool | int | float | str
EdgeKind = Literal["data", "residual", "cache", "tie", "repeat"]


class Frozen(BaseModel):
    """Base of the graph's types."""

    model_config = ConfigDict(frozen=True)


class TensorRow(Frozen):
    """One tensor of a node, named below it."""

    name: str
    shape: tuple[int, ...]
    formula: str
    parameter: bool


class FieldRef(Frozen):
    """A config field that decides a node's shape, with where its value comes from."""

    name: str
    value: Scalar | None
    origin: str
    pointer: str


class Node(Frozen):
    """One block, operation or port.

    `id` is the module path with layer ranges; operations and ports add "#name". `count` is how many equal ones it stands
    for; `parent` the id of the block around it.
    """

    id: str
    kind: str
    parent: str
    count: int
    attributes: dict[str, Scalar]
    tensors: tuple[TensorRow, ...]
    fields: tuple[FieldRef, ...]


class Edge(Frozen):
    """Data from one node to another; `width` is the size of the last dimension where it is known."""

    source: str
    target: str
    kind: EdgeKind
    width: int | None
    matches: bool


class StructureGraph(Frozen):
    """All nodes and edges of one model."""

    version: Literal[1] = 1
    model_type: str
    model_class: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]

    def to_networkx(self) -> networkx.MultiDiGraph[str]:
        """A networkx graph whose nodes carry `node` and whose edges carry `edge`."""
        graph: networkx.MultiDiGraph[str] = networkx.MultiDiGraph()
        for node in self.nodes:
            graph.add_node(node.id, node=node)
        for edge in self.edges:
            graph.add_edge(edge.source, edge.target, key=edge.kind, edge=edge)
        return graph


def lower(structure: Structure) -> StructureGraph:
    """The graph of a structure: one node per block and layer range, operations and ports between them."""
    maker = _Lowering(structure)
    for part in structure.architecture.parts:
        maker.block(part, "", "", 1, "")
    maker.towers()
    return StructureGraph(
        model_type=structure.config.model_type,
        model_class=structure.config.model_class,
        nodes=tuple(maker.nodes.values()),
        edges=tuple(maker.edges),
    )


class _Lowering:
    def __init__(self, structure: Structure) -> None:
        self.structure = structure
        self.nodes: dict[str, Node] = {}
        self.edges: list[Edge] = []

    def block(self, block: Block, prefix: str, parent: str, count: int, pointer: str) -> str:
        """Add a block with everything in it; returns its id."""
        path = join(prefix, block.name)
        pointer = block.pointer if isinstance(block, Tower) else pointer
        node_id = path or type(block).__name__.lower()
        node_id = self._unused(node_id, type(block).__name__.lower())
        own = () if isinstance(block, Weight) and not block.name else block.weights()
        self.nodes[node_id] = Node(
            id=node_id,
            kind=type(block).__name__,
            parent=parent,
            count=count,
            attributes=_attributes(block),
            tensors=tuple(
                TensorRow(
                    name="" if own_weight is block else own_weight.name,
                    shape=tuple(map(int, own_weight.shape)),
                    formula=formula(own_weight.shape),
                    parameter=own_weight.parameter,
                )
                for own_weight in own
            ),
            fields=tuple(self._fields(block, pointer)),
        )
        if isinstance(block, Stack):
            self._runs(block, path, node_id, count, pointer)
        elif not isinstance(block, Weight):
            self._parts(block, path, node_id, count, pointer)
        return node_id

    def _unused(self, node_id: str, kind: str) -> str:
        """An id of its own for a block without a path segment."""
        if node_id not in self.nodes:
            return node_id
        ids = (f"{node_id}#{kind}{'' if number == 1 else number}" for number in itertools.count(1))
        return next(found for found in ids if found not in self.nodes)

    def _parts(self, block: Block, path: str, node_id: str, count: int, pointer: str) -> None:
        ids: dict[str, str] = {}
        if isinstance(block, Repeating):
            for part, times in block.kinds():
                start = join(path, ranges(tuple(range(times)))) if times > 1 else path
                self.block(part, start, node_id, count * times, pointer)
            return
        for part in block.children():
            made = self.block(part, path, node_id, count, pointer)
            for key in (part.name, part.role):
                if key:
                    ids.setdefault(key, made)
        for flow in block.flows():
            self._edge(flow, node_id, ids, count)

    def _runs(self, block: Stack, path: str, node_id: str, count: int, pointer: str) -> None:
        """A node per place in each run's pattern, chained; a repeated pattern leads back to its start."""
        last = self._op(node_id, "in", count)
        for run in block.runs:
            made = [
                self.block(layer, join(path, _numbers(run, place)), node_id, count * run.repeats, pointer)
                for place, layer in enumerate(run.pattern)
            ]
            for this in made:
                self._add(last, self._op(this, "in", count * run.repeats), "data", block.in_width, True)
                last = self._op(this, "out", count * run.repeats)
            if run.repeats > 1:
                self._add(last, self._op(made[0], "in", count * run.repeats), "repeat", block.in_width, True)
        self._add(last, self._op(node_id, "out", count), "data", block.out_width, True)

    def _edge(self, flow: Flow, parent: str, ids: dict[str, str], count: int) -> None:
        source = self._end(flow.source, parent, ids, count, "out")
        target = self._end(flow.target, parent, ids, count, "in")
        known = flow.source.width if flow.source.width is not None else flow.target.width
        matches = flow.source.width == flow.target.width or None in (flow.source.width, flow.target.width)
        self._add(source, target, _edge_kind(flow.kind), known, matches)

    def _end(self, port: Port, parent: str, ids: dict[str, str], count: int, side: str) -> str:
        if port.role in ids:
            made = ids[port.role]
            inner = f"{made}#{side}"
            return inner if inner in self.nodes else made
        return self._op(parent, port.role.lstrip("#"), count)

    def _op(self, parent: str, name: str, count: int) -> str:
        op_id = f"{parent}#{name}"
        if op_id not in self.nodes:
            self.nodes[op_id] = Node(
                id=op_id, kind="Operation", parent=parent, count=count, attributes={}, tensors=(), fields=()
            )
        return op_id

    def _add(self, source: str, target: str, kind: EdgeKind, width: int | None, matches: bool) -> None:
        plain = None if width is None else int(width)
        self.edges.append(Edge(source=source, target=target, kind=kind, width=plain, matches=matches))

    def towers(self) -> None:
        """Edges between the parts of the whole, and ties."""
        ends = [node for node in self.nodes.values() if not node.parent]
        for before, after in pairwise(ends):
            self._add(self._side(before.id, "out"), self._side(after.id, "in"), "data", None, True)
        for name, saved in self.structure.ties:
            source, target = saved.removesuffix(".weight"), name.removesuffix(".weight")
            if source in self.nodes and target in self.nodes:
                self._add(source, target, "tie", None, True)

    def _side(self, node_id: str, side: str) -> str:
        inner = f"{node_id}#{side}"
        return inner if inner in self.nodes else node_id

    def _fields(self, block: Block, pointer: str) -> Iterator[FieldRef]:
        config = self.structure.config.at(pointer)
        for name in block.fields:
            if name in config:
                origin = config.origin(name)
                value = config.get(name)
                shown = value if isinstance(value, bool | int | float | str) or value is None else str(value)
                yield FieldRef(name=name, value=shown, origin=origin.kind, pointer=origin.pointer)


def _edge_kind(kind: str) -> EdgeKind:
    return "residual" if kind == "residual" else "cache" if kind == "cache" else "data"


def _numbers(run: Run, place: int) -> str:
    step = len(run.pattern)
    numbers = tuple(range(run.first + place, run.last + 1, step))
    return ranges(numbers) if len(numbers) != 2 or step == 1 else f"{numbers[0]}-{numbers[-1]}:{step}"


def _attributes(block: Block) -> dict[str, Scalar]:
    """The plain values of a block's own fields."""
    skipped = {"name", "fields", "tied_to", "parts"}
    found: dict[str, Scalar] = {}
    for field in dataclasses.fields(block):
        value = getattr(block, field.name)
        if field.name in skipped or value is None or value == "":
            continue
        if isinstance(value, bool | float | str):
            found[field.name] = value
        elif isinstance(value, int):
            found[field.name] = int(value)
    if block.tied_to:
        found["tied_to"] = block.tied_to
    return found
