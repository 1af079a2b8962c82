"""SAM's image encoder and the towers like it: windows in most layers, relative positions by row and column, a neck."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from archscope.blocks.assembly import Architecture, Branch, Sublayer, Tower, stack
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, Group, group, weight
from archscope.blocks.factories import size
from archscope.blocks.leaves import conv, embedding, layer_norm, linear
from archscope.blocks.patches import patch_embedding, position_weight, sides
from archscope.blocks.projectors import projector
from archscope.blocks.repeated import repeated
from archscope.blocks.size import Size
from archscope.blocks.skeletons import tied_names
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
LAYER_RATE = 2
"""Of the decoder's layers, whatever the config says: attention_downsample_rate is that of the last attention alone."""


@family("sam")
def sam(c: Config) -> Architecture:
    """An image, and points, boxes or a mask on it, to masks; the table of positions serves image and points.

    Source: Segment Anything (arXiv 2304.02643); transformers, models/sam/modeling_sam.py.
    """
    vision = c.sub("vision_config")
    positions = weight("positional_embedding", 2, vision.num_pos_feats, role="side positions")
    points = replace(positions, tied_to="shared_image_embedding.positional_embedding" if c.tie_word_embeddings else "")
    parts = (
        group("shared_image_embedding", positions, role="side positions"),
        replace(vision_tower(vision), name="vision_encoder"),
        _prompts(c.sub("prompt_encoder_config"), points),
        _masks(c.sub("mask_decoder_config")),
    )
    known = c.task == "model" or not (c.task or c.model_class)
    return Architecture(
        parts=parts,
        tied=tuple(pair for part in parts for pair in tied_names(part, "")),
        partial="" if known else f"what {c.model_class} builds is not known",
    )


@family("sam_vision_model")
def sam_vision(c: Config) -> Architecture:
    """The encoder of SAM as a model of its own.

    Source: transformers, models/sam/modeling_sam.py (SamVisionModel).
    """
    return tower_model(c, size(c, "hidden_size"), *encoder(c, OWN, "vision_encoder."))


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


def vision_tower(c: Config) -> Tower:
    """SAM's encoder under the names of the whole model."""
    return Tower(
        parts=encoder(c, OWN), tower="vision", model_type=c.model_type, pointer=c.pointer, width=size(c, "hidden_size")
    )


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


def _prompts(c: Config, positions: Block) -> Group:
    """Points and the corners of boxes as vectors by kind, a mask by convolutions."""
    d, wide, eps = size(c, "hidden_size"), c.mask_input_channels, c.layer_norm_eps
    narrow = wide // 4
    mask = group(
        "mask_embed",
        conv("conv1", 1, narrow, 2, 2),
        layer_norm("layer_norm1", narrow, eps=eps),
        conv("conv2", narrow, wide, 2, 2),
        layer_norm("layer_norm2", narrow * 4, eps=eps),
        conv("conv3", wide, d, 1, 1),
    )
    return group(
        "prompt_encoder",
        group("shared_embedding", positions, role="side positions"),
        mask,
        weight("no_mask_embed.weight", 1, d, role="side no mask"),
        weight("not_a_point_embed.weight", 1, d, role="side no point"),
        repeated("point_embed", c.num_point_embeddings, embedding("", 1, d, of="kind of point"), role="side points"),
        role="side prompts",
    )


def _masks(c: Config) -> Tower:
    """Tokens for the masks and their quality read the image and write into it; a small network for each mask."""
    d, count = size(c, "hidden_size"), c.num_multimask_outputs + 1
    between = stack("transformer.layers", ("",) * c.num_hidden_layers, lambda kind: _two_way(c), width=d)
    parts = (
        weight("iou_token.weight", 1, d, role="side token"),
        weight("mask_tokens.weight", count, d, role="side tokens"),
        between,
        _reading(c, "transformer.final_attn_token_to_image", c.attention_downsample_rate),
        layer_norm("transformer.layer_norm_final_attn", d),
        conv("upscale_conv1", d, d // 4, 2, 2, transposed=True, role="side pixels"),
        layer_norm("upscale_layer_norm", d // 4, role="side pixel norm"),
        conv("upscale_conv2", d // 4, d // 8, 2, 2, transposed=True, role="side more pixels"),
        repeated("output_hypernetworks_mlps", count, _deep(d, d, d // 8, 3), role="side masks"),
        replace(_deep(d, c.iou_head_hidden_dim, count, c.iou_head_depth), name="iou_prediction_head"),
    )
    return Tower(name="mask_decoder", parts=parts, tower="other", model_type=c.model_type, pointer=c.pointer, width=d)


def _two_way(c: Config) -> tuple[Sublayer, ...]:
    """Tokens to tokens, tokens to image, a feed-forward block, image to tokens; a norm after each."""
    d = size(c, "hidden_size")
    bodies = (
        _reading(c, "self_attn", 1),
        _reading(c, "cross_attn_token_to_image", LAYER_RATE),
        feed_forward(c, d, c.mlp_dim, names=("lin1", "lin2")),
        _reading(c, "cross_attn_image_to_token", LAYER_RATE),
    )
    return tuple(
        Sublayer(branches=(Branch(body=body),), after=layer_norm(f"layer_norm{index}", d))
        for index, body in enumerate(bodies, 1)
    )


def _reading(c: Config, name: str, rate: int) -> Attention:
    """Attention of the decoder, in a space `rate` times as narrow as the stream."""
    d, heads = size(c, "hidden_size"), Size(c.num_attention_heads, "h_q")
    inner = d // rate
    width = Size(inner // heads, "d_h")
    return Attention(
        name=name,
        num_heads=heads,
        num_kv_heads=heads,
        head_dim=width,
        v_head_dim=width,
        parts=(
            *(linear(f"{role}_proj", d, inner, True, role=role) for role in "qkv"),
            linear("out_proj", inner, d, True, role="o"),
        ),
        causal=False,
        cache=False,
        position="none" if rate == 1 else "learned",
        memory_width=None if rate == 1 else d,
        fields=("num_attention_heads", "attention_downsample_rate", "hidden_size"),
    )


def _deep(inputs: int, inner: int, outputs: int, depth: int) -> Group:
    """`depth` matrices with ReLU between them, but never fewer than two."""
    return group(
        "",
        linear("proj_in", inputs, inner, True, role="in"),
        repeated("layers", max(depth - 2, 0), linear("", inner, inner, True)),
        linear("proj_out", inner, outputs, True, role="out"),
        role="logits",
    )
