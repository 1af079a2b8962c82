"""How much of a head is rotated."""

from __future__ import annotations

from math import isfinite
from typing import Any

from archscope.config.config import Config

MOST_WIDTH = 10**9


def rotary_width(config: Config) -> int | None:
    """How many values of a head are rotated; None where the config does not say."""
    width = config.get("qk_rope_head_dim")
    if not _is_whole(width) or not width:
        width = config.get("head_dim")
        if not _is_whole(width):
            d, heads = config.get("hidden_size"), config.get("num_attention_heads")
            width = d // heads if _is_whole(d) and _is_whole(heads) and heads > 0 else None
        parts = [rope.partial_rotary_factor for rope in config.rope.values()]
        part = parts[0] if parts else None
        share = 1.0 if part is None or not _is_number(part) else part
        width = None if width is None or width > MOST_WIDTH else int(width * share)
    return width if width and width > 0 else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
