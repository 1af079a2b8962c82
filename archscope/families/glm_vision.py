"""GLM-V's vision towers: RMSNorm, gated feed-forward blocks, a strided convolution and a gated merger at the end."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.attention import Attention, head_norms
from archscope.blocks.base import Block, group
from archscope.blocks.factories import rope, size
from archscope.blocks.leaves import conv, embedding, layer_norm, linear, rms_norm
from archscope.blocks.mlp import gated_mlp
from archscope.blocks.patches import PatchEmbedding, patch_embedding, sides
from archscope.blocks.size import Size
from archscope.blocks.towers import layers, square_attention, tower_model
from archscope.config import Config
from archscope.families.registry import family


@family("glm4v_vision", "glm4v_moe_vision")
def glm4v_vision(c: Config) -> Architecture:
    """Learned positions resized to the image beside rotary ones; the feed-forward width is out_hidden_size.

    Source: transformers, models/glm4v/modeling_glm4v.py (Glm4vVisionModel, Glm4VisionMlp).
    """
    d, positions = size(c, "hidden_size"), (c.image_size // c.patch_size) ** 2
    return tower_model(
        c,
        d,
        _patches(c),
        rms_norm("post_conv_layernorm", d, eps=c.rms_norm_eps),
        embedding("embeddings.position_embedding", positions, d, of="position", role="side positions"),
        _blocks(c, _attention(c, out_bias=False), Size(c.out_hidden_size, "m"), bias=False),
        *_merged(c, c.intermediate_size),
    )


@family("glm_ocr_vision")
def glm_ocr_vision(c: Config) -> Architecture:
    """GLM-4.1V's tower with norms on queries and keys, and without learned positions.

    Source: transformers, models/glm_ocr/modeling_glm_ocr.py (GlmOcrVisionModel).
    """
    return _normed(c, c.out_hidden_size * c.in_channels)


@family("glm5_next_vision")
def glm5_next_vision(c: Config) -> Architecture:
    """GLM-OCR's tower with a width of its own in the merger.

    Source: transformers, models/glm5_next/modeling_glm5_next.py (Glm5NextVisionModel).
    """
    return _normed(c, c.projection_intermediate_size)


def _normed(c: Config, merged: int) -> Architecture:
    d, bias = size(c, "hidden_size"), bool(c.attention_bias)
    norms = head_norms("rms", d // c.num_heads, eps=c.rms_norm_eps)
    blocks = _blocks(c, _attention(c, out_bias=bias, norms=norms), size(c, "intermediate_size"), bias)
    return tower_model(c, d, _patches(c), blocks, *_merged(c, merged))


def _patches(c: Config) -> PatchEmbedding:
    patch = (c.temporal_patch_size, *sides(c.patch_size))
    return patch_embedding("patch_embed", c.in_channels, size(c, "hidden_size"), patch, projection="proj")


def _attention(c: Config, *, out_bias: bool, norms: tuple[Block, ...] = ()) -> Attention:
    d = size(c, "hidden_size")
    return square_attention(
        d,
        c.num_heads,
        name="attn",
        names=("", "", "", "proj"),
        fused="qkv",
        bias=bool(c.attention_bias),
        out_bias=out_bias,
        norms=norms,
        position="rope",
        rotary=rope(c, dim=int(d // c.num_heads)),
    )


def _blocks(c: Config, attend: Attention, width: int, bias: bool) -> Block:
    d = size(c, "hidden_size")
    ffn = gated_mlp(d, width, c.hidden_act, bias=bias)
    return layers("blocks", c.depth, d, attend, ffn, norm=rms_norm, norms=("norm1", "norm2"), eps=c.rms_norm_eps)


def _merged(c: Config, width: int) -> tuple[Block, ...]:
    """A norm, a convolution that takes squares of patches to the text's width, and a gated block there."""
    d, out, side = size(c, "hidden_size"), Size(c.out_hidden_size, "d_text"), c.spatial_merge_size
    return (
        rms_norm("post_layernorm", d, eps=c.rms_norm_eps),
        conv("downsample", d, out, side, side),
        group(
            "merger",
            linear("proj", out, out),
            layer_norm("post_projection_norm", out),
            gated_mlp(out, width, c.hidden_act, name=""),
            role="merger",
        ),
    )
