"""Laguna: a gate on what attention gives, a head count for each layer, and routed experts."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, weight
from archscope.blocks.factories import attention, head_size, kinds, mlp, moe, size, sliding_window
from archscope.blocks.leaves import linear
from archscope.blocks.size import Size
from archscope.blocks.skeletons import pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("laguna")
def laguna(c: Config) -> Architecture:
    """Layers differ in window, MLP and number of heads; the gate is one number a head, or one an element.

    Source: transformers, models/laguna/modeling_laguna.py (LagunaAttention, LagunaDecoderLayer).
    """

    def mixer(kind: tuple[str, str, int]) -> Attention:
        heads = Size(kind[2], "h_q")
        width = heads if c.gating is True or c.gating == "per-head" else heads * head_size(c)
        return attention(
            c,
            bias=c.attention_bias,
            num_heads=heads,
            qk_norm="head",
            layer_type=kind[0],
            window=sliding_window(c, kind[0]),
            extras=(linear("g_proj", size(c, "hidden_size"), width, role="gate"),),
        )

    by_layer = kinds(c, "layer_types", "mlp_layer_types", "num_attention_heads_per_layer")
    return with_head(c, pre_norm_decoder(c, mixer, lambda kind: _feed_forward(c, kind[1]), kinds=by_layer))


def _feed_forward(c: Config, kind: str) -> Block:
    if kind != "sparse":
        return mlp(c)
    shared = Size(c.shared_expert_intermediate_size, "m_shared")
    return moe(
        c,
        num_experts=c.num_experts,
        top_k=c.num_experts_per_tok,
        width=c.moe_intermediate_size,
        router="",
        scores="gate",
        correction=weight("experts.e_score_correction_bias", Size(c.num_experts, "E")),
        scoring="sigmoid",
        normalised=True,
        scale=c.moe_routed_scaling_factor,
        shared=mlp(c, name="shared_expert", role="shared", width=shared, fields=("shared_expert_intermediate_size",)),
        num_shared=1,
    )
