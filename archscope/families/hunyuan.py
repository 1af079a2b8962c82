"""The Hunyuan lineage: RMSNorms per head on queries and keys, and experts beside a shared block."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, weight
from archscope.blocks.factories import attention, mlp, moe
from archscope.blocks.moe import Moe
from archscope.blocks.size import Size
from archscope.blocks.skeletons import pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("hunyuan_v1_dense", "hunyuan_vl_text")
def hunyuan_v1_dense(c: Config) -> Architecture:
    """Pre-norm decoder that normalises queries and keys after their rotation.

    Source: transformers, models/hunyuan_v1_dense/modeling_hunyuan_v1_dense.py (HunYuanDenseV1Attention).
    """
    return with_head(c, pre_norm_decoder(c, lambda kind: _attention(c), lambda kind: mlp(c)))


@family("hunyuan_v1_moe")
def hunyuan_v1_moe(c: Config) -> Architecture:
    """The dense decoder with softmax-routed experts and a shared block in every layer; moe_topk may be a list by layer.

    Source: transformers, models/hunyuan_v1_moe/modeling_hunyuan_v1_moe.py (HunYuanMoEV1Moe).
    """
    top_k, count = c.moe_topk, c.num_hidden_layers
    kinds = tuple(top_k[:count]) if isinstance(top_k, list | tuple) else (top_k,) * count
    fields = ("num_experts", "moe_topk", "intermediate_size")

    def feed_forward(kind: int) -> Moe:
        return moe(
            c,
            num_experts=c.num_experts,
            top_k=kind,
            width=c.intermediate_size,
            scores="wg",
            normalised=True,
            shared=mlp(c, name="shared_mlp", role="shared"),
            num_shared=1,
            fields=fields,
        )

    return with_head(c, pre_norm_decoder(c, lambda kind: _attention(c), feed_forward, kinds=kinds))


@family("hy_v3")
def hy_v3(c: Config) -> Architecture:
    """Dense and sparse layers by mlp_layer_types; sigmoid scores, corrected by a saved bias of the layer.

    Source: transformers, models/hy_v3/modeling_hy_v3.py (HYV3MoE).
    """
    bias = c.mlp_bias
    # A shared width of zero falls back to the dense one (HYV3MLP).
    shared = Size(c.moe_intermediate_size * c.num_shared_experts or c.intermediate_size, "m_e·n_shared")

    def feed_forward(kind: object) -> Block:
        if kind != "sparse":
            return mlp(c, bias=bias)
        return moe(
            c,
            num_experts=c.num_experts,
            top_k=c.num_experts_per_tok,
            width=c.moe_intermediate_size,
            router="",
            scores="router.gate",
            correction=weight("expert_bias", Size(c.num_experts, "E"), parameter=False),
            scoring="sigmoid",
            normalised=True,
            scale=c.router_scaling_factor,
            shared=mlp(c, name="shared_mlp", role="shared", width=shared, bias=bias, fields=("num_shared_experts",)),
            num_shared=c.num_shared_experts,
        )

    kinds = tuple(c.mlp_layer_types)[: c.num_hidden_layers]
    mixer = attention(c, bias=c.attention_bias, qk_norm="head")
    return with_head(c, pre_norm_decoder(c, lambda kind: mixer, feed_forward, kinds=kinds))


def _attention(c: Config) -> Attention:
    names = ("query_layernorm", "key_layernorm")
    return attention(c, bias=c.attention_bias, qk_norm="head", norm_names=names, late_norm=True)
