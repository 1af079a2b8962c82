"""Panels in which everything follows from left to right: further towers, next-token-prediction layers, the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from archscope.blocks.assembly import Architecture, Layer, Opaque, Stack, Tower
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, Group, Repeating, Weight, join
from archscope.blocks.leaves import Conv, Embedding, Linear, Norm
from archscope.blocks.mlp import Mlp
from archscope.blocks.moe import Moe
from archscope.blocks.projectors import Projector
from archscope.costs.parameters import of_block
from archscope.render.compose.columns import module
from archscope.render.compose.context import Context
from archscope.render.compose.labels import label
from archscope.render.compose.outline import Chain, Outline, Part, crosses
from archscope.render.figure import Kind, Node, Panel, Words
from archscope.render.quantities import count, plural, whole

MOST_NODES = 5
NAMES = {
    "vision": "Vision tower",
    "audio": "Audio tower",
    "text": "Text tower",
    "encoder": "Encoder",
    "decoder": "Decoder",
}


def beside(ctx: Context, plan: Outline) -> tuple[Panel, ...]:
    """A panel for each further tower with its projectors, one for what has no known place."""
    main = plan.stacks[-1].block if plan.stacks else None
    attends = isinstance(main, Tower) and crosses(main)
    made = [_tower_panel(ctx, chain, attends, bool(plan.heads)) for chain in plan.beside]
    if plan.others:
        made.append(_others(ctx, plan.others))
    return tuple(made)


def _tower_panel(ctx: Context, joined: Chain, attends: bool, writes: bool) -> Panel:
    """Source, tower and projectors. What it gives goes into the text where there is a projector, or text comes out."""
    chain = joined.parts
    tower = chain[0].block
    role = tower.tower if isinstance(tower, Tower) else tower.role if isinstance(tower, Opaque) else ""
    total = sum(of_block(part.block) for part in chain)
    projects = any(isinstance(part.block, Projector) for part in chain)
    feeds = joined.before and (projects or (writes and role in ("vision", "audio")))
    where = "its output is attended to" if attends and feeds else "outside the text stack"
    known = not isinstance(tower, Opaque)
    source = _source(ctx, tower) if feeds or role == "vision" else ()
    nodes = [(node,) for part in chain for node in _chain_nodes(ctx, part)]
    size = f"{count(total)} params, {where}" if known else f"layers not known, {where}"
    return Panel(
        id=f"{chain[0].path or 'tower'}#panel",
        kind="vis",
        title=(NAMES.get(role, "Projector" if isinstance(tower, Projector) else "Further tower"),),
        subtitle=(size, f"{count(total)} params"),
        chain=(*source, *nodes)[:MOST_NODES],
        link="into_embedding" if feeds and not attends else "none",
    )


def _source(ctx: Context, tower: Block) -> tuple[tuple[Node, ...], ...]:
    """What the tower reads."""
    if not isinstance(tower, Tower):
        return ()
    config = ctx.config_at(tower.pointer)
    size = config.get("image_size") if tower.tower == "vision" else None
    if isinstance(size, int) and 0 < size < 10**6:
        lines: tuple[Words, ...] = ((f"{whole(size)} × {whole(size)}",),)
    elif isinstance(size, list) and len(size) == 2 and all(isinstance(n, int) and 0 < n < 10**6 for n in size):
        lines = ((" × ".join(map(whole, size)),),)
    else:
        lines = ()
    said = "image" if tower.tower == "vision" else "audio"
    return ((Node(ctx.unique(said), "io", (said,), lines),),)


def _chain_nodes(ctx: Context, part: Part) -> Iterator[Node]:
    block = part.block
    if isinstance(block, Tower):
        yield _tower_node(ctx, block, part.path)
    elif isinstance(block, Projector):
        yield _projector_node(ctx, block, part.path)
    else:
        yield module(ctx, block, part.path, "")


def _tower_node(ctx: Context, tower: Tower, path: str) -> Node:
    stacks = tower.stacks
    number = sum(len(stack) for stack in stacks)
    width = whole(tower.width) if tower.width else ""
    lines: list[Words] = []
    if number:
        lines.append(
            (f"{plural(number, 'layer')}, {width}" if width else plural(number, "layer"), plural(number, "layer"))
        )
    detail = _layer_detail(stacks)
    if detail:
        lines.append(detail)
    title = tower.model_type or NAMES.get(tower.tower, "tower")
    return Node(
        id=ctx.unique(path or "tower"),
        kind="vis",
        title=(title, title.removesuffix("_model"), title.removesuffix("_model").removesuffix("_vision")),
        lines=tuple(lines),
        params=of_block(tower),
        origins=ctx.origins((tower,), tower.pointer),
        badge=ctx.badge(tower),
    )


def _layer_detail(stacks: Sequence[Stack]) -> Words:
    """Heads of the first layer's attention."""
    for stack in stacks:
        for layer in stack.layers:
            for block in layer.children():
                if isinstance(block, Attention):
                    return (
                        f"{plural(block.num_heads, 'head')}, d = {whole(block.head_dim)}",
                        plural(block.num_heads, "head"),
                    )
    return ()


def _projector_node(ctx: Context, block: Projector, path: str) -> Node:
    shape = f"{whole(block.source_width)} → {whole(block.target_width)}"
    note: tuple[Words, ...] = ((block.note, f"{block.note[:24]}…") if len(block.note) > 24 else (block.note,),)
    return Node(
        id=ctx.unique(path or "projector"),
        kind="vis",
        title=("projection",),
        lines=((shape,), *(note if block.note else ())),
        params=of_block(block),
        origins=ctx.origins((block,), ""),
        badge=ctx.badge(block),
    )


def _others(ctx: Context, parts: Sequence[Part]) -> Panel:
    nodes = tuple((module(ctx, part.block, part.path, ""),) for part in parts[:MOST_NODES])
    more = len(parts) - len(nodes)
    total = count(sum(of_block(part.block) for part in parts))
    return Panel(
        id="others#panel",
        kind="other",
        title=("Further parts",),
        subtitle=(f"{total} params" + (f", {more} more not drawn" if more else ""),),
        chain=nodes,
        link="none",
    )


# Next-token prediction


def prediction(ctx: Context, architecture: Architecture) -> tuple[Panel, ...]:
    """Layers that a checkpoint carries for predicting further tokens, and transformers does not build."""
    extra = architecture.extra
    if not extra:
        return ()
    total = sum(of_block(block) for block in extra)
    layers = [block for part in extra for block in _layers(part)]
    number = sum(_number(part) for part in extra)
    nodes = tuple(_prediction_nodes(ctx, extra[0], layers))
    return (
        Panel(
            id="extra#panel",
            kind="other",
            title=(f"Multi-token prediction × {whole(number)}",),
            subtitle=(
                f"{count(total)} extra params, training and speculative decoding only",
                f"{count(total)} extra params",
            ),
            chain=nodes[:MOST_NODES],
            link="from_stack",
        ),
    )


def _number(part: Block) -> int:
    """How many layers an extra part stands for."""
    return sum(times for _, times in part.kinds()) if isinstance(part, Repeating) else 1


def _layers(block: Block) -> Iterator[Layer]:
    if isinstance(block, Layer):
        yield block
    else:
        for part in block.children():
            yield from _layers(part)


def _prediction_nodes(ctx: Context, first: Block, layers: Sequence[Layer]) -> Iterator[tuple[Node, ...]]:
    """Norms of state and embedding, the projection that joins them, the block, the head."""
    inner = first
    while isinstance(inner, Group | Repeating) and len(inner.children()) == 1:
        inner = inner.children()[0]
    parts = list(_spread(inner))
    path = first.name or "extra"
    norms = [part for part in parts if isinstance(part, Norm)]
    entry = [norm for norm in norms if norm.role in ("hidden_norm", "embed_norm")]
    if entry:
        yield tuple(_small(ctx, norm, path, "norm") for norm in entry)
    for part in parts:
        if isinstance(part, Linear) and part.in_features == 2 * part.out_features:
            out = f"→ {whole(part.out_features)}"
            shape: Words = (f"{whole(part.in_features)} {out}", out)
            yield (
                Node(ctx.unique(join(path, part.name)), "other", (part.name.rpartition(".")[2],), (shape,), mono=True),
            )
    if layers:
        sparse = any(isinstance(block, Moe) for block in layers[0].children())
        kind: Kind = "moe" if sparse else "ffn" if any(isinstance(b, Mlp) for b in layers[0].children()) else "attn"
        yield (Node(ctx.unique(f"{path}#block"), kind, ("MoE block" if sparse else "block",)),)
    elif not entry:
        yield (module(ctx, first, path, ""),)
        return
    yield (Node(ctx.unique(f"{path}#head"), "emb", ("shared head", "head")),)


def _spread(block: Block) -> Iterator[Block]:
    """The parts of a module, those of plain groups in place of the groups."""
    for part in block.children():
        if isinstance(part, Group):
            yield from _spread(part)
        elif not isinstance(part, Weight | Embedding | Conv):
            yield part


def _small(ctx: Context, norm: Norm, path: str, kind: Kind) -> Node:
    name = norm.name.rpartition(".")[2]
    of = "emb" if norm.role == "embed_norm" else "h"
    return Node(ctx.unique(join(path, norm.name)), kind, (f"{name}({of})", name, label(norm).title[0]), shape="bar")
