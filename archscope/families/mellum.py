"""Mellum: sliding and full layers with norms on queries and keys, routed experts."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.base import Block
from archscope.blocks.factories import attention, kinds, mlp, moe, sliding_window
from archscope.blocks.skeletons import pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("mellum")
def mellum(c: Config) -> Architecture:
    """Window by layer_types, experts by mlp_layer_types.

    Source: transformers, models/mellum/modeling_mellum.py.
    """

    def feed_forward(kind: tuple[str, str]) -> Block:
        if kind[1] != "sparse":
            return mlp(c)
        return moe(
            c,
            num_experts=c.num_experts,
            top_k=c.num_experts_per_tok,
            width=c.moe_intermediate_size,
            normalised=c.norm_topk_prob,
        )

    tower = pre_norm_decoder(
        c,
        lambda kind: attention(
            c, bias=c.attention_bias, qk_norm="head", layer_type=kind[0], window=sliding_window(c, kind[0])
        ),
        feed_forward,
        kinds=kinds(c, "layer_types", "mlp_layer_types"),
    )
    return with_head(c, tower)
