"""Youtu-LLM: latent attention in a dense decoder."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.factories import latent_attention, mlp
from archscope.blocks.skeletons import pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("youtu")
def youtu(c: Config) -> Architecture:
    """Pre-norm decoder with multi-head latent attention and a gated MLP.

    Source: transformers, models/youtu/modeling_youtu.py (YoutuAttention).
    """
    tower = pre_norm_decoder(c, lambda kind: latent_attention(c, bias=c.attention_bias), lambda kind: mlp(c))
    return with_head(c, tower)
