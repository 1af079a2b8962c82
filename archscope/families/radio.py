"""C-RADIO: flat patches, many class tokens and registers, positions that are cropped to the image."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, group, weight
from archscope.blocks.factories import attention, size
from archscope.blocks.layer_scale import layer_scale
from archscope.blocks.leaves import linear
from archscope.blocks.mlp import gated_mlp
from archscope.blocks.patches import class_token, patch_embedding, position_weight, sides
from archscope.blocks.towers import feed_forward, is_mounted, layers, tower_model
from archscope.config import Config
from archscope.families.registry import family

AT = "radio_model.model"


@family("radio")
def radio(c: Config) -> Architecture:
    """Pre-norm layers with a factor for each channel; a matrix of its own for patches of video where there are any.

    Source: transformers, models/radio/modeling_radio.py (RadioModel); names as its conversion saves them.
    """
    d = size(c, "hidden_size")
    # Inside a whole model the preprocessor normalises pixels in place of the tower (make_preprocessor_external).
    conditioner = (
        None
        if is_mounted(c)
        else group(
            "radio_model.input_conditioner",
            weight("norm_mean", len(c.norm_mean), 1, 1, parameter=False),
            weight("norm_std", len(c.norm_std), 1, 1, parameter=False),
            role="side input",
        )
    )
    layered = layers(
        f"{AT}.blocks",
        c.num_hidden_layers,
        d,
        _attention(c),
        _feed_forward(c),
        norms=("norm1", "norm2"),
        eps=c.layer_norm_eps,
        scales=(layer_scale("layer_scale1", d, tensor="lambda1"), layer_scale("layer_scale2", d, tensor="lambda1")),
    )
    summary = weight("radio_model.summary_idxs", len(c.summary_idxs), parameter=False, role="side indexes")
    return tower_model(c, d, conditioner, *_patches(c), layered, summary)


def _patches(c: Config) -> tuple[Block, ...]:
    d, rows = size(c, "hidden_size"), c.max_img_size // c.patch_size
    patches = patch_embedding(
        f"{AT}.patch_generator",
        c.num_channels,
        d,
        sides(c.patch_size),
        projection="embedder",
        bias=False,
        flat=True,
        token=class_token("cls_token.token", c.num_cls_tokens + c.num_registers, d),
        positions=rows * rows,
        position=position_weight("pos_embed", 1, rows * rows, d),
    )
    frames = c.video_temporal_patch_size
    if frames is None:
        return (patches,)
    width = frames * c.num_channels * c.patch_size**2
    return (patches, linear(f"{AT}.patch_generator.video_embedder", width, d, role="side video patches"))


def _attention(c: Config) -> Attention:
    return attention(
        c,
        name="attn",
        names=("", "", "", "proj"),
        fused="qkv",
        bias=bool(c.qkv_bias),
        out_bias=True,
        num_kv_heads=c.num_attention_heads,
        causal=False,
        cache=False,
        position="learned",
    )


def _feed_forward(c: Config) -> Block:
    """Two thirds of the width, to a multiple of 8, where the block is gated. Source: RadioSwiGLUFFN."""
    d = size(c, "hidden_size")
    width = int(d * c.mlp_ratio)
    if not c.use_swiglu_ffn:
        return feed_forward(c, d, width)
    return gated_mlp(d, (int(width * 2 / 3) + 7) // 8 * 8, "silu", bias=True)
