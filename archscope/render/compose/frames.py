"""Stacks of layers as frames: layers that differ only in what stands at a place share a frame, with a slot there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from archscope.blocks.assembly import Branch, Layer, Stack, Sublayer
from archscope.blocks.base import Block
from archscope.costs.parameters import of_block
from archscope.render.compose.context import Context
from archscope.render.compose.places import Alternative, Use, alternatives, node, path_of_uses, side_by_side
from archscope.render.figure import Frame, Item, Node, Slot, Step, Words
from archscope.render.quantities import count, layers, plural, real, whole

Kinds = list[tuple[Layer, tuple[int, ...]]]
MOST_FRAMES = 4
MOST_LOOSE = 12
ALONE = "alone"
"""Role of a stack that is one layer outside of any list."""


def frames(ctx: Context, stack: Stack, path: str, pointer: str, noun: str) -> tuple[Frame, ...]:
    """A frame per skeleton of layer, in the order of their first layers."""
    groups: dict[object, Kinds] = {}
    for index, layer in enumerate(stack.layers):
        numbers = tuple(number for number, kind in enumerate(stack.order) if kind == index)
        if numbers:
            groups.setdefault(_skeleton(layer), []).append((layer, numbers))
    ordered = sorted(groups.values(), key=lambda kinds: min(numbers[0] for _, numbers in kinds))
    shown = ordered[:MOST_FRAMES]
    if len(ordered) > len(shown):
        ctx.remarks.append(f"{plural(len(ordered) - len(shown), 'further arrangement')} of layers not drawn")
    return tuple(_frame(ctx, stack, kinds, path, pointer, noun, len(ordered)) for kinds in shown)


def lone_frame(ctx: Context, layer: Layer, path: str, pointer: str, noun: str) -> tuple[Frame, ...]:
    """A layer that stands by itself among the parts of a tower."""
    return frames(ctx, Stack(role=ALONE, layers=(layer,), order=(0,)), path, pointer, noun)


def _loose(ctx: Context, kinds: Kinds, path: str, pointer: str, has_flow: bool) -> Iterator[Step]:
    """Modules of a layer outside its stream: all there is where the flow is not known, else a remark."""
    extras = [(block, numbers) for layer, numbers in kinds for block in layer.extras]
    if not extras:
        return
    if has_flow:
        names = dict.fromkeys(block.name for block, _ in extras if block.name)
        size = sum(of_block(block) * len(numbers) for block, numbers in extras)
        said = f"{count(size)} params" if size else "buffers"
        ctx.remarks.append(f"layers also have {', '.join(list(names)[:6])} ({said}), not drawn")
        return
    uses = [Use(block, numbers, path, pointer) for block, numbers in extras]
    by_name: dict[str, list[Use]] = {}
    for use in uses:
        by_name.setdefault(use.block.name, []).append(use)
    groups = [alternatives(some)[0] for some in list(by_name.values())[:MOST_LOOSE]]
    nodes = tuple(node(ctx, group) for group in groups)
    if len(by_name) > len(nodes):
        ctx.remarks.append(f"{plural(len(by_name) - len(nodes), 'further module')} in each layer not drawn")
    caption = ("modules, in an order that is not known", "modules, order not known")
    slot = Slot(ctx.unique(f"{path}.*#modules"), "all", caption, nodes, ("",) * len(nodes))
    yield Step((), ((slot,),), (), residual=False)


def _skeleton(layer: Layer) -> object:
    return tuple(
        (one.residual, one.shared is None, one.after is None,
         tuple((branch.pre is None, branch.post is None) for branch in one.branches))
        for one in layer.sublayers
    )  # fmt: skip


def _frame(ctx: Context, stack: Stack, kinds: Kinds, path: str, pointer: str, noun: str, of: int) -> Frame:
    numbers = tuple(sorted(number for _, some in kinds for number in some))
    width = kinds[0][0].width
    steps = tuple(
        _step(ctx, stack, [(layer.sublayers[place], some) for layer, some in kinds], path, pointer)
        for place in range(len(kinds[0][0].sublayers))
    )
    steps = (*steps, *_loose(ctx, kinds, path, pointer, bool(steps)))
    passes = sorted({layer.passes for layer, _ in kinds})
    label = f"{noun} layer" if len(steps) == 1 and len(steps[0].branches) == 1 else f"{noun} block"
    where = layers(numbers) if of > 1 else ""
    if where and numbers[-1] - numbers[0] + 1 != len(numbers):
        where = f"{plural(len(numbers), 'layer')} among the others"
    if passes[-1] > 1:
        where = ", ".join(filter(None, (where, f"each passed {whole(passes[-1])} times")))
    shape = f"[B, T, {whole(width)}]" if width else ""
    return Frame(ctx.unique(f"{path}.*" if path else "layers.*"), label, len(numbers), steps, where, shape)


def _step(
    ctx: Context, stack: Stack, kinds: Sequence[tuple[Sublayer, tuple[int, ...]]], path: str, pointer: str
) -> Step:
    def item(blocks: Sequence[Block | None], suffix: str = "") -> tuple[Item, ...]:
        pairs = zip(blocks, kinds, strict=True)
        uses = [Use(b, n, path, pointer, stack.role == ALONE) for b, (_, n) in pairs if b is not None]
        return (_item(ctx, stack, uses, suffix),) if uses else ()

    def branch(place: int) -> tuple[Item, ...]:
        found: list[Branch] = [one.branches[place] for one, _ in kinds]
        both = all(one.pre is not None and one.post is not None for one in found)
        pre, post = ("(pre)", "(post)") if both else ("", "")
        return (
            *item([one.pre for one in found], pre),
            *item([one.body for one in found]),
            *item([one.post for one in found], post),
            *_after_branch(ctx, found[0], path),
        )

    first = kinds[0][0]
    branches = tuple(branch(place) for place in range(len(first.branches)))
    if len(branches) > 1:
        branches = tuple(tuple(_narrow(ctx, one) for one in items) for items in branches)
    return Step(
        before=item([one.shared for one, _ in kinds]),
        branches=branches,
        after=item([one.after for one, _ in kinds]),
        residual=first.residual,
        apart=tuple(index for index, one in enumerate(first.branches) if one.joins is not None),
        factor="" if first.residual_scale in (None, 1, 1.0) else f"× {real(first.residual_scale or 0.0)}",
    )


def _item(ctx: Context, stack: Stack, uses: list[Use], suffix: str) -> Item:
    groups = alternatives(uses)
    if len(groups) == 1:
        return node(ctx, groups[0], suffix=suffix)
    groups = tuple(sorted(groups, key=lambda group: group.numbers[0]))
    return Slot(
        id=ctx.unique(f"{path_of_uses(uses)}#slot"),
        mode="one",
        caption=_caption(stack, groups),
        nodes=side_by_side(ctx, groups, suffix),
        chips=tuple(layers(group.numbers) for group in groups),
    )


def _after_branch(ctx: Context, branch: Branch, path: str) -> Iterator[Node]:
    """A factor on a branch, and where it is added if not here."""
    if branch.scale not in (None, 1, 1.0):
        yield Node(ctx.unique(f"{path}.*#scale"), "op", (f"× {real(branch.scale or 0.0)}",), shape="bar")
    if branch.joins is not None:
        yield Node(ctx.unique(f"{path}.*#later"), "op", ("added after a later sublayer", "added later"), shape="bar")


def _narrow(ctx: Context, item: Item) -> Node:
    """A slot as one node, for where branches stand side by side: a line for each alternative."""
    if isinstance(item, Node):
        return item
    inside = {node.id for node in item.nodes}
    ctx.drawn[:] = [(item.id if node_id in inside else node_id, group) for node_id, group in ctx.drawn]
    kinds = {node.kind for node in item.nodes}
    names = [group.label.short or group.label.title[-1] for node_id, group in ctx.drawn if node_id == item.id]
    title: Words = ("Attention",) if kinds <= {"attn", "swa"} else (" or ".join(names), "one of several")
    lines = tuple((f"{name}: {chip}", name) for name, chip in zip(names, item.chips, strict=False))
    return Node(
        id=item.id,
        kind=item.nodes[0].kind,
        title=title,
        lines=lines[:4],
        params=sum(node.params or 0 for node in item.nodes),
        origins=item.nodes[0].origins,
        badge=next((node.badge for node in item.nodes if node.badge is not None), None),
    )


def _caption(stack: Stack, groups: Sequence[Alternative]) -> Words:
    """Which alternative comes when, where a few words can say it."""
    which = {number: index for index, group in enumerate(groups) for number in group.numbers}
    order = [which.get(number, -1) for number in range(len(stack.order))]
    period = _period(order)
    if period is None or not all(group.label.short for group in groups):
        return ("one of, by layer",)
    said = ", then ".join(f"{times} {groups[index].label.short}" for index, times in _runs(order[:period]))
    return (f"one of, by layer: {said}", "one of, by layer")


def _period(order: list[int]) -> int | None:
    """The length of the pattern that the whole order repeats (the last time perhaps cut short), if it is simple."""
    for length in range(2, min(len(order) // 2, 12) + 1):
        if all(order[i] == order[i - length] for i in range(length, len(order))):
            return length if len(list(_runs(order[:length]))) <= 3 and -1 not in order else None
    return None


def _runs(order: Sequence[int]) -> Iterator[tuple[int, int]]:
    start = 0
    for at in range(1, len(order) + 1):
        if at == len(order) or order[at] != order[start]:
            yield order[start], at - start
            start = at
