"""Values that a config class computes when they are read, where no formula of the snapshot says how."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from archscope.config.draft import Draft
from archscope.config.formulas import MAX_LENGTH, evaluate


def compute(draft: Draft, name: str) -> Any:
    """A computed value. Raises: one of formulas.FAILURES, AttributeError where there is none of that name."""
    schema = draft.schema
    held = schema.properties.get(name) if schema is not None else None
    if schema is None or held is None:
        raise AttributeError(name)
    if held.formula:
        return evaluate(held.formula, draft)
    by_hand = _BY_HAND.get((schema.class_name, name))
    if by_hand is None:
        raise AttributeError(name)
    return by_hand(draft)


def _mimi_frame_size(d: Draft) -> int:
    # Samples to a frame: the product of all strides, that of the last downsampling layer being 2.
    product: int = math.prod(d.field("upsampling_ratios"))
    return 2 * product


def _mimi_frame_rate(d: Draft) -> Any:
    given = d.values.get("_frame_rate")
    return given if given is not None else d.field("sampling_rate") / _mimi_frame_size(d)


def _shared_tail(d: Draft) -> list[str | None]:
    """Gemma's last layers reuse the keys and values of the last earlier layer of their kind."""
    total, shared, words = d.field("num_hidden_layers"), d.field("num_kv_shared_layers"), d.field("layer_types")
    if not 0 <= total <= MAX_LENGTH:
        raise ValueError("no plausible number of layers")
    if shared == total:
        return ["reuse"] * total
    first = total - shared
    modes: list[str | None] = [None if i < first else "reuse" for i in range(total)]
    if shared:
        for word in set(words):
            modes[first - 1 - words[:first][::-1].index(word)] = "store"
    return modes


def _always_stored_tail(d: Draft) -> list[str | None]:
    # As above, but the last layer of each kind is stored even where no layer reuses it.
    modes = _shared_tail(d)
    if d.field("num_kv_shared_layers") == 0:
        words = d.field("layer_types")
        for word in set(words):
            modes[len(words) - 1 - words[::-1].index(word)] = "store"
    return modes


def _mistral_sharing(d: Draft) -> list[str | None]:
    total, sources, kinds = d.field("num_hidden_layers"), d.field("kv_source_layers"), d.field("indexer_types")
    if not 0 <= total <= MAX_LENGTH:
        raise ValueError("no plausible number of layers")
    last = {source: i for i, source in enumerate(sources)}
    modes: list[str | None] = []
    for i in range(total):
        if last.get(i, -1) > i:
            modes.append("store")
        elif sources[i] == i:
            modes.append(None)
        else:
            modes.append("reuse" if kinds[i] == "shared" else "reuse_but_indexer")
    return modes


_BY_HAND: Mapping[tuple[str, str], Callable[[Draft], Any]] = {
    **{(name, "frame_size"): _mimi_frame_size for name in ("MimiConfig", "MimiEncoderConfig", "MimiDecoderConfig")},
    **{(name, "frame_rate"): _mimi_frame_rate for name in ("MimiConfig", "MimiEncoderConfig", "MimiDecoderConfig")},
    ("Gemma3nTextConfig", "kv_sharing_modes"): _shared_tail,
    ("Gemma4TextConfig", "kv_sharing_modes"): _always_stored_tail,
    ("Gemma4UnifiedTextConfig", "kv_sharing_modes"): _always_stored_tail,
    ("MistralLarge4TextConfig", "kv_sharing_modes"): _mistral_sharing,
}
