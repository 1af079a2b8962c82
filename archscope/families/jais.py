"""Jais 2: Llama's attention between LayerNorms, and a plain MLP."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.factories import attention, mlp, named_norm
from archscope.blocks.skeletons import pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("jais2")
def jais2(c: Config) -> Architecture:
    """Pre-norm decoder with LayerNorms and an ungated MLP.

    Source: transformers, models/jais2/modeling_jais2.py.
    """
    tower = pre_norm_decoder(
        c,
        lambda kind: attention(c, bias=c.attention_bias),
        lambda kind: mlp(c, kind="plain", names=("up_proj", "down_proj"), bias=c.mlp_bias),
        norm=named_norm(c, "layer"),
    )
    return with_head(c, tower)
