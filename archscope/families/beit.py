"""BEiT: a vision encoder with a scale per branch and biases from relative positions; heads over images and pixels."""

from __future__ import annotations

from dataclasses import replace

from archscope.blocks.assembly import Architecture, Tower
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, group, present, weight
from archscope.blocks.batch_norm import BatchNorm
from archscope.blocks.factories import attention, mlp, num_labels, size
from archscope.blocks.layer_scale import layer_scale
from archscope.blocks.leaves import conv, layer_norm, linear
from archscope.blocks.patches import class_token, patch_embedding, position_weight
from archscope.blocks.skeletons import head
from archscope.blocks.towers import layers
from archscope.config import Config
from archscope.families.registry import family

MOST_CONVOLUTIONS = 1000


@family("beit")
def beit(c: Config) -> Architecture:
    """The tower, with a head by the class: words of an image, a class, a class per pixel, or features only.

    Source: transformers, models/beit/modeling_beit.py; names as conversion_mapping.py saves them.
    """
    d, cls = size(c, "hidden_size"), c.model_class
    bare = c.task == "model" or cls == "BeitBackbone"
    tower = _tower(c, "" if bare else "beit", backbone=cls == "BeitBackbone")
    heads: dict[str, tuple[Block, ...]] = {
        "": (),
        "BeitModel": (),
        "BeitBackbone": _pyramid(c) if c.add_fpn else (),
        "BeitForMaskedImageModeling": (
            layer_norm("layernorm", d, eps=c.layer_norm_eps),
            head("masked_image_modeling", linear("lm_head", d, size(c, "vocab_size"), True, role="logits")),
        ),
        "BeitForImageClassification": (
            head("image_classification", linear("classifier", d, num_labels(c), True, role="logits")),
        )
        if num_labels(c) > 0
        else (),
        "BeitForSemanticSegmentation": (*_pyramid(c), *_segmenters(c)),
    }
    reason = "" if cls in heads else f"the head of {cls} is not known"
    return Architecture(parts=(tower, *heads.get(cls, ())), partial=reason)


def _pair(value: int | list[int]) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else (value[0], value[1])


def _tower(c: Config, name: str, *, backbone: bool) -> Tower:
    """Patches, layers, a norm at the end or in the pooler; a backbone saves what is not renamed below `beit`."""
    d, own = size(c, "hidden_size"), "beit." if backbone else ""
    side, patch = _pair(c.image_size), _pair(c.patch_size)
    count = (side[0] // patch[0]) * (side[1] // patch[1]) + 1 if c.use_absolute_position_embeddings else 0
    patches = patch_embedding(
        "embeddings",
        c.num_channels,
        d,
        patch,
        projection="patch_embeddings.projection",
        token=class_token("cls_token", 1, 1, d),
        positions=count,
        position=position_weight("position_embeddings", 1, count, d),
    )
    masked = weight("embeddings.mask_token", 1, 1, d, role="side token") if c.use_mask_token else None
    scales = [layer_scale(f"lambda_{i}", d) if c.layer_scale_init_value > 0 else None for i in (1, 2)]
    stacked = layers(
        "encoder.layer",
        c.num_hidden_layers,
        d,
        _attention(c),
        mlp(c, kind="plain", name="", names=("intermediate.dense", "output.dense"), bias=True, role="ffn"),
        norms=("layernorm_before", "layernorm_after"),
        eps=c.layer_norm_eps,
        scales=(scales[0], scales[1]),
    )
    pooled = c.use_mean_pooling and c.model_class in ("", "BeitModel", "BeitForImageClassification")
    bias = _relative_bias(c, f"{own}encoder") if c.use_shared_relative_position_bias else None
    parts = present(
        patches,
        masked,
        bias,
        stacked,
        None if c.use_mean_pooling else layer_norm(f"{own}layernorm", d, eps=c.layer_norm_eps),
        layer_norm("pooler.layernorm", d, eps=c.layer_norm_eps) if pooled else None,
    )
    return Tower(name=name, parts=parts, tower="vision", model_type=c.model_type, pointer=c.pointer, width=d)


def _attention(c: Config) -> Attention:
    """Keys have no bias."""
    relative = _relative_bias(c, "attention") if c.use_relative_position_bias else None
    made = attention(
        c,
        name="attention",
        names=("attention.query", "attention.key", "attention.value", "output.dense"),
        bias=True,
        num_kv_heads=c.num_attention_heads,
        causal=False,
        cache=False,
        position="relative" if relative or c.use_shared_relative_position_bias else "learned",
        extras=present(relative),
    )
    q, k, *rest = made.parts
    key = linear(k.name, k.in_width or 0, k.out_width or 0, role="k", fields=k.fields)
    return replace(made, parts=(q, key, *rest))


def _relative_bias(c: Config, at: str) -> Block:
    """A value per distance between patches and head, and three for the class token."""
    tall, wide = (side // c.patch_size for side in _pair(c.image_size))
    rows = (2 * tall - 1) * (2 * wide - 1) + 3
    name = f"{at}.relative_position_bias.relative_position_bias_table"
    return weight(name, rows, c.num_attention_heads, role="side bias")


def _pyramid(c: Config) -> tuple[Block, ...]:
    """Features of four sizes: the first ones enlarged by transposed convolutions."""
    d = size(c, "hidden_size")
    up = [conv(name, d, d, 2, 2) for name in ("fpn1.0", "fpn1.3", "fpn2.0")]
    return (group("", up[0], BatchNorm(name="fpn1.1", size=d), up[1], role="pyramid"), up[2])


def _normed(name: str, inputs: int, outputs: int, kernel: int) -> Block:
    matrix = conv("conv", inputs, outputs, kernel, kernel, bias=False)
    return group(name, matrix, BatchNorm(name="bn", size=outputs))


def _segmenters(c: Config) -> tuple[Block, ...]:
    """UPerNet's head over all sizes, and a plain convolutional one over one of them."""
    d, labels, scales = size(c, "hidden_size"), num_labels(c), c.pool_scales
    main = (
        conv("classifier", d, labels, 1, 1),
        *(_normed(f"psp_modules.{i}.1", d, d, 1) for i in range(len(scales))),
        _normed("bottleneck", d + len(scales) * d, d, 3),
        *(_normed(f"lateral_convs.{i}", d, d, 1) for i in range(3)),
        *(_normed(f"fpn_convs.{i}", d, d, 3) for i in range(3)),
        _normed("fpn_bottleneck", 4 * d, d, 3),
    )
    heads: tuple[Block, ...] = tuple(head("segmentation", group("decode_head", part)) for part in main)
    return (*heads, *(_auxiliary(c) if c.use_auxiliary_head else ()))


def _auxiliary(c: Config) -> tuple[Block, ...]:
    d, width, count = size(c, "hidden_size"), c.auxiliary_channels, c.auxiliary_num_convs
    if count > MOST_CONVOLUTIONS:
        raise ValueError(f"auxiliary_num_convs is {count}: no model has more than {MOST_CONVOLUTIONS}")
    parts = [_normed(f"convs.{i}", width if i else d, width, 3) for i in range(count)]
    parts += [_normed("conv_cat", d + width, width, 3)] if c.auxiliary_concat_input else []
    parts.append(conv("classifier", width, num_labels(c), 1, 1))
    return tuple(head("auxiliary segmentation", group("auxiliary_head", part)) for part in parts)
