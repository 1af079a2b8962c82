"""Flint: Qwen3-MoE's layer with sinks, windows without global positions, and a shared expert."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.attention import Attention
from archscope.blocks.base import weight
from archscope.blocks.factories import attention, mlp, moe, size, sliding_window
from archscope.blocks.moe import Moe
from archscope.blocks.plans import stepped_layers
from archscope.blocks.size import Size
from archscope.blocks.skeletons import pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("flint")
def flint(c: Config) -> Architecture:
    """Sliding layers turn, full ones have no positions; every head has a sink, saved as softmax_offset.

    Source: transformers, models/flint/modeling_flint.py (FlintAttention, FlintSparseMoeBlock).
    """
    tower = pre_norm_decoder(
        c,
        lambda kind: _attention(c, kind[0]),
        lambda kind: _experts(c) if kind[1] == "moe" else mlp(c),
        kinds=tuple(zip(c.layer_types, stepped_layers(c), strict=False)),
    )
    return with_head(c, tower)


def _attention(c: Config, kind: str) -> Attention:
    window = sliding_window(c, kind)
    return attention(
        c,
        bias=c.attention_bias,
        qk_norm="head",
        window=window,
        position="none" if window is None else "rope",
        extras=(weight("softmax_offset", size(c, "num_attention_heads"), role="sinks"),),
    )


def _experts(c: Config) -> Moe:
    """Sigmoid scores without a correction; one block that every token passes."""
    width = Size(c.shared_expert_intermediate_size, "m_shared")
    return moe(
        c,
        num_experts=c.num_experts,
        top_k=c.num_experts_per_tok,
        width=c.moe_intermediate_size,
        scoring="sigmoid",
        normalised=c.norm_topk_prob,
        shared=mlp(c, name="shared_expert", role="shared", width=width, fields=("shared_expert_intermediate_size",)),
        num_shared=1,
    )
