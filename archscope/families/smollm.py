"""SmolLM 3: Llama's decoder in which every fourth layer has no positions."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.factories import attention, kinds, mlp, sliding_window
from archscope.blocks.skeletons import QA_PREFIX, pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("smollm3")
def smollm3(c: Config) -> Architecture:
    """no_rope_layers says which layers rotate (1) or not (0), layer_types which slide.

    Source: transformers, models/smollm3/modeling_smollm3.py (SmolLM3Attention).
    """
    tower = pre_norm_decoder(
        c,
        lambda kind: attention(
            c,
            bias=c.attention_bias,
            window=sliding_window(c, kind[0]) if c.use_sliding_window else None,
            position="rope" if kind[1] else "none",
        ),
        lambda kind: mlp(c, bias=c.mlp_bias),
        kinds=kinds(c, "layer_types", "no_rope_layers"),
    )
    return with_head(c, tower, prefixes=QA_PREFIX)
