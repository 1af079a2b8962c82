"""Lara Mini: gated delta nets, sliding and full attention in turn, experts in every layer."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.base import Block
from archscope.blocks.delta import gated_delta_net
from archscope.blocks.factories import attention, mlp, moe, size, sliding_window, stacked_experts
from archscope.blocks.leaves import linear
from archscope.blocks.moe import Moe
from archscope.blocks.size import Size
from archscope.blocks.skeletons import pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("lara_mini")
def lara_mini(c: Config) -> Architecture:
    """Full attention has no positions; the projections of a delta net are saved as one matrix.

    Source: transformers, models/lara_mini/modeling_lara_mini.py.
    """

    def mixer(kind: str) -> Block:
        if kind == "linear_attention":
            return _delta_net(c)
        return attention(
            c,
            bias=c.attention_bias,
            qk_norm="head",
            window=sliding_window(c, kind),
            position="rope" if kind == "sliding_attention" else "none",
        )

    return with_head(c, pre_norm_decoder(c, mixer, lambda kind: _experts(c)))


def _delta_net(c: Config) -> Block:
    """Rows of in_proj: queries, keys, values, gate z, strength b, decay a."""
    d, heads = size(c, "hidden_size"), size(c, "linear_num_value_heads")
    keys = size(c, "linear_num_key_heads") * size(c, "linear_key_head_dim")
    values = heads * size(c, "linear_value_head_dim")
    return gated_delta_net(
        "linear_attn",
        d,
        key_heads=c.linear_num_key_heads,
        value_heads=heads,
        key_dim=c.linear_key_head_dim,
        value_dim=c.linear_value_head_dim,
        kernel=c.linear_conv_kernel_dim,
        projections=(linear("in_proj", d, 2 * keys + 2 * values + 2 * heads, role="in_proj"),),
        norm="out_norm",
        fields=("linear_num_key_heads", "linear_num_value_heads", "linear_key_head_dim", "linear_value_head_dim"),
    )


def _experts(c: Config) -> Moe:
    e, m = c.num_experts, c.moe_intermediate_size
    shared = Size(c.shared_expert_intermediate_size, "m_shared")
    return moe(
        c,
        num_experts=e,
        top_k=c.num_experts_per_tok,
        width=m,
        stacked=stacked_experts(e, size(c, "hidden_size"), m),
        normalised=c.norm_topk_prob,
        shared=mlp(c, name="shared_expert", role="shared", width=shared, fields=("shared_expert_intermediate_size",)),
        num_shared=1,
    )
