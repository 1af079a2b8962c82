"""MiniCPM 3: latent attention in a dense decoder whose embeddings, branches and logits are scaled."""

from __future__ import annotations

from math import sqrt

from archscope.blocks.assembly import Architecture
from archscope.blocks.factories import latent_attention, mlp
from archscope.blocks.skeletons import pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("minicpm3")
def minicpm3(c: Config) -> Architecture:
    """Pre-norm decoder; what is added to the residual stream shrinks with the number of layers.

    Source: transformers, models/minicpm3/modeling_minicpm3.py (MiniCPM3DecoderLayer).
    """
    tower = pre_norm_decoder(
        c,
        lambda kind: latent_attention(c, bias=c.attention_bias),
        lambda kind: mlp(c, bias=c.mlp_bias),
        scale=c.scale_depth / sqrt(c.num_hidden_layers),
        embed_scale=c.scale_emb,
    )
    return with_head(c, tower)
