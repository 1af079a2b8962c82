"""The panels of gated feed-forward blocks and of mixtures of experts."""

from __future__ import annotations

from collections.abc import Sequence

from archscope.blocks.mlp import Mlp
from archscope.blocks.moe import Moe, Router
from archscope.costs.parameters import of_block
from archscope.render.compose.context import Context
from archscope.render.compose.grid import Grid, at, stream
from archscope.render.compose.labels import activation, feed_forward_name, label
from archscope.render.compose.places import Alternative
from archscope.render.figure import ExpertGrid, Panel, Words
from archscope.render.quantities import count, plural, real, whole


def key(block: Mlp) -> object | None:
    """Blocks with equal keys share a panel; a plain block needs none."""
    if not block.gated or not is_usual(block):
        return None
    return ("mlp", block.activation, tuple((part.role, part.in_width, part.out_width) for part in block.parts))


def is_usual(block: Mlp) -> bool:
    """Whether the block is gate, up and down, and at most a norm."""
    return type(block) is Mlp and all(part.role in ("gate", "up", "gate_up", "norm", "down") for part in block.parts)


def panel(ctx: Context, groups: Sequence[tuple[str, Alternative]], pointer: str) -> Panel:
    """Gate and up, their product, down."""
    block = groups[0][1].uses[0].block
    assert isinstance(block, Mlp)
    grid = Grid(ctx, groups[0][0], pointer, "ffn", 2)
    fused, gate, up = (block.find(role) for role in ("gate_up", "gate", "up"))
    left = right = ""
    if fused is not None:
        made = grid.part(fused, 0, 2)
        left, right = at(made, 0), at(made, 1)
        grid.enters(stream(block.in_width), made)
    else:
        left = grid.part(gate, 0) if gate is not None else ""
        right = grid.part(up, 1) if up is not None else ""
        grid.enters(stream(block.in_width), *filter(None, (left, right)))
    grid.next_row()
    act = grid.op("act", (activation(block.activation) or "activation",), 0.27, 0.46, shape="bar")
    grid.next_row()
    product = grid.op("mul", ("×",), 0.5, 1, shape="product")
    grid.chain(left, act, product)
    if right:
        grid.wire(right, product)
    last = product
    for role in ("norm", "down"):
        part = block.find(role)
        if part is not None:
            grid.next_row()
            made = grid.part(part, (grid.columns - grid.wide) / 2, grid.wide)
            grid.wire(last, made)
            last = made
    grid.wire(last, "")
    return Panel(
        id=f"{groups[0][0]}#panel",
        kind="ffn",
        title=label(block).title,
        columns=2,
        cells=tuple(grid.cells),
        wires=tuple(grid.wires),
        inputs=tuple(grid.inputs),
        opens=tuple(node_id for node_id, _ in groups),
    )


# Mixture of experts


def moe_key(block: Moe) -> object:
    """Blocks with equal keys share a panel."""
    experts, router = block.experts, block.router
    shared = None if block.shared is None else (block.shared.width, block.num_shared)
    return ("moe", experts.count, experts.active, experts.width, router.scoring, router.groups, shared)


def moe_panel(ctx: Context, groups: Sequence[tuple[str, Alternative]], pointer: str) -> Panel:
    """Router, grid of experts, the shared one beside them, and their sum."""
    block = groups[0][1].uses[0].block
    assert isinstance(block, Moe)
    span = 2 if block.shared is not None else 3
    grid = Grid(ctx, groups[0][0], pointer, "moe", 3)
    router = grid.op("router", ("Router",), 0, span, kind="moe", lines=_router_lines(block.router),
                     badge=ctx.badge(block.router))  # fmt: skip
    shared = _shared(ctx, grid, block)
    grid.enters(stream(block.in_width), *filter(None, (router, shared)))
    grid.next_row()
    experts = _experts(grid, block, span)
    grid.wire(router, experts)
    last = experts
    if shared:
        grid.next_row()
        last = grid.op("sum", ("+",), 1, shape="sum")
        grid.wire(experts, last)
        grid.wire(shared, last)
    grid.wire(last, "")
    return Panel(
        id=f"{groups[0][0]}#panel",
        kind="moe",
        title=("Mixture of experts",),
        subtitle=_subtitle(block),
        columns=3,
        cells=tuple(grid.cells),
        wires=tuple(grid.wires),
        inputs=tuple(grid.inputs),
        opens=tuple(node_id for node_id, _ in groups),
    )


def _subtitle(block: Moe) -> Words:
    said = f"{plural(block.experts.count, 'routed expert')}, {whole(block.router.top_k)} active"
    if block.shared is None:
        return (said,)
    gated = " gated" if block.shared_gate is not None else ""
    return (f"{said}, {whole(block.num_shared or 1)}{gated} shared", said)


def _router_lines(router: Router) -> tuple[Words, ...]:
    scoring: str = "" if router.scoring == "none" else router.scoring
    scoring += " + bias" if router.bias_corrected else ""
    choice = f"top-{whole(router.top_k)}"
    if router.groups > 1:
        choice = f"{whole(router.top_groups)} of {whole(router.groups)} groups, then {choice}"
    rest = ["normalised"] if router.normalised else []
    if router.scale != 1:
        rest.append(f"scale {real(router.scale)}")
    rest.append(count(of_block(router)))
    first = " · ".join(filter(None, (scoring, choice)))
    whole_line = " · ".join((first, *rest))
    if router.groups > 1 or len(rest) > 2:
        return ((first, choice), (" · ".join(rest), rest[-1]))
    return ((whole_line, first, choice),)


def _experts(grid: Grid, block: Moe, span: float) -> str:
    experts, router = block.experts, block.router
    name = feed_forward_name(experts.gated, experts.activation)
    shape = f"{whole(experts.hidden)} → {whole(experts.width)}"
    each = of_block(experts) // max(experts.count, 1)
    said = f"Routed experts, {name} {shape}" if name else f"Routed experts, {shape}"
    glyph = ExpertGrid(int(experts.count), int(experts.active), int(router.groups), int(router.top_groups))
    lines: tuple[Words, ...] = ((f"{count(each)} each",),)
    return grid.op(
        "experts",
        (said, f"Routed experts, {shape}", f"Experts, {shape}", "Experts"),
        0,
        span,
        kind="moe",
        lines=lines,
        glyph=glyph,
    )


def _shared(ctx: Context, grid: Grid, block: Moe) -> str:
    if block.shared is None:
        return ""
    shared = block.shared
    name = feed_forward_name(shared.gated, shared.activation)
    shape = f"{whole(shared.hidden)} → {whole(shared.width)}"
    several = block.num_shared > 1
    lines: list[Words] = [(name,)] if name else []
    lines.append((shape,))
    if block.shared_gate is not None:
        lines.append(("sigmoid gate",))
    lines.append((count(of_block(shared)),))
    title = (
        (f"{block.num_shared} shared experts", "Shared experts", "Shared") if several else ("Shared expert", "Shared")
    )
    return grid.op("shared", title, 2, kind="moe", lines=tuple(lines), badge=ctx.badge(shared), rows=2)
