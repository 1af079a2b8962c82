"""Kimi Linear: delta attention with a decay for each channel, latent attention without positions in between."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.base import Block, weight
from archscope.blocks.delta import kimi_delta_attention
from archscope.blocks.factories import kinds, latent_attention, mlp, moe, size
from archscope.blocks.size import Size
from archscope.blocks.skeletons import pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("kimi_linear")
def kimi_linear(c: Config) -> Architecture:
    """Mixer by layer_types, experts by mlp_layer_types; the head is never tied.

    Source: transformers, models/kimi_linear/modeling_kimi_linear.py; arXiv 2510.26692.
    """

    def mixer(kind: tuple[str, str]) -> Block:
        if kind[0] == "full_attention":
            return latent_attention(c, bias=c.attention_bias, position="none")
        return kimi_delta_attention(
            "self_attn",
            size(c, "hidden_size"),
            num_heads=c.linear_num_heads,
            head_dim=c.linear_head_dim,
            kernel=c.linear_conv_kernel_dim,
            fields=("linear_num_heads", "linear_head_dim", "linear_conv_kernel_dim"),
        )

    by_layer = kinds(c, "layer_types", "mlp_layer_types")
    tower = pre_norm_decoder(c, mixer, lambda kind: _feed_forward(c, kind[1]), kinds=by_layer)
    return with_head(c, tower, tie=False)


def _feed_forward(c: Config, kind: str) -> Block:
    """Saved under block_sparse_moe, dense or not."""
    if kind != "sparse":
        return mlp(c, name="block_sparse_moe")
    e, m = Size(c.num_local_experts, "E"), c.moe_intermediate_size
    return moe(
        c,
        name="block_sparse_moe",
        num_experts=e,
        top_k=c.num_experts_per_tok,
        width=m,
        names=("w1", "w3", "w2"),
        correction=weight("e_score_correction_bias", e, parameter=False),
        scoring="sigmoid",
        normalised=bool(c.norm_topk_prob),
        scale=c.routed_scaling_factor,
        groups=c.n_group or 1,
        top_groups=c.topk_group,
        shared=mlp(
            c,
            name="shared_experts",
            role="shared",
            width=Size(m * c.n_shared_experts, "m_e·n_shared"),
            fields=("n_shared_experts", "moe_intermediate_size"),
        ),
        num_shared=c.n_shared_experts,
        fields=("num_local_experts", "num_experts_per_tok", "moe_intermediate_size"),
    )
