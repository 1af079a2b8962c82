"""CPM-Ant: prompts in the token table, segments, and one table of relative positions for all layers."""

from __future__ import annotations

from dataclasses import replace

from archscope.blocks.assembly import Architecture
from archscope.blocks.attention import Attention
from archscope.blocks.base import weight
from archscope.blocks.factories import attention, mlp, size
from archscope.blocks.leaves import embedding
from archscope.blocks.mlp import Mlp
from archscope.blocks.size import Size
from archscope.blocks.skeletons import pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("cpmant")
def cpmant(c: Config) -> Architecture:
    """The token table has prompt_types x prompt_length more rows than the head, which it is never tied to.

    Source: transformers, models/cpmant/modeling_cpmant.py (CpmAntModel, CpmAntSegmentPositionEmbedding).
    """
    d, heads = size(c, "hidden_size"), size(c, "num_attention_heads")
    rows = size(c, "vocab_size") + c.prompt_types * c.prompt_length
    biases = c.segment_types * c.segment_types + c.position_bias_num_buckets
    tower = pre_norm_decoder(
        c,
        lambda kind: _attention(c),
        lambda kind: _mlp(c),
        norms=("self_att.layernorm_before_attention", "ffn.layernorm_before_ffn"),
        final="encoder.output_layernorm",
        before=(
            embedding("segment_embedding", c.segment_types, d, of="segment", role="embedding"),
            replace(weight("position_bias.relative_attention_bias", biases, heads), role="side"),
        ),
        layers="encoder.layers",
    )
    table = embedding("input_embedding", rows, d, role="embedding", fields=("vocab_size", "prompt_types"))
    return with_head(c, replace(tower, parts=(table, *tower.parts[1:])), prefix="cpmant", tie=False)


def _attention(c: Config) -> Attention:
    return attention(
        c,
        name="self_att.self_attention",
        names=("project_q", "project_k", "project_v", "attention_out"),
        num_kv_heads=c.num_attention_heads,
        head_dim=c.dim_head,
        position="relative",
    )


def _mlp(c: Config) -> Mlp:
    names = ("w_in.w_0", "w_in.w_1", "w_out")
    return mlp(c, name="ffn.ffn", names=names, width=Size(c.dim_ff, "m"), activation="gelu")
