"""Doge: attention under a learned mask, scaled residuals, and experts of one unit found by product keys."""

from __future__ import annotations

from dataclasses import replace
from math import isqrt

from archscope.blocks.assembly import Architecture, Layer, Sublayer, pre_norm
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, weight
from archscope.blocks.factories import attention, head_size, mlp, moe, named_norm, size
from archscope.blocks.leaves import linear
from archscope.blocks.moe import Moe
from archscope.blocks.size import Size
from archscope.blocks.skeletons import decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("doge")
def doge(c: Config) -> Architecture:
    """Two vectors a layer multiply the residual stream before the adds; experts where is_moe is true.

    Source: transformers, models/doge/modeling_doge.py (DogeDecoderLayer, DogeAttention).
    """
    d, norm = size(c, "hidden_size"), named_norm(c)

    def layer(kind: object) -> Layer:
        feed_forward: Block = _cross_domain(c) if c.is_moe else mlp(c, bias=c.mlp_bias)
        sublayers: tuple[Sublayer, ...] = pre_norm(
            (norm("input_layernorm"), _attention(c)), (norm("post_attention_layernorm"), feed_forward)
        )
        scales = (weight("input_residual", d), weight("post_attention_residual", d))
        return Layer(sublayers=sublayers, width=d, extras=scales)

    return with_head(c, decoder(c, layer, kinds=("",) * c.num_hidden_layers, final_norm=norm("norm")))


def _attention(c: Config) -> Attention:
    """The values decide, for each head of them, which positions are worth keeping (past keep_window_size)."""
    kv = size(c, "num_key_value_heads")
    return attention(
        c,
        bias=c.attention_bias,
        qk_norm="head",
        extras=(
            weight("A", kv),
            linear("dt_proj", kv * head_size(c), kv, c.attention_bias, role="mask"),
        ),
    )


def _cross_domain(c: Config) -> Moe:
    """A row of two tables is an expert, scores are sums over two sets of keys (DogeCDMoE); an MLP stands beside."""
    d, e = size(c, "hidden_size"), Size(c.num_experts, "E")
    made = moe(
        c,
        num_experts=e,
        top_k=c.num_experts_per_tok,
        width=1,
        router="router_gate",
        experts="",
        gated=False,
        names=("up", "down"),
        stacked=(weight("down_embed.weight", e, d), weight("up_embed.weight", e, d)),
        normalised=c.norm_topk_prob,
        shared=mlp(c, name="", role="shared", bias=c.mlp_bias),
        num_shared=1,
        fields=("num_experts", "num_experts_per_tok", "intermediate_size"),
    )
    keys = linear("", d, 2 * Size(isqrt(c.num_experts), "√E"), role="scores")
    return replace(made, router=replace(made.router, parts=(keys,)))
