"""SAM's image encoder and the towers like it: windows in most layers, relative positions by row and column, a neck."""

from __future__ import annotations

from typing import NamedTuple

from archscope.blocks.assembly import Architecture
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, Group, group, weight
from archscope.blocks.factories import size
from archscope.blocks.leaves import conv, layer_norm, linear
from archscope.blocks.patches import patch_embedding, position_weight, sides
from archscope.blocks.projectors import projector
from archscope.blocks.towers import feed_forward, is_mounted, layers, square_attention, tower_model
from archscope.config import Config
from archscope.families.registry import family, tower


class _Names(NamedTuple):
    """Names of a tower's parts: `neck` and `last` are those of its convolutions and norms."""

    layers: str = "layers"
    norms: tuple[str, str] = ("layer_norm1", "layer_norm2")
    projection: str = "projection"
    neck: tuple[str, str, str, str] = ("conv1", "layer_norm1", "conv2", "layer_norm2")
    last: tuple[str, str] = ("proj.conv1", "proj.conv2")


OWN = _Names()
FIRST = _Names("blocks", ("norm1", "norm2"), "proj", ("0", "1", "2", "3"), ("net_2", "net_3"))
"""As SAM itself was released."""


@family("sam_vision_model")
def sam_vision(c: Config) -> Architecture:
    """The encoder of SAM as a model of its own.

    Source: transformers, models/sam/modeling_sam.py (SamVisionModel, SamVisionEncoder).
    """
    at = "" if c.model_class == "SamVisionEncoder" else "vision_encoder."
    return tower_model(c, size(c, "hidden_size"), *encoder(c, OWN, at), classes=("SamVisionEncoder",))


@family("got_ocr2_vision", "pp_chart2table_vision")
def got_ocr_vision(c: Config) -> Architecture:
    """SAM's encoder.

    Source: transformers, models/got_ocr2/modeling_got_ocr2.py (GotOcr2VisionEncoder).
    """
    return tower_model(c, size(c, "hidden_size"), *encoder(c, OWN), classes=("GotOcr2VisionEncoder",))


@family("pp_formulanet_vision")
def formulanet_vision(c: Config) -> Architecture:
    """SAM's encoder with two strided convolutions and two matrices into the decoder.

    Source: transformers, models/pp_formulanet/modeling_pp_formulanet.py (PPFormulaNetVisionModel).
    """
    middle, out = c.post_conv_mid_channels, c.post_conv_out_channels
    bridge = projector(
        "multi_modal_projector",
        c.post_conv_in_channels,
        c.decoder_hidden_size,
        conv("conv1", c.post_conv_in_channels, middle, 3, 3, bias=False),
        conv("conv2", middle, out, 3, 3, bias=False),
        linear("linear_1", out, out, True),
        linear("linear_2", out, c.decoder_hidden_size, True),
    )
    return tower_model(c, size(c, "hidden_size"), *encoder(c, OWN), bridge, classes=("PPFormulaNetVisionModel",))


@family("unlimited_ocr_sam_vision_model")
def unlimited_ocr_sam(c: Config) -> Architecture:
    """SAM's encoder with two strided convolutions, under SAM's first names.

    Source: transformers, models/unlimited_ocr/modeling_unlimited_ocr.py (UnlimitedOcrSamVisionEncoder); names as saved.
    """
    parts = encoder(c, FIRST)
    return tower_model(
        c, size(c, "hidden_size"), *parts, *_strided(c, FIRST), classes=("UnlimitedOcrSamVisionEncoder",)
    )


@family("deepseek_ocr2_sam_vision_model")
def deepseek_ocr2_sam(c: Config) -> Architecture:
    """SAM's encoder with two strided convolutions; under SAM's first names inside the whole model.

    Source: transformers, models/deepseek_ocr2/modeling_deepseek_ocr2.py (DeepseekOcr2SamVisionEncoder).
    """
    names = FIRST if is_mounted(c) else OWN
    parts = encoder(c, names)
    return tower_model(
        c, size(c, "hidden_size"), *parts, *_strided(c, names), classes=("DeepseekOcr2SamVisionEncoder",)
    )


@family("unlimited_ocr_vision")
def unlimited_ocr_vision(c: Config) -> Architecture:
    """SAM's encoder, whose features are the patches of CLIP's.

    Source: transformers, models/unlimited_ocr/modeling_unlimited_ocr.py (UnlimitedOcrVisionModel); inside the whole
    model the two stand at its top under names of their own (conversion_mapping.py).
    """
    names = ("sam_model", "vision_model") if is_mounted(c) else ("sam_encoder", "vision_encoder")
    first = tower(c.sub("sam_config"), names[0], "vision")
    second = tower(c.sub("encoder_config"), names[1], "vision")
    return tower_model(c, c.sub("encoder_config").hidden_size, first, second, classes=("UnlimitedOcrVisionModel",))


def encoder(c: Config, names: _Names, at: str = "") -> tuple[Block, ...]:
    """Patches, layers with windows or without by global_attn_indexes, and the neck.

    Source: transformers, models/sam/modeling_sam.py (SamVisionEncoder).
    """
    d, side = size(c, "hidden_size"), c.image_size // c.patch_size
    whole = set(c.global_attn_indexes)
    kinds = ["global" if index in whole or not c.window_size else "window" for index in range(c.num_hidden_layers)]
    patches = patch_embedding(
        at.removesuffix("."),
        c.num_channels,
        d,
        sides(c.patch_size),
        projection=f"patch_embed.{names.projection}",
        positions=side * side if c.use_abs_pos else 0,
        position=position_weight("pos_embed", 1, side, side, d),
    )
    layered = layers(
        f"{at}{names.layers}",
        c.num_hidden_layers,
        d,
        lambda kind: _attention(c, 0 if kind == "global" else c.window_size),
        feed_forward(c, d, c.mlp_dim, names=("lin1", "lin2")),
        norms=names.norms,
        eps=c.layer_norm_eps,
        kinds=kinds,
    )
    return (patches, layered, _neck(c, f"{at}neck", names))


def _attention(c: Config, window: int) -> Attention:
    """Relative positions are two tables, one by row and one by column, that every head shares."""
    d, heads = size(c, "hidden_size"), c.num_attention_heads
    reach = 2 * (window or c.image_size // c.patch_size) - 1
    tables = tuple(weight(name, reach, d // heads, role="bias") for name in ("rel_pos_h", "rel_pos_w"))
    return square_attention(
        d,
        heads,
        name="attn",
        names=("", "", "", "proj"),
        fused="qkv",
        bias=bool(c.qkv_bias),
        out_bias=True,
        extras=tables if c.use_rel_pos else (),
        position="relative" if c.use_rel_pos else "learned",
        chunk=window**2 if window else None,
    )


def _neck(c: Config, name: str, names: _Names) -> Group:
    d, out = size(c, "hidden_size"), c.output_channels
    first, norm, second, last = names.neck
    return group(
        name,
        conv(first, d, out, 1, 1, bias=False),
        layer_norm(norm, out, eps=c.layer_norm_eps),
        conv(second, out, out, 3, 3, bias=False),
        layer_norm(last, out, eps=c.layer_norm_eps),
        role="neck",
    )


def _strided(c: Config, names: _Names) -> tuple[Block, ...]:
    middle, out = c.downsample_channels
    first, second = names.last
    return (conv(first, c.output_channels, middle, 3, 3, bias=False), conv(second, middle, out, 3, 3, bias=False))
