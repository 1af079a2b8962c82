"""AIMv2: a vision tower of a decoder's making, RMSNorm and gated feed-forward blocks; with a text tower beside it."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Stack
from archscope.blocks.base import Block, weight
from archscope.blocks.factories import size
from archscope.blocks.joined import Bundle, bundle
from archscope.blocks.leaves import embedding, linear, rms_norm
from archscope.blocks.mlp import gated_mlp
from archscope.blocks.patches import patch_embedding, sides
from archscope.blocks.size import Size
from archscope.blocks.towers import layers, square_attention, tower_model
from archscope.config import Config
from archscope.families.registry import family, tower


@family("aimv2_vision_model")
def aimv2_vision(c: Config) -> Architecture:
    """Learned positions, or sines where is_native is true; a pooling head where use_head is true.

    Source: AIMv2 (arXiv 2411.14402); transformers, models/aimv2/modeling_aimv2.py.
    """
    d, eps = size(c, "hidden_size"), c.rms_norm_eps
    patches = patch_embedding(
        "embeddings",
        c.num_channels,
        d,
        sides(c.patch_size),
        projection="patch_embed",
        positions=0 if c.is_native else (c.image_size // c.patch_size) ** 2,
        norm=rms_norm("rms_norm", d, eps=eps),
    )
    pooling = _pooling(c) if c.use_head else None
    return tower_model(c, d, patches, _layers(c, causal=False), rms_norm("rms_norm", d, eps=eps), pooling)


@family("aimv2_text_model")
def aimv2_text(c: Config) -> Architecture:
    """The same layers over tokens, each of which sees those before it.

    Source: transformers, models/aimv2/modeling_aimv2.py (Aimv2TextModel).
    """
    d = size(c, "hidden_size")
    positions = embedding(
        "embeddings.position_embedding", c.max_position_embeddings, d, of="position", role="embedding"
    )
    return tower_model(
        c,
        d,
        embedding("embeddings.token_embedding", size(c, "vocab_size"), d, role="embedding"),
        positions,
        _layers(c, causal=True),
        rms_norm("rms_norm", d, eps=c.rms_norm_eps),
        tower="text",
        classes=("Aimv2TextModel",),
    )


@family("aimv2")
def aimv2(c: Config) -> Architecture:
    """Both towers, each projected into one space.

    Source: transformers, models/aimv2/modeling_aimv2.py (Aimv2Model).
    """
    text, vision, shared = c.sub("text_config"), c.sub("vision_config"), Size(c.projection_dim, "d_shared")
    parts: tuple[Block, ...] = (
        tower(text, "text_model"),
        tower(vision, "vision_model", "vision"),
        linear("text_projection", text.hidden_size, shared),
        linear("visual_projection", vision.hidden_size, shared),
        weight("logit_scale"),
    )
    return Architecture(parts=parts, partial="" if c.task == "model" else f"what {c.model_class} builds is not known")


def _layers(c: Config, *, causal: bool) -> Stack:
    d = size(c, "hidden_size")
    return layers(
        "encoder.layers",
        c.num_hidden_layers,
        d,
        square_attention(d, c.num_attention_heads, name="attention", bias=bool(c.qkv_bias), causal=causal),
        gated_mlp(d, size(c, "intermediate_size"), c.hidden_act, bias=bool(c.mlp_bias), name="ffn"),
        norm=rms_norm,
        norms=("rms_norm1", "rms_norm2"),
        eps=c.rms_norm_eps,
    )


def _pooling(c: Config) -> Bundle:
    """One learned query over all patches. Source: Aimv2AttentionPoolingHead."""
    d, bias = size(c, "hidden_size"), bool(c.qkv_bias)
    return bundle(
        "head",
        weight("cls_token", 1, 1, d),
        linear("k_proj", d, d, bias),
        linear("v_proj", d, d, bias),
        linear("output_proj", d, d, True),
        role="pooling",
    )
