"""DBRX: fine-grained experts stacked in three tall matrices, one matrix for q, k and v."""

from __future__ import annotations

from dataclasses import replace

from archscope.blocks.assembly import Architecture
from archscope.blocks.attention import Attention
from archscope.blocks.base import weight
from archscope.blocks.factories import attention, moe, named_norm, size
from archscope.blocks.leaves import linear
from archscope.blocks.moe import Moe
from archscope.blocks.size import Size
from archscope.blocks.skeletons import pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("dbrx")
def dbrx(c: Config) -> Architecture:
    """Attention and experts read their sizes from sub-configs; LayerNorms have no bias.

    Source: transformers, models/dbrx/modeling_dbrx.py (DbrxNormAttentionNorm, DbrxFFN).
    """
    tower = pre_norm_decoder(
        c,
        lambda kind: _attention(c),
        lambda kind: _experts(c),
        norm=named_norm(c, "layer", bias=False),
        norms=("norm_attn_norm.norm_1", "norm_attn_norm.norm_2"),
        final="norm_f",
        embed="wte",
        layers="blocks",
    )
    return with_head(c, tower, prefix="transformer", token_table="wte")


def _attention(c: Config) -> Attention:
    made = attention(
        c,
        name="norm_attn_norm.attn",
        names=("", "", "", "out_proj"),
        fused="Wqkv",
        num_kv_heads=c.sub("attn_config").kv_n_heads,
        head_dim=c.hidden_size // c.num_attention_heads,
        fields=("n_heads", "attn_config", "d_model"),
    )
    d = size(c, "hidden_size")
    fused = linear("Wqkv", d, d + 2 * made.num_kv_heads * made.head_dim, role="qkv", fields=made.fields)
    return replace(made, parts=(fused, linear("out_proj", d, d, role="o", fields=made.fields)))


def _experts(c: Config) -> Moe:
    """Gate, up and down of all experts below one another (DbrxExpertGLU)."""
    f = c.sub("ffn_config")
    d, e, m = size(f, "hidden_size"), Size(f.moe_num_experts, "E"), Size(f.ffn_hidden_size, "m_e")
    act = f.ffn_act_fn.get("name") if isinstance(f.ffn_act_fn, dict) else ""
    return moe(
        c,
        name="ffn",
        num_experts=e,
        top_k=f.moe_top_k,
        width=m,
        hidden=d,
        router="router.layer",
        experts="experts.mlp",
        stacked=tuple(weight(name, e * m, d) for name in ("w1", "v1", "w2")),
        activation=str(act or "silu"),
        normalised=f.moe_normalize_expert_weights is not None,
        fields=("ffn_config", "d_model"),
    )
