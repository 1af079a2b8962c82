"""InternViT: a class token, a factor for each channel of both branches, norms on queries and keys where asked for."""

from __future__ import annotations

from typing import NamedTuple

from archscope.blocks.assembly import Architecture
from archscope.blocks.attention import Attention, head_norms
from archscope.blocks.base import Block, group
from archscope.blocks.factories import size
from archscope.blocks.layer_scale import layer_scale
from archscope.blocks.leaves import layer_norm
from archscope.blocks.patches import PatchEmbedding, class_token, patch_embedding, position_weight, sides
from archscope.blocks.towers import feed_forward, is_mounted, layers, norm_maker, square_attention, tower_model
from archscope.config import Config
from archscope.families.registry import family


@family("internvl_vision")
def internvl_vision(c: Config) -> Architecture:
    """LayerNorm or RMSNorm by norm_type; a norm at the end unless use_mean_pooling is true.

    Source: transformers, models/internvl/modeling_internvl.py (InternVLVisionModel).
    """
    return _tower(c, "encoder.layer", OWN)


@family("qianfan_ocr_vision")
def qianfan_vision(c: Config) -> Architecture:
    """InternViT, its layers one level higher.

    Source: transformers, models/qianfan_ocr/modeling_qianfan_ocr.py (QianfanOCRVisionModel); inside the whole model the
    names are those of InternVL's first release (conversion_mapping.py).
    """
    return _tower(c, "encoder.layers", FIRST) if is_mounted(c) else _tower(c, "layers", OWN)


class _Names(NamedTuple):
    token: str
    projection: str
    positions: str
    norms: tuple[str, str]
    scales: tuple[str, str]
    out: str
    fused: str


OWN = _Names(
    token="cls_token",
    projection="patch_embeddings.projection",
    positions="position_embeddings",
    norms=("layernorm_before", "layernorm_after"),
    scales=("lambda_1", "lambda_2"),
    out="attention.projection_layer",
    fused="",
)
FIRST = _Names(
    token="class_embedding",
    projection="patch_embedding",
    positions="position_embedding",
    norms=("norm1", "norm2"),
    scales=("ls1", "ls2"),
    out="attn.proj",
    fused="attn.qkv",
)


def _tower(c: Config, name: str, names: _Names) -> Architecture:
    d, eps = size(c, "hidden_size"), c.layer_norm_eps
    first, second = (layer_scale(scale, d) for scale in names.scales)
    layered = layers(
        name,
        c.num_hidden_layers,
        d,
        _attention(c, names),
        feed_forward(c, d, size(c, "intermediate_size")),
        norm=norm_maker("rms" if c.norm_type == "rms_norm" else "layer"),
        norms=names.norms,
        eps=eps,
        scales=(first, second),
    )
    last = None if c.use_mean_pooling else layer_norm("layernorm", d, eps=eps)
    return tower_model(c, d, _patches(c, names), layered, last)


def _patches(c: Config, names: _Names) -> PatchEmbedding:
    d, (rows, columns), (high, wide) = size(c, "hidden_size"), sides(c.patch_size), sides(c.image_size)
    positions = (high // rows) * (wide // columns) + 1
    token: Block = class_token(names.token, 1, 1, d)
    if c.use_mask_token:
        token = group("", token, class_token("mask_token", 1, 1, d), role="token")
    return patch_embedding(
        "embeddings",
        c.num_channels,
        d,
        (rows, columns),
        projection=names.projection,
        token=token,
        positions=positions if c.use_absolute_position_embeddings else 0,
        position=position_weight(names.positions, 1, positions, d),
    )


def _attention(c: Config, names: _Names) -> Attention:
    """Attention whose parts carry full names: the norms stay in `attention` where the matrices do not."""
    d, heads = size(c, "hidden_size"), c.num_attention_heads
    norms = head_norms("rms", d, eps=1e-5, names=("attention.q_norm", "attention.k_norm")) if c.use_qk_norm else ()
    return square_attention(
        d,
        heads,
        name="",
        names=("attention.q_proj", "attention.k_proj", "attention.v_proj", names.out),
        fused=names.fused,
        inner=d // heads * heads,
        bias=bool(c.attention_bias),
        out_bias=True,
        norms=norms,
    )
