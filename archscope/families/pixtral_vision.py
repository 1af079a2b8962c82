"""Pixtral's vision tower: RMSNorm, gated feed-forward blocks, rotary positions in rows and columns."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.factories import rope, size
from archscope.blocks.leaves import rms_norm
from archscope.blocks.mlp import gated_mlp
from archscope.blocks.patches import patch_embedding, sides
from archscope.blocks.towers import layers, square_attention, tower_model
from archscope.config import Config
from archscope.families.registry import family


@family("pixtral")
def pixtral(c: Config) -> Architecture:
    """No biases, no learned positions: images keep their aspect ratio.

    Source: transformers, models/pixtral/modeling_pixtral.py (PixtralVisionModel).
    """
    d = size(c, "hidden_size")
    attend = square_attention(
        d,
        c.num_attention_heads,
        name="attention",
        names=("q_proj", "k_proj", "v_proj", "o_proj"),
        bias=False,
        position="rope",
        rotary=rope(c, dim=int(d // c.num_attention_heads)),
    )
    ffn = gated_mlp(d, size(c, "intermediate_size"), c.hidden_act, name="feed_forward")
    return tower_model(
        c,
        d,
        patch_embedding("", c.num_channels, d, sides(c.patch_size), projection="patch_conv", bias=False),
        rms_norm("ln_pre", d, eps=1e-5),
        layers(
            "transformer.layers",
            c.num_hidden_layers,
            d,
            attend,
            ffn,
            norm=rms_norm,
            norms=("attention_norm", "ffn_norm"),
            eps=1e-5,
        ),
    )
