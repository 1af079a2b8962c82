"""RecurrentGemma (Griffin): recurrent blocks, and local attention in every third layer."""

from __future__ import annotations

from math import sqrt

from archscope.blocks.assembly import Architecture
from archscope.blocks.base import Block
from archscope.blocks.factories import attention, kinds, mlp, size
from archscope.blocks.rg_lru import rg_lru_mixer
from archscope.blocks.size import Size
from archscope.blocks.skeletons import pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("recurrent_gemma")
def recurrent_gemma(c: Config) -> Architecture:
    """block_types repeats over the layers; the MLP is half as wide as intermediate_size says.

    Source: transformers, models/recurrent_gemma/modeling_recurrent_gemma.py; arXiv 2402.19427.
    """
    d, heads = size(c, "hidden_size"), c.num_attention_heads

    def mixer(kind: str) -> Block:
        if kind == "linear_attention":
            fields = ("lru_width", "conv1d_width", "num_attention_heads")
            return rg_lru_mixer(
                "temporal_block", d, width=c.lru_width, num_heads=heads, kernel=c.conv1d_width, fields=fields
            )
        window = c.attention_window_size
        return attention(c, name="temporal_block", bias=c.attention_bias, out_bias=True, window=window)

    tower = pre_norm_decoder(
        c,
        mixer,
        lambda kind: mlp(c, name="mlp_block", bias=True, width=Size(c.intermediate_size // 2, "m/2")),
        norms=("temporal_pre_norm", "channel_pre_norm"),
        final="final_norm",
        kinds=kinds(c, "layers_block_type"),
        embed_scale=sqrt(d),
    )
    return with_head(c, tower)
