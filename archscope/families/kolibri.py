"""Kolibri: experts in every layer, norms before and after each sublayer, rotation only where a window slides."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, sandwich_norm
from archscope.blocks.base import weight
from archscope.blocks.factories import attention, mlp, moe, named_norm, sliding_window
from archscope.blocks.moe import Moe
from archscope.blocks.size import Size
from archscope.blocks.skeletons import decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("kolibri1")
def kolibri1(c: Config) -> Architecture:
    """Four norms a layer; full-attention layers have no positions where the model has a window.

    Source: transformers, models/kolibri1/modeling_kolibri1.py (Kolibri1Attention, Kolibri1DecoderLayer).
    """
    norm = named_norm(c)
    tower = decoder(
        c,
        lambda kind: sandwich_norm(
            (
                norm("input_layernorm"),
                attention(
                    c,
                    qk_norm="head",
                    window=sliding_window(c, kind),
                    position="rope" if c.sliding_window is None or kind == "sliding_attention" else "none",
                ),
                norm("post_attn_norm"),
            ),
            (norm("post_attention_layernorm"), _experts(c), norm("post_ffn_norm")),
        ),
        final_norm=norm("norm"),
    )
    return with_head(c, tower)


def _experts(c: Config) -> Moe:
    """The bias that steers the choice is saved beside the block (moe.router.expert_bias)."""
    shared = Size(c.shared_expert_intermediate_size, "m_shared")
    return moe(
        c,
        name="",
        num_experts=c.num_experts,
        top_k=c.num_experts_per_tok,
        width=c.moe_intermediate_size,
        router="",
        scores="mlp.gate",
        experts="mlp.experts",
        correction=weight("moe.router.expert_bias", Size(c.num_experts, "E"), parameter=False),
        scoring="sigmoid",
        normalised=c.norm_topk_prob,
        shared=mlp(
            c, name="mlp.shared_experts", role="shared", width=shared, fields=("shared_expert_intermediate_size",)
        ),
        num_shared=1,
    )
