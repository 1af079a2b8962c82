"""AFMoE (Trinity): norms around each sublayer, gated attention, sigmoid-routed experts with a saved correction."""

from __future__ import annotations

from math import sqrt

from archscope.blocks.assembly import Architecture, Sublayer, sandwich_norm
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block
from archscope.blocks.factories import attention, head_size, mlp, named_norm, size, sliding_window
from archscope.blocks.leaves import linear
from archscope.blocks.routed import grouped_moe, sparse_layers
from archscope.blocks.skeletons import decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("afmoe")
def afmoe(c: Config) -> Architecture:
    """Sliding layers turn, global ones have no positions; the first num_dense_layers have an MLP.

    Source: transformers, models/afmoe/modeling_afmoe.py (AfmoeDecoderLayer, AfmoeAttention, AfmoeSparseMoeBlock).
    """
    norm = named_norm(c)

    def layer(kind: tuple[str, str]) -> tuple[Sublayer, ...]:
        feed_forward = _experts(c) if kind[1] == "moe" else mlp(c)
        return sandwich_norm(
            (norm("input_layernorm"), _attention(c, kind[0]), norm("post_attention_layernorm")),
            (norm("pre_mlp_layernorm"), feed_forward, norm("post_mlp_layernorm")),
        )

    plan = tuple(zip(c.layer_types, sparse_layers(c, c.num_dense_layers), strict=False))
    scale = sqrt(c.hidden_size) if c.mup_enabled else None
    return with_head(c, decoder(c, layer, kinds=plan, embed_scale=scale, final_norm=norm("norm")))


def _attention(c: Config, kind: str) -> Attention:
    local = kind == "sliding_attention"
    return attention(
        c,
        bias=c.attention_bias,
        qk_norm="head",
        window=sliding_window(c, kind),
        position="rope" if local else "none",
        extras=(linear("gate_proj", size(c, "hidden_size"), c.num_attention_heads * head_size(c), role="gate"),),
    )


def _experts(c: Config) -> Block:
    return grouped_moe(
        c,
        num_experts=c.num_experts,
        num_shared=c.num_shared_experts,
        router="",
        scores="router.gate",
        correction="expert_bias",
        trained=True,
        normalised=True,
        scale=c.route_scale,
    )
