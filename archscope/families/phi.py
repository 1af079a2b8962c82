"""The Phi lineage."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, pre_norm
from archscope.blocks.factories import attention, mlp, size
from archscope.blocks.leaves import rms_norm
from archscope.blocks.skeletons import decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("phi3")
def phi3(c: Config) -> Architecture:
    """Pre-norm decoder with one matrix for q, k, v and one for gate and up.

    Source: transformers, models/phi3/modeling_phi3.py.
    """
    d = size(c, "hidden_size")
    tower = decoder(
        c,
        lambda kind: pre_norm(
            (rms_norm("input_layernorm", d), attention(c, fused="qkv_proj", window=c.sliding_window)),
            (rms_norm("post_attention_layernorm", d), mlp(c, kind="fused")),
        ),
        final_norm=rms_norm("norm", d),
    )
    return with_head(c, tower)
