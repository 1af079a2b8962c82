"""CLIP's two towers and the vision towers like it: a class token, a norm before the layers and one after."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Tower
from archscope.blocks.attention import Rope
from archscope.blocks.base import Block, group, weight
from archscope.blocks.factories import rope, size
from archscope.blocks.layer_scale import layer_scale
from archscope.blocks.leaves import conv, embedding, layer_norm, linear, regroup
from archscope.blocks.patches import PatchEmbedding, class_token, patch_embedding, position_weight, sides
from archscope.blocks.projectors import projector
from archscope.blocks.size import Size
from archscope.blocks.skeletons import head
from archscope.blocks.towers import (
    feed_forward,
    is_mounted,
    layers,
    packed_attention,
    square_attention,
    tower_model,
)
from archscope.config import Config
from archscope.families.registry import family, tower


@family("clip_vision_model", "idefics_vision", "metaclip_2_vision_model")
def clip_vision(c: Config) -> Architecture:
    """Class token and learned positions, norms around the layers; a class with projection adds a matrix.

    Source: transformers, models/clip/modeling_clip.py, models/metaclip_2/modeling_metaclip_2.py.
    """
    if c.model_class.endswith("VisionModelWithProjection"):
        return _projected(c, _vision(c, "vision_model."), "visual_projection")
    return tower_model(c, size(c, "hidden_size"), *_vision(c), classes=("MetaClip2VisionModel",))


@family("clip_text_model", "metaclip_2_text_model")
def clip_text(c: Config) -> Architecture:
    """A causal encoder of captions with learned positions; a class with projection adds a matrix.

    Source: transformers, models/clip/modeling_clip.py, models/metaclip_2/modeling_metaclip_2.py.
    """
    if c.model_class.endswith("TextModelWithProjection"):
        return _projected(c, _text(c, "text_model."), "text_projection", "text")
    return tower_model(c, size(c, "hidden_size"), *_text(c), tower="text", classes=("MetaClip2TextModel",))


@family("clip", "metaclip_2")
def clip(c: Config) -> Architecture:
    """Both towers, each projected into one space; the class for image classification has one tower and a classifier.

    Source: transformers, models/clip/modeling_clip.py, models/metaclip_2/modeling_metaclip_2.py.
    """
    text, vision = c.sub("text_config"), c.sub("vision_config")
    seeing = tower(vision, "vision_model", "vision")
    if c.task == "image_classification":
        labels = Size(c.get("num_labels", 2), "labels")
        classifier = linear("classifier", vision.hidden_size, labels, True, role="logits")
        return Architecture(parts=(seeing, head("image_classification", classifier)) if labels else (seeing,))
    shared = Size(c.projection_dim, "d_shared")
    parts = (
        tower(text, "text_model"),
        seeing,
        linear("text_projection", text.hidden_size, shared),
        linear("visual_projection", vision.hidden_size, shared),
        weight("logit_scale"),
    )
    return Architecture(parts=parts, partial="" if c.task == "model" else f"what {c.model_class} builds is not known")


@family("mlcd_vision_model")
def mlcd_vision(c: Config) -> Architecture:
    """CLIP's vision tower with axial rotary positions, of which the class token has a learned one.

    Source: transformers, models/mlcd/modeling_mlcd.py (MLCDVisionModel).
    """
    d = size(c, "hidden_size")
    turn = weight("class_pos_emb", 1, c.hidden_size // c.num_attention_heads // 2, role="side position")
    return tower_model(
        c,
        d,
        patch_embedding(
            "embeddings", c.num_channels, d, sides(c.patch_size), bias=False, token=class_token("class_embedding", d)
        ),
        turn,
        layer_norm("pre_layrnorm", d, eps=c.layer_norm_eps),
        _layers(c, "encoder.layers", _axial(c)),
        layer_norm("post_layernorm", d, eps=c.layer_norm_eps),
    )


@family("kosmos_2_vision_model")
def kosmos2_vision(c: Config) -> Architecture:
    """CLIP's vision tower, one level deeper.

    Source: transformers, models/kosmos2/modeling_kosmos2.py (Kosmos2VisionModel).
    """
    return tower_model(c, size(c, "hidden_size"), *_vision(c, "model."))


@family("git_vision_model")
def git_vision(c: Config) -> Architecture:
    """CLIP's vision tower, one level deeper.

    Source: transformers, models/git/modeling_git.py (GitVisionModel).
    """
    return tower_model(c, size(c, "hidden_size"), *_vision(c, "vision_model."), classes=("GitVisionModel",))


@family("minimax_m3_vl_vision")
def minimax_m3_vision(c: Config) -> Architecture:
    """CLIP's layers over patches of frames with axial rotary positions; no class token, no norm at the end.

    Source: transformers, models/minimax_m3_vl/modeling_minimax_m3_vl.py (MiniMaxM3VLVisionModel); inside the
    whole model the names are those of its first release (conversion_mapping.py).
    """
    d, patch = size(c, "hidden_size"), (c.temporal_patch_size, *sides(c.patch_size))
    at, projection = ("vision_model.", "patch_embedding") if is_mounted(c) else ("", "proj")
    rotary = rope(c, dim=int(d // c.num_attention_heads))
    stacked = f"{at}encoder.layers" if at else "layers"
    return tower_model(
        c,
        d,
        patch_embedding(f"{at}embeddings", c.num_channels, d, patch, projection=projection, bias=False),
        layer_norm(f"{at}pre_layrnorm", d, eps=c.layer_norm_eps),
        _layers(c, stacked, rotary),
        classes=("MiniMaxM3VLVisionModel",),
    )


@family("unlimited_ocr_vision_encoder")
def unlimited_ocr_encoder(c: Config) -> Architecture:
    """CLIP's vision tower over features of another one in place of patches, without the norm at the end.

    Source: transformers, models/unlimited_ocr/modeling_unlimited_ocr.py (UnlimitedOcrVisionEncoder); names as saved.
    """
    d, positions = size(c, "hidden_size"), (c.image_size // c.patch_size) ** 2 + 1
    embeddings = group(
        "embeddings",
        class_token("class_embedding", d),
        embedding("position_embedding", positions, d, of="position", role="position"),
        role="patch embedding",
    )
    attend = square_attention(d, c.num_attention_heads, fused="qkv_proj")
    ffn = feed_forward(c, d, c.intermediate_size)
    return tower_model(
        c,
        d,
        embeddings,
        layer_norm("pre_layrnorm", d, eps=c.layer_norm_eps),
        layers("transformer.layers", c.num_hidden_layers, d, attend, ffn, eps=c.layer_norm_eps),
        classes=("UnlimitedOcrVisionEncoder",),
    )


@family("step3p5_vision")
def step3p5_vision(c: Config) -> Architecture:
    """A factor for each channel of both branches, learned and rotary positions, two strided convolutions.

    Source: transformers, models/step3p7/modeling_step3p7.py (Step3p7VisionModel); names as its conversion saves them.
    """
    d, positions = size(c, "hidden_size"), (c.image_size // c.patch_size) ** 2
    patches = patch_embedding(
        "",
        c.num_channels,
        d,
        sides(c.patch_size),
        projection="conv1",
        bias=False,
        positions=positions,
        position=position_weight("positional_embedding", positions, d),
    )
    return tower_model(
        c,
        d,
        patches,
        layer_norm("ln_pre", d, eps=c.layer_norm_eps),
        layers(
            "transformer.resblocks",
            c.num_hidden_layers,
            d,
            packed_attention("attn", d, c.num_attention_heads, position="rope", rotary=_axial(c)),
            feed_forward(c, d, c.intermediate_size, names=("c_fc", "c_proj")),
            norms=("ln_1", "ln_2"),
            eps=c.layer_norm_eps,
            scales=(layer_scale("ls_1", d, tensor="gamma"), layer_scale("ls_2", d, tensor="gamma")),
        ),
        conv("vit_downsampler1", d, 2 * d, 3, 3),
        conv("vit_downsampler2", 2 * d, 4 * d, 3, 3),
        classes=("Step3p7VisionModel",),
    )


@family("inkling2_vision")
def inkling2_vision(c: Config) -> Architecture:
    """Flat patches, a class token with a position of its own, a factor for each channel, and the way into the text.

    Source: transformers, models/inkling2/modeling_inkling2.py (Inkling2VisionModel); inside the whole model the
    names are those of its first release (conversion_mapping.py).
    """
    d, first = size(c, "hidden_size"), is_mounted(c)
    at = "backbone." if first else ""
    return tower_model(
        c,
        d,
        _inkling2_patches(c, f"{at}embeddings"),
        layer_norm(f"{at}ln_pre" if first else "pre_layernorm", d, eps=c.layer_norm_eps),
        layers(
            f"{at}layers",
            c.num_hidden_layers,
            d,
            square_attention(d, c.num_attention_heads, position="rope", rotary=_axial(c)),
            feed_forward(c, d, c.intermediate_size, names=("c_fc", "c_proj") if first else ("fc1", "fc2")),
            norms=("ln_1", "ln_2") if first else ("layernorm_before", "layernorm_after"),
            eps=c.layer_norm_eps,
            scales=(
                layer_scale("ls_1" if first else "lambda_1", d, tensor="gamma" if first else ""),
                layer_scale("ls_2" if first else "lambda_2", d, tensor="gamma" if first else ""),
            ),
        ),
        _inkling2_merger(c, "" if first else "merger", ("proj_in", "proj_out") if first else ("linear_1", "linear_2")),
    )


def _inkling2_patches(c: Config, name: str) -> PatchEmbedding:
    d, positions = size(c, "hidden_size"), c.posemb_grid_size**2
    table = "position_embedding" if is_mounted(c) else "position_embedding.weight"
    own = group("", class_token("class_embedding", d), class_token("cls_position_embedding", d), role="token")
    return patch_embedding(
        name,
        c.num_channels,
        d,
        sides(c.patch_size),
        bias=False,
        flat=True,
        token=own,
        positions=positions,
        position=position_weight(table, positions, d),
    )


def _inkling2_merger(c: Config, name: str, names: tuple[str, str]) -> Block:
    d, out, joined = size(c, "hidden_size"), c.text_hidden_size, c.spatial_merge_size**2 * c.hidden_size
    width, bias = c.projection_hidden_dim, c.projector_bias
    parts = (linear(names[0], joined, width, bias), linear(names[1], width, out, bias))
    return projector(name, d, out, regroup("patch merge", d, joined), *parts)


def _vision(c: Config, at: str = "") -> tuple[Block, ...]:
    """The parts of CLIP's vision tower, its misspelt norm included."""
    d, positions = size(c, "hidden_size"), (c.image_size // c.patch_size) ** 2 + 1
    token = class_token("class_embedding", d)
    return (
        patch_embedding(
            f"{at}embeddings", c.num_channels, d, sides(c.patch_size), bias=False, token=token, positions=positions
        ),
        layer_norm(f"{at}pre_layrnorm", d, eps=c.layer_norm_eps),
        _layers(c, f"{at}encoder.layers"),
        layer_norm(f"{at}post_layernorm", d, eps=c.layer_norm_eps),
    )


def _text(c: Config, at: str = "") -> tuple[Block, ...]:
    """The parts of CLIP's text tower."""
    d = size(c, "hidden_size")
    positions = size(c, "max_position_embeddings")
    return (
        embedding(f"{at}embeddings.token_embedding", size(c, "vocab_size"), d, role="embedding"),
        embedding(f"{at}embeddings.position_embedding", positions, d, of="position", role="embedding"),
        _layers(c, f"{at}encoder.layers", causal=True),
        layer_norm(f"{at}final_layer_norm", d, eps=c.layer_norm_eps),
    )


def _layers(c: Config, name: str, rotary: Rope | None = None, causal: bool = False) -> Block:
    d = size(c, "hidden_size")
    attend = square_attention(
        d, c.num_attention_heads, position="rope" if rotary else "learned", rotary=rotary, causal=causal
    )
    ffn = feed_forward(c, d, size(c, "intermediate_size"))
    return layers(name, c.num_hidden_layers, d, attend, ffn, eps=c.layer_norm_eps)


def _axial(c: Config) -> Rope | None:
    return rope(c, dim=c.hidden_size // c.num_attention_heads)


def _projected(c: Config, parts: tuple[Block, ...], name: str, role: str = "vision") -> Architecture:
    """A tower and the matrix that takes it into the shared space."""
    d = size(c, "hidden_size")
    made = Tower(
        parts=parts,
        tower="text" if role == "text" else "vision",
        model_type=c.model_type,
        pointer=c.pointer,
        width=d,
    )
    return Architecture(parts=(made, linear(name, d, Size(c.projection_dim, "d_shared"))))
