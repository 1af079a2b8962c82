"""Persimmon: LayerNorms, one matrix for q, k and v, part of each head rotated."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.attention import head_norms
from archscope.blocks.factories import attention, epsilon, mlp, named_norm, size
from archscope.blocks.size import Size
from archscope.blocks.skeletons import pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("persimmon")
def persimmon(c: Config) -> Architecture:
    """Pre-norm decoder with as many key/value heads as query heads, biases everywhere and a plain MLP.

    Source: transformers, models/persimmon/modeling_persimmon.py (PersimmonAttention).
    """
    width = Size(size(c, "hidden_size") // c.num_attention_heads, "d_h")
    names = ("q_layernorm", "k_layernorm")
    norms = head_norms("layer", width, eps=epsilon(c), names=names, bias=True) if c.qk_layernorm else ()
    tower = pre_norm_decoder(
        c,
        lambda kind: attention(
            c,
            names=("", "", "", "dense"),
            fused="query_key_value",
            bias=True,
            num_kv_heads=c.num_attention_heads,
            head_dim=width,
            extras=norms,
        ),
        lambda kind: mlp(c, kind="plain", names=("dense_h_to_4h", "dense_4h_to_h"), bias=True),
        norm=named_norm(c, "layer"),
        final="final_layernorm",
    )
    return with_head(c, tower)
