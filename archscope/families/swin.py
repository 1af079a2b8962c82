"""Swin: attention within windows of the image, shifted in every other block, and patches that are merged by stages."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Stack, Tower, pre_norm, stack
from archscope.blocks.base import Block, Group, group, present, weight
from archscope.blocks.factories import num_labels
from archscope.blocks.leaves import conv, layer_norm, linear, regroup
from archscope.blocks.mlp import plain_mlp
from archscope.blocks.patches import PatchEmbedding, class_token, patch_embedding, position_weight, sides
from archscope.blocks.size import Size
from archscope.blocks.skeletons import head
from archscope.blocks.towers import square_attention
from archscope.config import Config
from archscope.families.registry import family

NAMES = ("self.query", "self.key", "self.value", "output.dense")


@family("swin")
def swin(c: Config) -> Architecture:
    """A norm at the end; the backbone has one for each stage that it gives, and saves the others without a prefix.

    Source: Swin (arXiv 2103.14030); transformers, models/swin/modeling_swin.py; names as its conversion saves them.
    """
    last = layer_norm("layernorm", _width(c, len(c.depths) - 1), eps=c.layer_norm_eps)
    if c.task == "backbone":
        norms = group("swin", last, role="side norm"), group("hidden_states_norms", *_given(c), role="side norms")
        return Architecture(parts=(_tower(c, "", *_parts(c)), *norms))
    if c.task == "masked_image_modeling":
        width, pixels = c.embed_dim * 2 ** (c.num_layers - 1), c.encoder_stride**2 * c.num_channels
        over = head(c.task, conv("decoder.0", width, pixels, 1, 1))
        return Architecture(parts=(_tower(c, "swin", *_parts(c, masked=True), last), over))
    return _by_class(c, "swin", *_parts(c), last)


@family("donut-swin")
def donut_swin(c: Config) -> Architecture:
    """Swin without a norm at the end, with a position more; it saves which two patches of a window are how far apart.

    Source: Donut (arXiv 2111.15664); transformers, models/donut/modeling_donut_swin.py.
    """
    return _by_class(c, "donut", *_parts(c, indexed=True))


def _by_class(c: Config, prefix: str, *parts: Block) -> Architecture:
    if c.task != "image_classification":
        known = c.task == "model"
        return Architecture(
            parts=(_tower(c, "", *parts),), partial="" if known else f"what {c.model_class} builds is not known"
        )
    labels = num_labels(c)
    classifier = linear("classifier", _width(c, len(c.depths) - 1), labels, True, role="logits")
    return Architecture(parts=present(_tower(c, prefix, *parts), head(c.task, classifier) if labels else None))


def _tower(c: Config, name: str, *parts: Block) -> Tower:
    width = _width(c, len(c.depths) - 1)
    return Tower(name=name, parts=parts, tower="vision", model_type=c.model_type, pointer=c.pointer, width=width)


def _width(c: Config, stage: int) -> int:
    return int(c.embed_dim * 2**stage)


def _given(c: Config) -> list[Block]:
    """A norm for each stage of out_features, the last one where it says nothing."""
    named = c.get("out_features") or [f"stage{len(c.depths)}"]
    widths = {"stem": c.embed_dim, **{f"stage{stage + 1}": _width(c, stage) for stage in range(len(c.depths))}}
    return [layer_norm(name, widths[name]) for name in named]


def _parts(c: Config, *, masked: bool = False, indexed: bool = False) -> tuple[Block, ...]:
    """Patches, then the blocks of each stage and, but for the last, what merges four patches into one.

    `indexed` saves the table of distances, and counts a position for a class token that is not there.
    """
    parts: list[Block] = [_patches(c, masked, 1 if indexed else 0)]
    for stage in range(len(c.depths)):
        parts.append(_blocks(c, stage, indexed))
        if stage < len(c.depths) - 1:
            parts.append(_merge(c, stage))
    return tuple(parts)


def _patches(c: Config, masked: bool, more: int) -> PatchEmbedding:
    d, (high, wide), (rows, columns) = c.embed_dim, sides(c.image_size), sides(c.patch_size)
    positions = (high // rows) * (wide // columns) + more if c.use_absolute_embeddings else 0
    return patch_embedding(
        "embeddings",
        c.num_channels,
        d,
        (rows, columns),
        projection="patch_embeddings.projection",
        token=class_token("mask_token", 1, 1, d) if masked else None,
        positions=positions,
        position=position_weight("position_embeddings", 1, positions, d),
        norm=layer_norm("norm", d),
        fields=("image_size", "patch_size", "embed_dim"),
    )


def _blocks(c: Config, stage: int, indexed: bool) -> Stack:
    d, heads, side = Size(_width(c, stage), "d"), c.num_heads[stage], c.window_size
    bias = weight("self.relative_position_bias_table", (2 * side - 1) ** 2, heads, role="bias")
    index = weight("self.relative_position_index", side**2, side**2, parameter=False)
    attend = square_attention(
        d,
        heads,
        name="attention",
        names=NAMES,
        bias=bool(c.qkv_bias),
        out_bias=True,
        extras=(bias, index) if indexed else (bias,),
        position="relative",
        chunk=side**2,
        fields=("num_heads", "embed_dim"),
    )
    ffn = plain_mlp(
        d,
        Size(int(c.mlp_ratio * d), "m"),
        str(c.hidden_act),
        name="",
        names=("intermediate.dense", "output.dense"),
        role="ffn",
        fields=("mlp_ratio", "embed_dim"),
    )
    return stack(
        f"encoder.layers.{stage}.blocks",
        ("",) * c.depths[stage],
        lambda kind: pre_norm(
            (layer_norm("layernorm_before", d, eps=c.layer_norm_eps), attend),
            (layer_norm("layernorm_after", d, eps=c.layer_norm_eps), ffn),
        ),
        width=d,
    )


def _merge(c: Config, stage: int) -> Group:
    d = _width(c, stage)
    return group(
        f"encoder.layers.{stage}.downsample",
        regroup("patch merge", d, 4 * d),
        layer_norm("norm", 4 * d),
        linear("reduction", 4 * d, 2 * d),
        role=f"merge {stage}",
    )
