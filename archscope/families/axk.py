"""The A.X lineage: latent attention and DeepSeek-V3's experts, with further norms (K1) and gated ones (K2)."""

from __future__ import annotations

from dataclasses import replace

from archscope.blocks.assembly import Architecture, Branch, Sublayer
from archscope.blocks.base import Block
from archscope.blocks.factories import kinds, latent_attention, mlp, named_norm, size
from archscope.blocks.gated_norm import GatedNorm, gated_norm
from archscope.blocks.indexer import sparse_indexer
from archscope.blocks.latent_attention import LatentAttention
from archscope.blocks.leaves import linear
from archscope.blocks.routed import grouped_moe
from archscope.blocks.skeletons import decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("axk1")
def axk1(c: Config) -> Architecture:
    """DeepSeek-V3's layer with one more norm after the experts.

    Source: transformers, models/axk1/modeling_axk1.py (AXK1MoE); saved as its conversion names it.
    """
    norm = named_norm(c)

    def layer(kind: object) -> tuple[Sublayer, ...]:
        mixer = latent_attention(c, bias=c.attention_bias)
        after = norm("post_mlp_layernorm") if kind == "sparse" else None
        body = grouped_moe(c) if kind == "sparse" else mlp(c)
        return (
            Sublayer(branches=(Branch(pre=norm("input_layernorm"), body=mixer),)),
            Sublayer(branches=(Branch(pre=norm("post_attention_layernorm"), body=body, post=after),)),
        )

    tower = decoder(c, layer, kinds=kinds(c, "mlp_layer_types"), final_norm=norm("norm"))
    return with_head(c, tower)


@family("axk2")
def axk2(c: Config) -> Architecture:
    """Norms with a gate of low rank (before a dense MLP a plain one), an indexer, a gate on what heads give.

    Source: transformers, models/axk2/modeling_axk2.py (AXK2Attention, AXK2GatedRMSNorm); saved as it converts.
    """
    norm = named_norm(c)

    def layer(kind: object) -> tuple[Sublayer, ...]:
        sparse = kind == "sparse"
        second: Block = _gated_norm(c, "post_attention_layernorm") if sparse else norm("post_attention_layernorm")
        body = grouped_moe(c) if sparse else mlp(c)
        return (
            Sublayer(branches=(Branch(pre=_gated_norm(c, "input_layernorm"), body=_gated_attention(c)),)),
            Sublayer(branches=(Branch(pre=second, body=body),)),
        )

    tower = decoder(c, layer, kinds=kinds(c, "mlp_layer_types"), final_norm=norm("norm"))
    return with_head(c, tower)


def _gated_norm(c: Config, name: str) -> GatedNorm:
    return gated_norm(name, replace(named_norm(c)("norm"), role="norm"), c.gated_norm_rank)


def _gated_attention(c: Config) -> LatentAttention:
    """The query matrix reads the latent with and without its norm, and gives a gate beside the queries."""
    d, rank = size(c, "hidden_size"), size(c, "q_lora_rank")
    chosen = sparse_indexer(d, rank, num_heads=c.index_n_heads, head_dim=c.index_head_dim, top_k=c.index_topk)
    made = latent_attention(c, bias=c.attention_bias, extras=(chosen,))
    width = size(c, "num_attention_heads") * (
        size(c, "qk_nope_head_dim") + size(c, "qk_rope_head_dim") + size(c, "v_head_dim")
    )
    queries = linear("q_b_proj", 2 * rank, width, role="q_b_gate")
    return replace(made, parts=tuple(queries if part.role == "q_b" else part for part in made.parts))
