"""The panel of any block that says how data flows through it: the wires are the block's own edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, Flow, Repeating, Weight
from archscope.blocks.latent_attention import LatentAttention
from archscope.blocks.leaves import Conv, Norm
from archscope.blocks.mlp import Mlp
from archscope.blocks.ssm import StateMixer
from archscope.costs.parameters import of_block
from archscope.render.compose.context import Context
from archscope.render.compose.grid import names, part_lines, stream
from archscope.render.compose.labels import activation, label, mechanism
from archscope.render.compose.places import Alternative
from archscope.render.compose.positions import rope_facts, rope_title
from archscope.render.compose.state import state_line
from archscope.render.figure import Cell, Input, Kind, Node, Panel, Shape, Wire, Words
from archscope.render.quantities import count

MOST_CELLS = 18
ENDS = ("in", "memory", "out")
CIRCLES: Mapping[str, Shape] = {"#mul": "product", "#gate": "product", "#sum": "sum", "#add": "sum"}
OPERATIONS: Mapping[str, str] = {
    "#attend": "Scaled dot-product attention",
    "#topk": "top-k positions",
    "#glu": "GLU",
    "#shift": "mix with the last token",
    "#concat": "side by side",
    "#joined": "side by side",
    "#convolve": "convolution",
    "#fourier": "Fourier transform",
    "#mix": "weighted sum of streams",
}
"""What operations are called; others by their own name."""


def key(block: Block) -> object | None:
    """Blocks with equal keys share a panel; None for a block that is all said by its name."""
    flows = block.flows()
    roles = {port.role for flow in flows for port in (flow.source, flow.target)} - set(ENDS)
    if not 2 <= len(roles) <= MOST_CELLS:
        return None
    sizes = tuple((part.name, part.role, part.in_width, part.out_width) for part in block.children())
    return (type(block).__name__, label(block).title, sizes, tuple(flow[:2] for flow in flows))


def panel(ctx: Context, groups: Sequence[tuple[str, Alternative]], pointer: str) -> Panel:
    """Parts and operations as boxes, edges as wires."""
    node_id, group = groups[0]
    block = group.uses[0].block
    maker = _Maker(ctx, node_id, block, pointer)
    named = label(block)
    return Panel(
        id=f"{node_id}#panel",
        kind=named.kind,
        title=named.title,
        subtitle=_subtitle(block, maker.undrawn()),
        cells=tuple(Cell(node, 0, 0) for node in maker.nodes.values()),
        wires=tuple(dict.fromkeys(maker.wires)),
        inputs=maker.inputs(),
        free=True,
        opens=tuple(name for name, _ in groups),
    )


def _subtitle(block: Block, undrawn: Sequence[str]) -> Words:
    facts = label(block).line[:1] if not isinstance(block, StateMixer) else ()
    said = [*facts, f"{count(of_block(block))} params / layer"]
    if isinstance(block, StateMixer):
        said.insert(0, "state of fixed size, no KV cache")
    if undrawn:
        said.append(f"also {', '.join(undrawn[:4])}" + (", …" if len(undrawn) > 4 else ""))
    return tuple(" · ".join(said[:n]) for n in range(len(said), 0, -1))


class _Maker:
    """The nodes of a block's ports, made when an edge names them."""

    def __init__(self, ctx: Context, prefix: str, block: Block, pointer: str) -> None:
        self.ctx = ctx
        self.prefix = prefix
        self.block = block
        self.pointer = pointer
        self.parts = {name: part for part in block.children() for name in (part.name, part.role) if name}
        self.nodes: dict[str, Node] = {}
        self.wires: list[Wire] = []
        self.entries: dict[str, list[str]] = {}
        for flow in block.flows():
            self._edge(flow)

    def _edge(self, flow: Flow) -> None:
        source, target = flow.source.role, flow.target.role
        if target in ("in", "memory") or source == "out" or source == target:
            return
        goal = "" if target == "out" else self._node(target)
        if source in ("in", "memory"):
            if goal:
                self.entries.setdefault(source, []).append(goal)
            return
        start = self._node(source)
        if flow.kind == "cache" and goal and isinstance(self.block, Attention | LatentAttention):
            cache = self._cache(source)
            self.wires += [Wire(start, cache), Wire(cache, goal)]
        else:
            self.wires.append(Wire(start, goal))

    def _cache(self, source: str) -> str:
        port = f"cache {source}"
        if port not in self.nodes:
            node_id = self.ctx.unique(f"{self.prefix}#cache_{source.lstrip('#')}")
            self.nodes[port] = Node(node_id, "cache", ("KV cache", "cache"), shape="cylinder")
        return self.nodes[port].id

    def _node(self, role: str) -> str:
        if role not in self.nodes:
            part = self.parts.get(role)
            self.nodes[role] = self._operation(role) if part is None else self._part(part)
        return self.nodes[role].id

    def _part(self, part: Block) -> Node:
        named = label(part)
        bar = isinstance(part, Norm)
        if isinstance(part, Conv):
            lines: tuple[Words, ...] = (named.line[-1:], (count(of_block(part)),))
        else:
            lines = () if bar else part_lines(part, wide=False)
        name = part.name or part.role
        return Node(
            id=self.ctx.unique(f"{self.prefix}.{name}"),
            kind="norm" if bar else label(self.block).kind,
            title=named.title if bar else names(name),
            lines=lines,
            mono=not bar,
            shape="bar" if bar else "block",
            origins=self.ctx.origins((part,), self.pointer),
            badge=self.ctx.badge(part),
        )

    def _operation(self, role: str) -> Node:
        node_id = self.ctx.unique(f"{self.prefix}{role if role.startswith('#') else f'#{role}'}")
        if role in CIRCLES:
            return Node(node_id, "op", (role,), shape=CIRCLES[role])
        plain = role.lstrip("#").replace("_", " ") or "operation"
        if role == "#rope" and isinstance(self.block, Attention) and self.block.rope is not None:
            title = rope_title(self.block.rope, self.block.head_dim)
            return Node(node_id, "op", title, rope_facts(self.ctx, self.block.rope, self.pointer))
        if role == "#scan" and isinstance(self.block, StateMixer):
            return Node(node_id, "ssm", (f"{mechanism(self.block)} recurrence", "recurrence"), state_line(self.block))
        if role == "#act":
            name = self.block.activation if isinstance(self.block, Mlp) else ""
            return Node(node_id, "op", (activation(name) or "activation",), shape="bar")
        kind: Kind = "attn" if role == "#attend" else "op"
        short = "attention" if role == "#attend" else plain
        return Node(node_id, kind, tuple(dict.fromkeys((OPERATIONS.get(role, plain), short))), shape="bar")

    def inputs(self) -> tuple[Input, ...]:
        """What comes in from below."""
        width = self.block.in_width
        memory = self.block.memory_width if isinstance(self.block, Attention) else None
        shown = {"in": stream(width), "memory": stream(memory, "memory", "S")}
        return tuple(Input(shown[name], tuple(dict.fromkeys(goals)), 0, 1) for name, goals in self.entries.items())

    def undrawn(self) -> tuple[str, ...]:
        """Modules that no edge names; bare tensors belong to an operation."""
        drawn = {id(self.parts[role]) for role in self.nodes if role in self.parts}
        return tuple(
            part.name
            for part in self.block.children()
            if id(part) not in drawn and part.name and not isinstance(part, Weight | Repeating)
        )
