"""A figure in a few sentences, for readers who do not see it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from archscope.render.figure import Column, Frame, Item, Node, Strip
from archscope.render.quantities import plural, whole


def describe(name: str, columns: Sequence[Column], strips: Sequence[Strip], total: int, notes: Sequence[str]) -> str:
    """Layers, the order of blocks in them, how they vary, and the number of parameters."""
    said = [sentence for column in columns for sentence in _column(column)]
    said += [f"Layer pattern: {strip.text}." for strip in strips]
    said += [f"{note}." for note in notes]
    return " ".join((f"{name}:", *said, f"{whole(total)} parameters."))


def _column(column: Column) -> Iterator[str]:
    for item in column.items:
        if isinstance(item, Frame):
            where = f" ({item.where})" if item.where else ""
            yield f"{plural(item.count, item.label.lower())}{where}. Each, from its input: {'; '.join(_steps(item))}."


def _steps(frame: Frame) -> Iterator[str]:
    for step in frame.steps:
        before = [_item(item) for item in step.before]
        branches = [", ".join(_item(item) for item in branch) for branch in step.branches]
        joined = " in parallel with ".join(branches)
        after = [_item(item) for item in step.after]
        add = ["residual add"] if step.residual else []
        yield ", ".join((*before, joined, *add, *after))


def _item(item: Item) -> str:
    if isinstance(item, Node):
        facts = item.lines[0][0] if item.lines else ""
        return f"{item.name} ({facts})" if facts else item.name
    word = "one of" if item.mode == "one" else "all of"
    return (
        f"{word} {' or '.join(f'{_item(node)} in {chip}' for node, chip in zip(item.nodes, item.chips, strict=True))}"
    )
