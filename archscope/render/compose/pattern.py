"""How the layers of a stack vary: a row for each property that does, and a short text."""

from __future__ import annotations

from collections.abc import Sequence

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


def strip(stack: Stack, title: str) -> Strip | None:
    """The pattern of a stack, None where all layers are alike."""
    rows = tuple(row for row in _rows(stack) if len(set(row.cells)) > 1)
    if not rows:
        return None
    return Strip(title, _text(stack, rows), rows)


def _rows(stack: Stack) -> tuple[Row, ...]:
    mixers = [_first(layer, MIXERS) for layer in stack.layers]
    feeds = [_first(layer, FEED_FORWARD) for layer in stack.layers]
    if all((mixer is None) != (feed is None) for mixer, feed in zip(mixers, feeds, strict=True)):
        either = [mixer or feed for mixer, feed in zip(mixers, feeds, strict=True)]
        return (_row("layer", stack, either),)
    return (_row("mixer", stack, mixers), _row("FFN", stack, feeds))


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
                form = other  # type: ignore[assignment]
                break
        taken.add((category.kind, form))
        found.append(Category(category.name, category.kind, form))
    return tuple(found)


def _text(stack: Stack, rows: Sequence[Row]) -> str:
    names = [_short(layer, rows) for layer in stack.layers]
    runs = stack.runs
    if len(runs) > MOST_RUNS or any(len(run.pattern) > 12 for run in runs):
        return "irregular"
    index = {id(layer): name for layer, name in zip(stack.layers, names, strict=True)}
    return " then ".join(_run(run, index) for run in runs)


def _run(run: Run, names: dict[int, str]) -> str:
    pieces: list[tuple[str, int]] = []
    for layer in run.pattern:
        name = names[id(layer)]
        if pieces and pieces[-1][0] == name:
            pieces[-1] = (name, pieces[-1][1] + 1)
        else:
            pieces.append((name, 1))
    said = " · ".join(f"{number} {name}" if len(pieces) > 1 else name for name, number in pieces)
    times = run.repeats if len(pieces) > 1 else run.repeats * len(run.pattern)
    return f"{whole(times)} × [{said}]" if len(pieces) > 1 else f"{whole(times)} × {said}"


def _short(layer: Layer, rows: Sequence[Row]) -> str:
    """A layer in a few words: only what varies."""
    axes = {"mixer": (MIXERS,), "FFN": (FEED_FORWARD,), "layer": (MIXERS, FEED_FORWARD)}
    words = []
    for row in rows:
        for classes in axes[row.label]:
            found = _first(layer, classes)
            if found is not None:
                words.append(found.short)
    return " + ".join(dict.fromkeys(words)) or "plain"
