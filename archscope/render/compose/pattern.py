"""How the layers of a stack vary: a row for each property that does, and a short text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from archscope.blocks.assembly import Layer, Run, Stack
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block
from archscope.blocks.latent_attention import LatentAttention
from archscope.blocks.mlp import Mlp
from archscope.blocks.moe import Moe
from archscope.blocks.ssm import StateMixer
from archscope.render.compose.labels import Label, label
from archscope.render.figure import Category, Row, Strip
from archscope.render.quantities import whole

MIXERS = (Attention, LatentAttention, StateMixer)
FEED_FORWARD = (Mlp, Moe)
NONE = Category("none", "other", "low")
MOST_CATEGORIES = 6
MOST_RUNS = 4
LONGEST_PATTERN = 12
LONGEST_TEXT = 110


def strip(stack: Stack, title: str) -> Strip | None:
    """The pattern of a stack, None where all layers are alike."""
    rows = tuple(row for row in _rows(stack) if len(set(row.cells)) > 1) or _by_sublayers(stack)
    if not rows:
        return None
    texts = [_text(stack, row) for row in rows]
    said = (
        texts[0] if len(rows) == 1 else "; ".join(f"{row.label} {text}" for row, text in zip(rows, texts, strict=True))
    )
    return Strip(title, said, rows)


def _rows(stack: Stack) -> tuple[Row, ...]:
    mixers = [_first(layer, MIXERS) for layer in stack.layers]
    feeds = [_first(layer, FEED_FORWARD) for layer in stack.layers]
    if all((mixer is None) != (feed is None) for mixer, feed in zip(mixers, feeds, strict=True)):
        either = [mixer or feed for mixer, feed in zip(mixers, feeds, strict=True)]
        return (_row("layer", stack, either),)
    return (_row("mixer", stack, mixers), _row("FFN", stack, feeds))


def _by_sublayers(stack: Stack) -> tuple[Row, ...]:
    """A row by what the sublayers are, where layers differ in their number."""
    labels = []
    for layer in stack.layers:
        bodies = [label(branch.body) for sublayer in layer.sublayers for branch in sublayer.branches]
        names = " + ".join(body.short or body.title[-1] for body in bodies)
        kind = bodies[0].kind if bodies else "other"
        labels.append(
            Label(kind, (names,), short=names, category=Category(names, kind, "full" if len(bodies) > 1 else "low"))
        )
    if len({one.category for one in labels}) < 2:
        return ()
    return (_row("layer", stack, labels),)


def _first(layer: Layer, classes: tuple[type[Block], ...]) -> Label | None:
    """The label of what a layer has of these classes; self-attention before cross-attention."""
    found = [block for sublayer in layer.sublayers for block in sublayer.blocks() if isinstance(block, classes)]
    own = [block for block in found if not (isinstance(block, Attention) and block.is_cross)]
    chosen = next(iter(own or found), None)
    return None if chosen is None else label(chosen)


def _row(name: str, stack: Stack, labels: Sequence[Label | None]) -> Row:
    wanted = [NONE if one is None or one.category is None else one.category for one in labels]
    order = list(dict.fromkeys(wanted[kind] for kind in stack.order))
    if len(order) > MOST_CATEGORIES:
        order = [*order[: MOST_CATEGORIES - 1], Category("other", "other", "open")]
    index = {category: place for place, category in enumerate(order)}
    cells = tuple(min(index.get(wanted[kind], len(order) - 1), len(order) - 1) for kind in stack.order)
    return Row(name, _told_apart(order), cells)


def _told_apart(categories: Sequence[Category]) -> tuple[Category, ...]:
    """Categories of one colour get different forms."""
    taken: set[tuple[str, str]] = set()
    found = []
    for category in categories:
        form = category.form
        for other in (form, "open", "bars", "full", "dots", "low"):
            if (category.kind, other) not in taken:
                form = other
                break
        taken.add((category.kind, form))
        found.append(Category(category.name, category.kind, form))
    return tuple(found)


def _text(stack: Stack, row: Row) -> str:
    """One row as runs of repeating patterns."""
    samples = tuple(stack.layers[stack.order[row.cells.index(index)]] for index in range(len(row.categories)))
    # The row's own order of kinds, with a layer standing for each kind, has its own runs.
    runs = Stack(layers=samples, order=row.cells).runs
    if len(runs) > MOST_RUNS or any(len(run.pattern) > LONGEST_PATTERN for run in runs):
        return "irregular"
    names = {id(layer): _short(layer, row) for layer in samples}
    said = " then ".join(_run(run, names) for run in runs)
    if len(said) <= LONGEST_TEXT:
        return said
    return f"repeats every {len(runs[0].pattern)} layers" if len(runs) == 1 else "irregular"


def _run(run: Run, names: Mapping[int, str]) -> str:
    pieces: list[tuple[str, int]] = []
    for layer in run.pattern:
        name = names[id(layer)]
        if pieces and pieces[-1][0] == name:
            pieces[-1] = (name, pieces[-1][1] + 1)
        else:
            pieces.append((name, 1))
    if len(pieces) == 1:
        return f"{whole(run.repeats * len(run.pattern))} × {pieces[0][0]}"
    said = " · ".join(f"{number} {name}" for name, number in pieces)
    return f"{whole(run.repeats)} × [{said}]"


def _short(layer: Layer, row: Row) -> str:
    """A layer in a word, by the property that the row shows."""
    classes = {"mixer": MIXERS, "FFN": FEED_FORWARD}.get(row.label, (*MIXERS, *FEED_FORWARD))
    found = _first(layer, classes)
    if row.label == "layer" and len(layer.sublayers) > 1:
        bodies = [label(branch.body) for sublayer in layer.sublayers for branch in sublayer.branches]
        return " + ".join(body.short or body.title[-1] for body in bodies)
    return "none" if found is None else found.short or found.title[-1]
