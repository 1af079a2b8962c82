"""A tower as a column of the figure: what comes in, embeddings, frames of layers, norms, heads, what goes out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from archscope.blocks.assembly import Head, Layer, Stack, Tower
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, join
from archscope.blocks.leaves import Embedding, Linear, Norm
from archscope.costs.parameters import of_block
from archscope.render.compose.context import Context
from archscope.render.compose.frames import frames, lone_frame
from archscope.render.compose.grid import names
from archscope.render.compose.labels import label
from archscope.render.compose.outline import Outline, Part
from archscope.render.figure import Column, Frame, Node, Words, nodes_of
from archscope.render.quantities import count, plural, real, whole

Items = list[Node | Frame]


def columns(ctx: Context, plan: Outline) -> tuple[Column, ...]:
    """The stacks of an outline; the heads stand on the last one."""
    several = len(plan.stacks) > 1
    made = []
    for index, part in enumerate(plan.stacks):
        last = index == len(plan.stacks) - 1
        owned = plan.shared if index == 0 else ()
        items = _items(ctx, part, owned, plan.heads if last else (), encodes=several and not last)
        made.append(Column(tuple(items), _name(part.block) if several else ""))
    return tuple(made)


def _name(block: Block) -> str:
    return block.tower.capitalize() if isinstance(block, Tower) else ""


def _items(ctx: Context, part: Part, owned: Sequence[Part], heads: Sequence[Part], *, encodes: bool) -> Items:
    tower = part.block
    if not isinstance(tower, Tower):
        return [_input(ctx, tower), module(ctx, tower, part.path, ""), *_tops(ctx, tower, heads, "")]
    items: Items = [_input(ctx, tower)]
    tables = [block for block in tower.parts if isinstance(block, Embedding) and block.role == "embedding"]
    if tables:
        items.append(_embeddings(ctx, tables, part.path, tower.pointer, owned))
    stacked = False
    rest = [block for block in tower.parts if not any(block is table for table in tables)]
    for blocks in _alike(block for block in rest if not block.role.startswith("side")):
        block = blocks[0]
        if isinstance(block, Stack):
            items.extend(frames(ctx, block, join(part.path, block.name), tower.pointer, _noun(tower)))
            stacked = True
        elif isinstance(block, Layer):
            for layer in (one for one in blocks if isinstance(one, Layer)):
                items.extend(lone_frame(ctx, layer, join(part.path, layer.name), tower.pointer, _noun(tower)))
        elif len(blocks) > 1:
            items.append(_several(ctx, blocks, part.path, tower.pointer))
        else:
            items.append(_plain(ctx, block, part.path, tower.pointer, stacked))
    items = merged(items)
    return items if encodes else [*items, *_tops(ctx, tower, heads, tower.pointer)]


def _noun(tower: Tower) -> str:
    named = {"vision": "Vision", "audio": "Audio", "other": "Tower", "encoder": "Encoder", "decoder": "Decoder"}
    if tower.tower in named:
        return named[tower.tower]
    found = (block for stack in tower.stacks for layer in stack.layers for block in layer.children())
    seen = [block.causal for block in found if isinstance(block, Attention) and not block.is_cross]
    return "Encoder" if seen and not any(seen) else "Decoder"


# Below the layers


def _input(ctx: Context, block: Block) -> Node:
    role = block.tower if isinstance(block, Tower) else ""
    first = next(iter(block.children()), None)
    reads_tokens = isinstance(first, Embedding) and first.of == "token"
    if role == "vision":
        said, shape = "Pixel values", "[B, C, H, W]"
    elif role == "audio":
        said, shape = "Audio features", "[B, T, F]"
    elif reads_tokens or role in ("text", "decoder"):
        said, shape = "Token ids", "[B, T]"
    else:
        said, shape = "Input", ""
    return Node(ctx.unique("input"), "io", (said,), suffix=shape, shape="pill")


def _embeddings(ctx: Context, tables: Sequence[Embedding], path: str, pointer: str, owned: Sequence[Part]) -> Node:
    """All tables whose rows are summed, as one node."""
    named = label(tables[0])
    rows = " + ".join(whole(table.num_embeddings) for table in tables)
    total = sum(of_block(table) for table in tables) + sum(of_block(part.block) for part in owned)
    title = named.title
    if len(tables) > 1:
        kinds = [table.of for table in tables]
        joined = " + ".join((kinds[0].capitalize(), *kinds[1:]))
        title = (f"{joined} embedding", joined, f"{joined.split()[0]} embedding + {len(tables) - 1} more")
    line: Words = (f"{rows} × {whole(tables[0].dim)}",)
    tied = all(table.tied_to for table in tables)
    if owned:
        size: Words = (f"{count(total)} params, shared", f"{count(total)} params")
    elif tied:
        size = ("shared table, 0 extra params", "0 extra params")
    else:
        size = (f"{count(total)} params",)
    blocks = (*tables, *(part.block for part in owned))
    return Node(
        id=ctx.unique(join(path, tables[0].name) or "embedding"),
        kind="emb",
        title=title,
        lines=(line, size),
        params=total,
        origins=ctx.origins(blocks, pointer),
        badge=ctx.badge(*blocks),
    )


def _alike(blocks: Iterable[Block]) -> Iterator[tuple[Block, ...]]:
    """The parts of a tower, more than two numbered ones of one list together."""
    for key, some in groupby(blocks, _list_of):
        found = tuple(some)
        yield from (found,) if key and len(found) > 2 else ((block,) for block in found)


def _list_of(block: Block) -> str:
    """The name of the list that a module is in ("conv_layers" of "conv_layers.3"), "" for none."""
    name, _, number = block.name.rpartition(".")
    return name if number.isdecimal() and not isinstance(block, Stack) else ""


def _several(ctx: Context, blocks: Sequence[Block], path: str, pointer: str) -> Node:
    """Numbered modules one after another as one node."""
    name = _list_of(blocks[0])
    params = sum(of_block(block) for block in blocks)
    widths_ = [width for block in blocks for width in (block.in_width, block.out_width) if width is not None]
    line = (f"{whole(widths_[0])} → {whole(widths_[-1])}",) if widths_ else ()
    kinds = {label(block).kind for block in blocks}
    return Node(
        id=ctx.unique(f"{join(path, name)}.0-{len(blocks) - 1}"),
        kind=kinds.pop() if len(kinds) == 1 else "other",
        title=tuple(f"{said} × {len(blocks)}" for said in names(name)),
        lines=tuple(filter(None, (line, (plural_params(params),)))),
        mono=True,
        params=params,
        origins=ctx.origins(blocks, pointer),
        badge=ctx.badge(*blocks),
    )


def merged(items: Items) -> Items:
    """Frames of equal looks that follow one another as one: a tower in stages of equal layers."""
    found: Items = []
    for item in items:
        last = found[-1] if found else None
        if isinstance(item, Frame) and isinstance(last, Frame) and _looks(item) == _looks(last):
            stages = 1 + (int(last.where.split()[0]) if last.where.endswith(STAGES) else 1)
            found[-1] = replace(last, count=last.count + item.count, where=f"{stages} {STAGES}")
        else:
            found.append(item)
    return found


STAGES = "stages of such layers"


def _looks(frame: Frame) -> object:
    return (
        frame.label,
        "" if frame.where.endswith(STAGES) else frame.where,
        tuple((node.title, node.lines, node.badge) for node in nodes_of(frame)),
    )


def _plain(ctx: Context, block: Block, path: str, pointer: str, stacked: bool) -> Node:
    """A part of a tower that stands alone in the flow."""
    if isinstance(block, Norm):
        name = label(block).title[0]
        made = module(ctx, block, join(path, block.name), pointer)
        return replace(made, title=(f"{name} (final)", name) if stacked else (name,), shape="bar", lines=())
    return module(ctx, block, join(path, block.name), pointer)


def module(ctx: Context, block: Block, path: str, pointer: str) -> Node:
    """Any block as a node of its own."""
    named = label(block)
    params = of_block(block)
    size: Words = (plural_params(params), count(params)) if params else ()
    return Node(
        id=ctx.unique(path or type(block).__name__.lower()),
        kind=named.kind,
        title=names(named.title[0]) if named.mono else named.title,
        lines=tuple(filter(None, (named.line, size))),
        mono=named.mono,
        shape="bar" if isinstance(block, Norm) else "block",
        params=params,
        origins=ctx.origins((block,), pointer),
        badge=ctx.badge(block),
    )


def plural_params(params: int) -> str:
    """A number of parameters with its noun."""
    return "1 param" if params == 1 else f"{count(params)} params"


# Above the layers


def _tops(ctx: Context, block: Block, heads: Sequence[Part], pointer: str) -> Items:
    items: Items = [_head(ctx, part, pointer) for part in heads]
    width = _outputs(heads)
    if heads:
        per_token = not any(_task(part).startswith(("sequence", "next", "multiple", "image")) for part in heads)
        shape = f"[B, T, {width}]" if per_token else f"[B, {width}]"
        items.append(Node(ctx.unique("output"), "io", ("Logits",), suffix=shape if width else "", shape="pill"))
    else:
        hidden = block.width if isinstance(block, Tower) else 0
        shape = f"[B, T, {whole(hidden)}]" if hidden else ""
        items.append(Node(ctx.unique("output"), "io", ("Hidden states",), suffix=shape, shape="pill"))
    return items


def _task(part: Part) -> str:
    return part.block.task if isinstance(part.block, Head) else ""


def _outputs(heads: Sequence[Part]) -> str:
    found = _last_linear(heads[-1].block) if heads else None
    return whole(found.out_features) if found is not None else ""


def _last_linear(block: Block) -> Linear | None:
    """The matrix that gives the logits."""
    if isinstance(block, Linear):
        return block
    parts = block.children()
    named = [part for part in parts if part.role == "logits"]
    for part in (*named, *reversed(parts)):
        found = _last_linear(part)
        if found is not None:
            return found
    return None


def _head(ctx: Context, part: Part, pointer: str) -> Node:
    block = part.block
    matrix = _last_linear(block)
    params = of_block(block)
    tied = matrix is not None and matrix.tied_to
    first: Words = (f"{count(params)} params",)
    facts: Words = ()
    if matrix is not None:
        shape = f"{whole(matrix.in_features)} × {whole(matrix.out_features)}"
        modules = len(block.children())
        facts = (f"{shape} · not tied", shape) if matrix.role == "logits" and modules == 1 else (shape,)
        if modules > 1:
            facts = (f"{shape} after {plural(modules - 1, 'module')}", shape)
    if tied:
        facts = ("tied with token embedding", "tied")
        first = (f"{count(params)} extra params",)
    if isinstance(block, Head) and block.softcap:
        first = (f"{first[0]} · soft cap {real(block.softcap)}", first[0])
    blocks = (block, *block.children())
    return Node(
        id=ctx.unique(join(part.path, matrix.name) if matrix is not None and not block.name else part.path or "head"),
        kind="emb",
        title=label(block).title,
        lines=tuple(filter(None, (facts, first))),
        params=params,
        origins=ctx.origins(blocks, pointer),
        badge=ctx.badge(*blocks),
    )
