"""MiMo-V2: sliding layers with sinks and twice the key/value heads, and experts routed by sigmoid scores."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, weight
from archscope.blocks.factories import attention, kinds, mlp, moe, size, sliding_window
from archscope.blocks.size import Size
from archscope.blocks.skeletons import pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("mimo_v2_flash")
def mimo_v2_flash(c: Config) -> Architecture:
    """Values are narrower than keys and scaled; only sliding layers have a sink for each head.

    Source: transformers, models/mimo_v2_flash/modeling_mimo_v2_flash.py (MiMoV2FlashAttention).
    """

    def mixer(kind: tuple[str, str]) -> Attention:
        slides = kind[0] == "sliding_attention"
        sinks = weight("attention_sink_bias", size(c, "num_attention_heads"), role="sinks")
        return attention(
            c,
            bias=c.attention_bias,
            out_bias=False,
            num_kv_heads=c.num_key_value_heads * (2 if slides else 1),
            v_head_dim=c.v_head_dim,
            layer_type=kind[0],
            window=sliding_window(c, kind[0]),
            extras=(sinks,) if slides else (),
        )

    by_layer = kinds(c, "layer_types", "mlp_layer_types")
    return with_head(c, pre_norm_decoder(c, mixer, lambda kind: _feed_forward(c, kind[1]), kinds=by_layer))


def _feed_forward(c: Config, kind: str) -> Block:
    if kind != "sparse":
        return mlp(c)
    return moe(
        c,
        num_experts=c.n_routed_experts,
        top_k=c.num_experts_per_tok,
        width=c.moe_intermediate_size,
        correction=weight("e_score_correction_bias", Size(c.n_routed_experts, "E"), parameter=False),
        scoring="sigmoid",
        normalised=c.norm_topk_prob,
        scale=c.routed_scaling_factor,
        groups=c.n_group,
        top_groups=c.topk_group,
        fields=("n_routed_experts", "num_experts_per_tok", "moe_intermediate_size"),
    )
