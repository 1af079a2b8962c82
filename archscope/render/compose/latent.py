"""The panel of multi-head latent attention."""

from __future__ import annotations

from collections.abc import Sequence

from archscope.blocks.base import Block
from archscope.blocks.indexer import SparseIndexer
from archscope.blocks.latent_attention import LatentAttention
from archscope.costs.kv_cache import element_bytes
from archscope.render.compose.context import Context
from archscope.render.compose.grid import Grid, at, stream
from archscope.render.compose.labels import label
from archscope.render.compose.places import Alternative
from archscope.render.compose.positions import rope_facts, rotary, rotary_scaling
from archscope.render.figure import HeadParts, Panel, Words
from archscope.render.quantities import in_bytes, plural, whole

DRAWN_ROLES = ("q", "q_a", "q_a_norm", "q_b", "kv_a", "kv_a_norm", "kv_b", "k_rope_norm", "indexer", "gate", "o")


def key(block: LatentAttention) -> object:
    """Blocks with equal keys share a panel."""
    parts = tuple((part.role, part.in_width, part.out_width) for part in block.parts)
    return ("latent", block.num_heads, block.nope_dim, block.rope_dim, block.v_head_dim, parts)


def is_usual(block: LatentAttention) -> bool:
    """Whether the grid has a place for everything in the block."""
    return type(block) is LatentAttention and all(part.role in DRAWN_ROLES for part in block.parts)


def panel(ctx: Context, groups: Sequence[tuple[str, Alternative]], pointer: str) -> Panel:
    """Queries on the left, the latent in the middle, the rotary key that all heads share on the right."""
    blocks = [block for _, group in groups for block in group.blocks if isinstance(block, LatentAttention)]
    block = blocks[0]
    grid = Grid(ctx, groups[0][0], pointer, "attn", 4 if _side(block) is not None else 3)
    ends = _first_row(grid, block)
    _second_row(ctx, grid, blocks, ends, pointer)
    _cache_row(grid, block, ends)
    _expansion(grid, block, ends)
    _product(grid, block, ends)
    size = in_bytes(block.cache_width * element_bytes(ctx.structure.dtype))
    return Panel(
        id=f"{groups[0][0]}#panel",
        kind="attn",
        title=label(block).title,
        subtitle=_subtitle(block),
        note=(f"cache {size} per layer per token", f"cache {size}"),
        columns=grid.columns,
        cells=tuple(grid.cells),
        wires=tuple(grid.wires),
        inputs=tuple(grid.inputs),
        opens=tuple(node_id for node_id, _ in groups),
    )


def _subtitle(block: LatentAttention) -> Words:
    kept = f"caches {whole(block.kv_rank)} + {whole(block.rope_dim)} values per layer"
    said = f"{kept} instead of {whole(block.expanded_cache_width)}"
    return (said, kept)


def _first_row(grid: Grid, block: LatentAttention) -> dict[str, str]:
    ends: dict[str, str] = {}
    query = block.find("q_a") or block.find("q")
    if query is not None:
        ends["query"] = grid.part(query, 0)
    latent = block.find("kv_a")
    if latent is not None:
        made = grid.part(latent, 1, 2)
        ends["latent"], ends["rotary"] = at(made, 1), at(made, 2)
    side = _side(block)
    if side is not None:
        ends["side"] = _side_cell(grid, side)
    entered = [end.partition("@")[0] for end in dict.fromkeys(end.partition("@")[0] for end in ends.values())]
    grid.enters(stream(block.in_width), *entered)
    return ends


def _side(block: LatentAttention) -> Block | None:
    """What else is made from the input: the choice of positions, or a gate."""
    return block.indexer or block.find("gate")


def _side_cell(grid: Grid, side: Block) -> str:
    if not isinstance(side, SparseIndexer):
        return grid.part(side, 3)
    heads, top = plural(side.num_heads, "head"), f"top {whole(side.top_k)} tokens"
    return grid.op("indexer", ("Indexer",), 3, kind="attn", lines=((heads,), (top, f"top {whole(side.top_k)}")))


def _second_row(
    ctx: Context, grid: Grid, blocks: Sequence[LatentAttention], ends: dict[str, str], pointer: str
) -> None:
    block = blocks[0]
    grid.next_row()
    for role, end, column in (("q_a_norm", "query", 0), ("kv_a_norm", "latent", 1)):
        norm = block.find(role)
        if norm is not None and end in ends:
            made = grid.norm(norm, column)
            grid.wire(ends[end], made)
            ends[end] = made
    turned = block.find("k_rope_norm")
    if turned is not None and "rotary" in ends:
        made = grid.norm(turned, 2)
        grid.wire(ends["rotary"], made)
        ends["rotary"] = made
        grid.next_row()
    if "rotary" in ends and block.rope_dim:
        lines = rope_lines(ctx, block, pointer)
        made = grid.op(
            "rope_k",
            ("RoPE",),
            2,
            lines=lines,
            badge=ctx.badge(*blocks, part="rope"),
            origins=ctx.rope_origins(pointer),
        )
        grid.wire(ends["rotary"], made)
        ends["rotary"] = made


def rope_lines(ctx: Context, block: LatentAttention, pointer: str) -> tuple[Words, ...]:
    """Base and scaling of the rotary key in a narrow box."""
    if block.rope is None:
        return ()
    facts = rope_facts(ctx, block.rope, pointer)
    scaling = rotary_scaling(block.rope)
    tight = rotary(block.rope)[-1:]
    first = (f"{scaling}, {tight[0]}",) if scaling and tight and tight[0] != scaling else tight
    return ((*first, *facts[0]),) if facts else ()


def _cache_row(grid: Grid, block: LatentAttention, ends: dict[str, str]) -> None:
    if not block.causal:
        return
    grid.next_row()
    for end, name, column, size in (("latent", "c_kv", 1, block.kv_rank), ("rotary", "k_rope", 2, block.rope_dim)):
        if end in ends and size:
            made = grid.op(
                f"cache_{name}", (f"cache {name} {whole(size)}", name), column, kind="cache", shape="cylinder"
            )
            grid.wire(ends[end], made)
            ends[end] = made


def _expansion(grid: Grid, block: LatentAttention, ends: dict[str, str]) -> None:
    grid.next_row()
    for role, end, column in (("q_b", "query", 0), ("kv_b", "latent", 1)):
        part = block.find(role)
        if part is not None and end in ends:
            made = grid.part(part, column)
            grid.wire(ends[end], made)
            ends[end] = made
    if "query" in ends and block.rope_dim:
        grid.next_row()
        whole_head = whole(block.nope_dim + block.rope_dim)
        made = grid.op("rope_q", (f"RoPE, {whole(block.rope_dim)} of {whole_head}", "RoPE"), 0, shape="bar")
        grid.wire(ends["query"], made)
        ends["query"] = made


def _product(grid: Grid, block: LatentAttention, ends: dict[str, str]) -> None:
    grid.next_row()
    # Sizes carry symbols and round when multiplied: a glyph wants plain numbers.
    glyph = HeadParts(int(block.num_heads), int(block.nope_dim), int(block.rope_dim), int(block.v_head_dim))
    said = "Scaled dot-product attention"
    seen = f", window {whole(block.window)}" if block.window else ", causal" if block.causal else ""
    span = 4 if block.indexer is not None else 3
    product = grid.op("attend", (f"{said}{seen}", said), 0, span, kind="attn", glyph=glyph)
    for end, column in (("query", 0), ("latent", 1), ("rotary", 2)):
        if end in ends:
            grid.wire(ends[end], at(product, column))
    last = product
    if "side" in ends and block.indexer is not None:
        grid.wire(ends["side"], at(product, 3))
    elif "side" in ends:
        grid.next_row()
        last = grid.op("gated", ("×",), 1, shape="product")
        grid.wire(product, last)
        grid.wire(ends["side"], last)
    out = block.find("o")
    if out is not None:
        grid.next_row()
        made = grid.part(out, (span - grid.wide) / 2, grid.wide)
        grid.wire(last, made)
        last = made
    grid.wire(last, "")
