"""CPM-Ant: prompts in the token table, segments, and one table of relative positions for all layers."""

from __future__ import annotations

from dataclasses import replace

from archscope.blocks.assembly import Architecture
from archscope.blocks.base import weight
from archscope.blocks.factories import attention, mlp, named_norm, size
from archscope.blocks.leaves import embedding
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
    names = ("project_q", "project_k", "project_v", "attention_out")
    biases = c.segment_types * c.segment_types + c.position_bias_num_buckets
    tower = pre_norm_decoder(
        c,
        lambda kind: attention(
            c,
            name="self_att.self_attention",
            names=names,
            num_kv_heads=heads,
            head_dim=c.dim_head,
            position="relative",
        ),
        lambda kind: mlp(
            c,
            name="ffn.ffn",
            names=("w_in.w_0", "w_in.w_1", "w_out"),
            width=Size(c.dim_ff, "m"),
            activation="gelu",
        ),
        norm=named_norm(c),
        norms=("self_att.layernorm_before_attention", "ffn.layernorm_before_ffn"),
        final="encoder.output_layernorm",
        embed="input_embedding",
        before=(
            embedding("segment_embedding", c.segment_types, d, of="segment", role="embedding"),
            replace(weight("position_bias.relative_attention_bias", biases, heads), role="side"),
        ),
        layers="encoder.layers",
    )
    rows = size(c, "vocab_size") + c.prompt_types * c.prompt_length
    table = embedding(
        "input_embedding", rows, d, role="embedding", fields=("vocab_size", "prompt_types", "prompt_length")
    )
    tower = replace(tower, parts=(table, *tower.parts[1:]))
    return with_head(c, tower, prefix="cpmant", tie=False)
