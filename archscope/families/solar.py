"""Solar Open: sigmoid-routed experts by groups beside shared ones, in every layer."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.factories import attention
from archscope.blocks.routed import grouped_moe
from archscope.blocks.skeletons import pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("solar_open")
def solar_open(c: Config) -> Architecture:
    """Pre-norm decoder; a saved bias corrects the choice of experts.

    Source: transformers, models/solar_open/modeling_solar_open.py (SolarOpenMoE).
    """
    tower = pre_norm_decoder(
        c, lambda kind: attention(c, bias=c.attention_bias, out_bias=False), lambda kind: grouped_moe(c)
    )
    return with_head(c, tower)
