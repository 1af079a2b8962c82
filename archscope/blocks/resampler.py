"""A resampler: a fixed number of learned queries attends to all patches once, and gives the text that many tokens."""

from __future__ import annotations

from archscope.blocks.base import Block, present, weight
from archscope.blocks.leaves import layer_norm, linear
from archscope.blocks.projectors import Projector
from archscope.blocks.towers import packed_attention


def resampler(
    name: str, source: int, target: int, *, queries: int, num_heads: int, after: tuple[Block, ...] = (), positions: bool
) -> Projector:
    """Patches into the text's width and normed, then one cross-attention of the queries, then what comes `after`.

    Shapes: query (queries, target), pos_embed the same where it is saved (`positions`); kv_proj (target, source).
    Source: Qwen-VL, arXiv 2308.12966 section 2.1.
    """
    return Projector(
        name=name,
        source_width=source,
        target_width=target,
        parts=present(
            weight("query", queries, target, role="side query"),
            weight("pos_embed", queries, target, role="side position") if positions else None,
            linear("kv_proj", source, target, role="kv"),
            layer_norm("ln_kv", target),
            layer_norm("ln_q", target, role="side query norm"),
            packed_attention("attn", target, num_heads, position="none"),
            *after,
        ),
        note=f"{queries} learned queries",
    )
