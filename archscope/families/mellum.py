"""Mellum: sliding and full layers with norms on queries and keys, routed experts."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Sublayer, pre_norm
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block
from archscope.blocks.factories import attention, kinds, mlp, moe, named_norm, sliding_window
from archscope.blocks.prediction import joined_prediction
from archscope.blocks.skeletons import decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("mellum")
def mellum(c: Config) -> Architecture:
    """Window by layer_types, experts by mlp_layer_types.

    Source: transformers, models/mellum/modeling_mellum.py.
    """
    norm = named_norm(c)

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

    def mixer(kind: tuple[str, str]) -> Attention:
        window = sliding_window(c, kind[0])
        return attention(c, bias=c.attention_bias, qk_norm="head", layer_type=kind[0], window=window)

    def layer(kind: tuple[str, str]) -> tuple[Sublayer, ...]:
        return pre_norm((norm("input_layernorm"), mixer(kind)), (norm("post_attention_layernorm"), feed_forward(kind)))

    tower = decoder(c, layer, kinds=kinds(c, "layer_types", "mlp_layer_types"), final_norm=norm("norm"))
    ahead = tuple(zip(c.mtp_layer_types or (), c.mtp_mlp_layer_types or (), strict=False)) if c.num_mtp_layers else ()
    return with_head(c, tower, extra=joined_prediction(c, layer, ahead))
