"""What the rules about stored tensors share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from archscope.diagnostics import Place
from archscope.rules.base import Context
from archscope.source import StoredTensor
from archscope.structure.stored import pattern


def grouped(names: Iterable[str]) -> list[tuple[str, int]]:
    """Names with their numbers as *, and how many there are of each, most frequent first."""
    counts = Counter(pattern(name) for name in names)
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def shown(groups: list[tuple[str, int]]) -> str:
    """The first kinds of names in one line, with their counts."""
    first = ", ".join(f"{name} ({count})" if count > 1 else name for name, count in groups[:3])
    return first if len(groups) <= 3 else f"{first} and {len(groups) - 3} more kinds"


def index_place(ctx: Context) -> Place:
    """The index, or the weights file, as a place."""
    weights = ctx.repository.weights
    if weights is not None and weights.index is not None:
        return Place(weights.index.name, "/weight_map")
    folder = ctx.repository.folder or ""
    file = weights.files[0] if weights is not None and weights.files else "model.safetensors"
    return Place(f"{folder}/{file}" if folder else file)


def stored_tensors(ctx: Context) -> Mapping[str, StoredTensor]:
    """The tensors of the folder by name; none where nothing is known of them."""
    return {} if ctx.repository.weights is None else ctx.repository.weights.tensors
