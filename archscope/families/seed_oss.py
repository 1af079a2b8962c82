"""Seed-OSS: Llama's decoder with a bias of its own for the way out of attention."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.factories import attention, mlp
from archscope.blocks.skeletons import QA_PREFIX, pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("seed_oss")
def seed_oss(c: Config) -> Architecture:
    """Pre-norm decoder; attention_bias for q, k and v, attention_out_bias for the output.

    Source: transformers, models/seed_oss/modeling_seed_oss.py (SeedOssAttention).
    """
    tower = pre_norm_decoder(
        c,
        lambda kind: attention(c, bias=c.attention_bias, out_bias=c.attention_out_bias),
        lambda kind: mlp(c, bias=c.mlp_bias),
    )
    return with_head(c, tower, prefixes=QA_PREFIX)
