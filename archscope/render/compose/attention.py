"""The panel of attention with query, key and value heads."""

from __future__ import annotations

from collections.abc import Sequence

from archscope.blocks.attention import Attention, Rope
from archscope.blocks.base import Block
from archscope.costs.kv_cache import element_bytes
from archscope.render.compose.context import Context
from archscope.render.compose.grid import Grid, at, stream
from archscope.render.compose.labels import label, scale
from archscope.render.compose.places import Alternative
from archscope.render.compose.positions import rope_facts, rope_title, rotary_scaling
from archscope.render.figure import Heads, Panel, Words
from archscope.render.quantities import in_bytes, plural, real, short_real, whole

DRAWN_ROLES = ("q", "k", "v", "qkv", "kv", "gq", "o", "q_norm", "k_norm", "v_norm", "gate", "norm", "sinks", "bias")
"""Roles that the grid has a place for; a block with others is drawn from its data flow."""
COLUMN = {"q": 0, "k": 1, "v": 2}


def key(block: Attention) -> object:
    """Attention blocks with equal keys share a panel: they differ in reach and positions only."""
    parts = tuple(
        (part.role, part.in_width, part.out_width) for part in block.parts if part.role not in ("bias", "sinks")
    )
    return ("attention", block.num_heads, block.num_kv_heads, block.head_dim, block.is_cross, parts)


def is_usual(block: Attention) -> bool:
    """Whether the grid has a place for everything in the block."""
    return type(block) is Attention and all(part.role in DRAWN_ROLES for part in block.parts)


def panel(ctx: Context, groups: Sequence[tuple[str, Alternative]], pointer: str) -> Panel:
    """The panel of one or more kinds of attention, each with the id of its node."""
    blocks = [block for _, group in groups for block in group.blocks if isinstance(block, Attention)]
    block = blocks[0]
    gate = block.find("gate")
    grid = Grid(ctx, groups[0][0], pointer, "attn", 4 if gate is not None else 3)
    ends = _projections(grid, block)
    if block.late_norm:
        ends = _norms(grid, block, _rope(ctx, grid, groups, blocks, ends, pointer))
    else:
        ends = _rope(ctx, grid, groups, blocks, _norms(grid, block, ends), pointer)
    ends = _caches(grid, block, ends)
    _product(grid, blocks, ends, gate)
    return Panel(
        id=f"{groups[0][0]}#panel",
        kind="attn",
        title=_title(blocks),
        subtitle=_subtitle(block),
        note=_note(ctx, blocks),
        columns=grid.columns,
        cells=tuple(grid.cells),
        wires=tuple(grid.wires),
        inputs=tuple(grid.inputs),
        opens=tuple(node_id for node_id, _ in groups),
    )


def _title(blocks: Sequence[Attention]) -> Words:
    titles = list(dict.fromkeys(label(block).title[0] for block in blocks))
    if len(titles) == 1:
        bare = all(block.position == "none" and not block.is_cross for block in blocks)
        return (f"{titles[0]}, no positional encoding", f"{titles[0]}, no RoPE", titles[0]) if bare else (titles[0],)
    return ("Attention, both kinds",) if len(titles) == 2 else ("Attention, all kinds",)


def _subtitle(block: Attention) -> Words:
    queries, shared = whole(block.num_heads), block.num_kv_heads
    if block.num_heads == shared:
        said = f"{plural(block.num_heads, 'head')} of width {whole(block.head_dim)}, each with its own keys and values"
    elif shared == 1:
        said = f"{queries} query heads share one key/value head"
    elif shared < 1 or block.num_heads % shared:
        said = f"{queries} query heads, {whole(shared)} key/value heads"
    else:
        said = f"{queries} query heads share {whole(shared)} key/value heads, {whole(block.num_heads // shared)} : 1"
    if block.find("k") is not None and block.find("v") is None:
        return (f"{said}; keys are the values, too", said)
    return (said,)


def _note(ctx: Context, blocks: Sequence[Attention]) -> Words:
    windows = [block.window or block.chunk or 0 for block in blocks]
    if any(windows):
        limited = "sliding" if any(block.window for block in blocks) else "chunked"
        said = f"{limited} layers keep at most {whole(max(windows))} tokens"
        return (said, f"at most {whole(max(windows))} tokens")
    width = max(block.cache_width for block in blocks)
    if not width:
        return ()
    size = in_bytes(width * element_bytes(ctx.structure.dtype))
    if any(block.is_cross for block in blocks):
        return (f"kept once: {size} per layer per memory token", f"kept once: {size}")
    only = "" if all(block.cache_width for block in blocks) else ", decoder only"
    return (f"KV cache {size} per layer per token{only}", f"KV cache {size}{only}")


def _projections(grid: Grid, block: Attention) -> dict[str, str]:
    """The bottom row; returns where each stream leaves it."""
    ends: dict[str, str] = {}
    own: list[str] = []
    foreign: list[str] = []
    for role, streams in (("qkv", "qkv"), ("q", "q"), ("gq", "q"), ("kv", "kv"), ("k", "k"), ("v", "v")):
        part = block.find(role)
        if part is None or any(one in ends for one in streams):
            continue
        title = f"{part.name} + gate" if role == "gq" else ""
        made = grid.part(part, COLUMN[streams[0]], len(streams), title=title)
        ends |= {one: at(made, COLUMN[one]) for one in streams}
        (foreign if block.is_cross and role not in ("q", "gq") else own).append(made)
    if block.reuses and "k" not in ends:
        said = f"keys and values of {block.reuses}"
        ends["reused"] = grid.op("reused", (said, "reused keys, values"), 1, 2, kind="cache")
    gate = block.find("gate")
    if gate is not None:
        ends["gate"] = grid.part(gate, 3)
        own.append(ends["gate"])
    if foreign and own:
        grid.enters(stream(block.in_width), *own, column=0, span=1)
        grid.enters(stream(block.memory_width, "memory", "S"), *foreign, column=1, span=2)
    elif foreign:
        grid.enters(stream(block.memory_width, "memory", "S"), *foreign)
    elif own:
        grid.enters(stream(block.in_width), *own)
    return ends


def _norms(grid: Grid, block: Attention, ends: dict[str, str]) -> dict[str, str]:
    found = {one: block.find(f"{one}_norm") for one in COLUMN if one in ends}
    if not any(found.values()):
        return ends
    grid.next_row()
    moved = dict(ends)
    for one, norm in found.items():
        if norm is not None:
            name = label(norm).title[0] if norm.in_width is not None else "Norm"
            per_head = norm.in_width is None or norm.in_width == block.head_dim
            title: Words = (f"{name} per head", "QK-norm") if per_head else (name, "QK-norm")
            made = grid.norm(norm, COLUMN[one], title=title)
            grid.wire(ends[one], made)
            moved[one] = made
    return moved


def _rope(
    ctx: Context,
    grid: Grid,
    groups: Sequence[tuple[str, Alternative]],
    blocks: Sequence[Attention],
    ends: dict[str, str],
    pointer: str,
) -> dict[str, str]:
    turned = [one for one in "qk" if one in ends]
    ropes = [block.rope for block in blocks if block.rope is not None]
    if not ropes or not turned:
        return ends
    grid.next_row()
    lines = _rope_lines(ctx, groups, ropes, pointer)
    made = grid.op("rope", rope_title(ropes[0], blocks[0].head_dim), 0, len(turned), lines=lines,
                   badge=ctx.badge(*blocks, part="rope"), origins=ctx.rope_origins(pointer))  # fmt: skip
    moved = dict(ends)
    for one in turned:
        grid.wire(ends[one], at(made, COLUMN[one]))
        moved[one] = at(made, COLUMN[one])
    return moved


def _rope_lines(
    ctx: Context, groups: Sequence[tuple[str, Alternative]], ropes: Sequence[Rope], pointer: str
) -> tuple[Words, ...]:
    bare = any(block.rope is None for _, group in groups for block in group.blocks if isinstance(block, Attention))
    if len(set(ropes)) == 1:
        return (*rope_facts(ctx, ropes[0], pointer), *((("not in layers without RoPE",),) if bare else ()))
    lines = []
    for _, group in groups:
        block = group.uses[0].block
        if isinstance(block, Attention) and block.rope is not None:
            theta = "" if block.rope.theta is None else f"θ = {short_real(block.rope.theta)}"
            said = ", ".join(filter(None, (theta, rotary_scaling(block.rope))))
            lines.append((f"{group.label.short} {said}", said))
    return tuple(dict.fromkeys(reversed(lines)))


def _caches(grid: Grid, block: Attention, ends: dict[str, str]) -> dict[str, str]:
    kept = [one for one in "kv" if one in ends]
    if not block.cache or not kept:
        return ends
    grid.next_row()
    moved = dict(ends)
    for one in kept:
        made = grid.op(f"cache_{one}", ("KV cache",), COLUMN[one], kind="cache", shape="cylinder")
        grid.wire(ends[one], made)
        moved[one] = made
    return moved


def _product(grid: Grid, blocks: Sequence[Attention], ends: dict[str, str], gate: Block | None) -> None:
    block = blocks[0]
    grid.next_row()
    glyph = Heads(int(block.num_heads), int(block.num_kv_heads))
    product = grid.op("attend", _product_title(blocks), 0, 3, kind="attn", lines=_product_lines(blocks), glyph=glyph)
    for one, column in COLUMN.items():
        if one in ends:
            grid.wire(ends[one], at(product, column))
    if "reused" in ends:
        grid.wire(ends["reused"], f"{product}@1.5")
    last = product
    if block.find("gq") is not None:
        grid.next_row()
        last = grid.op("gated", ("× sigmoid gate", "× gate"), 0.8, 1.4, shape="bar")
        grid.wire(product, last)
    if gate is not None:
        grid.next_row()
        last = grid.op("gated", ("×",), 1, shape="product")
        grid.wire(product, last)
        grid.wire(ends["gate"], last)
    for role in ("norm", "o"):
        part = block.find(role)
        if part is not None:
            grid.next_row()
            made = grid.part(part, 1.5 - grid.wide / 2, grid.wide)
            grid.wire(last, made)
            last = made
    grid.wire(last, "")


def _product_title(blocks: Sequence[Attention]) -> Words:
    block = blocks[0]
    causal = ", causal" if block.causal else "" if block.is_cross else ", bidirectional"
    if len({one.causal for one in blocks}) > 1:
        causal = ""
    factor = ""
    if block.scale is not None and block.head_dim and abs(block.scale - block.head_dim**-0.5) > 1e-9:
        factor = f", scale {scale(block.scale)}"
    base = "Scaled dot-product attention"
    return tuple(dict.fromkeys((f"{base}{causal}{factor}", f"{base}{factor}", f"{base}{causal}", base)))


def _product_lines(blocks: Sequence[Attention]) -> tuple[Words, ...]:
    block = blocks[0]
    said = []
    if block.softcap:
        said.append(f"scores capped at ±{real(block.softcap)}")
    if block.find("sinks") is not None:
        said.append("a learned sink per head")
    if any(one.position == "alibi" for one in blocks):
        said.append("ALiBi bias")
    if any(one.position == "relative" for one in blocks):
        said.append("relative-position bias")
    return ((" · ".join(said), said[0]),) if said else ()
