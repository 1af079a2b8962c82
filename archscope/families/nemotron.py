"""The Nemotron lineage."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.factories import attention, mlp, named_norm
from archscope.blocks.skeletons import QA_PREFIX, pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("nemotron")
def nemotron(c: Config) -> Architecture:
    """Pre-norm decoder with LayerNorms of 1 + weight, part of each head rotated, a plain MLP of squared ReLU.

    Source: transformers, models/nemotron/modeling_nemotron.py.
    """
    tower = pre_norm_decoder(
        c,
        lambda kind: attention(c, bias=c.attention_bias),
        lambda kind: mlp(c, kind="plain", names=("up_proj", "down_proj"), bias=c.mlp_bias),
        norm=named_norm(c, "layer"),
    )
    return with_head(c, tower, prefixes=QA_PREFIX)
