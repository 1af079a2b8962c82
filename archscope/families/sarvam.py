"""Sarvam's mixture: GLM-4's experts and attention under the names of an older checkpoint."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.base import Block
from archscope.blocks.factories import attention, mlp
from archscope.blocks.routed import grouped_moe, sparse_layers
from archscope.blocks.skeletons import pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("sarvam_moe")
def sarvam_moe(c: Config) -> Architecture:
    """One matrix for q, k and v; dense layers first, then sigmoid-routed experts.

    Source: transformers, models/glm4_moe/modeling_glm4_moe.py; names as the conversion of sarvam_moe saves them.
    """

    def feed_forward(kind: str) -> Block:
        return grouped_moe(c, correction="expert_bias") if kind == "moe" else mlp(c)

    # The name of the table changes only below the prefix of a class with a head.
    table = "embed_tokens" if c.task == "model" else "word_embeddings"
    tower = pre_norm_decoder(
        c,
        lambda kind: attention(
            c,
            name="attention",
            names=("", "", "", "dense"),
            fused="query_key_value",
            bias=c.attention_bias,
            out_bias=False,
            qk_norm="head" if c.use_qk_norm else "",
            norm_names=("query_layernorm", "key_layernorm"),
        ),
        feed_forward,
        kinds=sparse_layers(c, c.first_k_dense_replace),
        embed=table,
    )
    return with_head(c, tower, token_table=table)
