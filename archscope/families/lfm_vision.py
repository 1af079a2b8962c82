"""LFM 3's vision tower: gated convolutions over the image in most layers, attention in the others."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Sublayer, pre_norm, stack
from archscope.blocks.base import Block
from archscope.blocks.factories import attention, kinds, rope, size
from archscope.blocks.leaves import conv, linear, rms_norm
from archscope.blocks.mlp import gated_mlp
from archscope.blocks.patches import patch_embedding, sides
from archscope.blocks.ssm import StateMixer
from archscope.blocks.towers import tower_model
from archscope.config import Config
from archscope.families.registry import family


@family("lfm3_vl_vision")
def lfm3_vision(c: Config) -> Architecture:
    """Flat patches, RMSNorm, grouped keys and values with norms on each head.

    Source: transformers, models/lfm3_vl/modeling_lfm3_vl.py (Lfm3VlVisionModel); names as its conversion saves them.
    """
    d = size(c, "hidden_size")
    patch = (c.temporal_patch_size, *sides(c.patch_size))

    def layer(kind: object) -> tuple[Sublayer, ...]:
        mixer = _convolution(c) if kind == "conv" else _attention(c)
        ffn = gated_mlp(d, c.intermediate_size, "silu", name="feed_forward", names=("w1", "w3", "w2"))
        return pre_norm((_norm(c, "operator_norm"), mixer), (_norm(c, "ffn_norm"), ffn))

    return tower_model(
        c,
        d,
        patch_embedding("", c.in_channels, d, patch, projection="patchifier", bias=False, flat=True),
        stack("layers", kinds(c, "layer_types"), layer, width=d),
        _norm(c, "embedding_norm"),
    )


def _norm(c: Config, name: str) -> Block:
    return rms_norm(name, size(c, "hidden_size"), eps=c.norm_eps)


def _attention(c: Config) -> Block:
    width = c.hidden_size // c.num_attention_heads
    return attention(
        c,
        names=("q_proj", "k_proj", "v_proj", "out_proj"),
        head_dim=width,
        qk_norm="head",
        norm_names=("q_layernorm", "k_layernorm"),
        causal=False,
        cache=False,
        rotary=rope(c, dim=width),
    )


def _convolution(c: Config) -> StateMixer:
    """Gate, convolve each channel over rows and columns, gate again; nothing is kept between tokens."""
    d, kernel = size(c, "hidden_size"), c.conv_kernel_size
    return StateMixer(
        name="conv",
        mechanism="gated convolution",
        inner=d,
        state_elements=0,
        conv_kernel=kernel,
        split=(("B", int(d)), ("C", int(d)), ("x", int(d))),
        parts=(
            linear("in_proj", d, 3 * d, role="in_proj"),
            conv("spatial_conv", d, d, kernel, kernel, groups=d, bias=False, role="conv"),
            linear("out_proj", d, d, role="out_proj"),
        ),
    )
