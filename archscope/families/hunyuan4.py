"""Hunyuan 4: latent attention over indexed positions, several residual streams, experts in stacked tensors."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Branch, Sublayer
from archscope.blocks.base import Block, weight
from archscope.blocks.factories import kinds, latent_attention, mlp, moe, named_norm, size, stacked_experts
from archscope.blocks.hyper_connection import mapped_hyper_connection
from archscope.blocks.indexer import sparse_indexer
from archscope.blocks.leaves import linear
from archscope.blocks.size import Size
from archscope.blocks.skeletons import decoder, with_head
from archscope.config import Config
from archscope.families.registry import family

NAMES = ("linear_gate", "up_proj", "down_proj")


@family("hy_v4", "hy_v4_vl_text")
def hy_v4(c: Config) -> Architecture:
    """Each sublayer reads one stream out of hc_mult and writes to all; some layers share the indices of one before.

    Source: transformers, models/hy_v4/modeling_hy_v4.py (HYV4DecoderLayer, HYV4HyperConnection).
    """
    d, norm, streams = size(c, "hidden_size"), named_norm(c), c.hc_mult
    names = ("hc_fn", "hc_base", "hc_scale")

    def connected(name: str, before: str, body: Block) -> Sublayer:
        mixed = mapped_hyper_connection(f"hc_pre.{name}", d, streams, maps=2 * streams, scales=2, names=names)
        return Sublayer(branches=(Branch(pre=norm(before), body=body),), shared=mixed)

    def layer(kind: tuple[str, str]) -> tuple[Sublayer, ...]:
        return (
            connected("hc_attn_layer", "input_layernorm", _attention(c, kind[0] != "shared")),
            connected("hc_mlp_layer", "post_attention_layernorm", _feed_forward(c, kind[1])),
        )

    # The renaming of saved names puts the prefix inside where there is nothing before the module.
    at, inner = ("hc_head", "hc_pre.hc_head") if c.task == "model" else ("hc_pre.hc_head", "hc_head")
    ends = (f"{inner}_fn", f"{inner}_base", f"{inner}_scale")
    last = mapped_hyper_connection(at, d, streams, maps=streams, scales=1, names=ends)
    tower = decoder(c, layer, kinds=kinds(c, "indexer_types", "mlp_layer_types"), after=(last, norm("norm")))
    return with_head(c, tower)


def _attention(c: Config, indexed: bool) -> Block:
    """A sigmoid gate on every element of the heads, a sink for each head."""
    d, heads = size(c, "hidden_size"), size(c, "num_attention_heads")
    indexer = sparse_indexer(
        d, size(c, "q_lora_rank"), num_heads=c.index_n_heads, head_dim=c.index_head_dim, top_k=c.index_topk
    )
    gate = linear("linear_gate", d, heads * size(c, "v_head_dim"), role="gate")
    sinks = weight("learnable_sink_param", heads, role="sinks")
    extras = (gate, sinks, indexer) if indexed else (gate, sinks)
    return latent_attention(c, bias=c.attention_bias, extras=extras, top_k=c.index_topk)


def _feed_forward(c: Config, kind: str) -> Block:
    if kind != "sparse":
        return mlp(c, names=NAMES)
    e, m = Size(c.n_routed_experts, "E"), c.moe_intermediate_size
    return moe(
        c,
        num_experts=e,
        top_k=c.num_experts_per_tok,
        width=m,
        stacked=stacked_experts(e, size(c, "hidden_size"), m),
        activation="clamped swiglu",
        correction=weight("e_score_correction_bias", e, parameter=False),
        scoring="sigmoid",
        normalised=c.norm_topk_prob,
        scale=c.routed_scaling_factor,
        groups=c.n_group,
        top_groups=c.topk_group,
        shared=mlp(
            c,
            name="shared_experts",
            role="shared",
            names=NAMES,
            width=Size(m * c.n_shared_experts, "m_e·n_shared"),
            fields=("n_shared_experts", "moe_intermediate_size"),
        ),
        num_shared=c.n_shared_experts,
        fields=("n_routed_experts", "num_experts_per_tok", "moe_intermediate_size"),
    )
