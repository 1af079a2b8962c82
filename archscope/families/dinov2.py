"""DINOv2: ViT with a factor for each channel of both branches, and registers beside the class token."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Tower
from archscope.blocks.base import Block, group
from archscope.blocks.factories import attention, num_labels, size
from archscope.blocks.layer_scale import layer_scale
from archscope.blocks.leaves import layer_norm, linear
from archscope.blocks.mlp import Mlp, fused_gated_mlp, plain_mlp
from archscope.blocks.patches import PatchEmbedding, class_token, patch_embedding, position_weight, sides
from archscope.blocks.size import Size
from archscope.blocks.skeletons import head
from archscope.blocks.towers import layers
from archscope.config import Config
from archscope.families.registry import family


@family("dinov2")
def dinov2(c: Config) -> Architecture:
    """A mask token for pretraining stays in the model where use_mask_token is true.

    Source: DINOv2 (arXiv 2304.07193); transformers, models/dinov2/modeling_dinov2.py.
    """
    return _by_class(c, "dinov2", masked=bool(c.use_mask_token))


@family("dinov2_with_registers")
def dinov2_with_registers(c: Config) -> Architecture:
    """Registers stand between the class token and the patches.

    Source: arXiv 2309.16588; transformers, models/dinov2_with_registers/modeling_dinov2_with_registers.py.
    """
    return _by_class(c, "dinov2_with_registers", masked=True, registers=c.num_register_tokens)


def _by_class(c: Config, prefix: str, *, masked: bool, registers: int = 0) -> Architecture:
    """The tower, and a classifier over the class token beside the mean of the patches."""
    d, eps = size(c, "hidden_size"), c.layer_norm_eps
    classifies = c.task == "image_classification"
    made = Tower(
        name=prefix if classifies else "",
        parts=(
            _patches(c, masked, registers),
            layers(
                "encoder.layer",
                c.num_hidden_layers,
                d,
                _attention(c),
                _mlp(c),
                norms=("norm1", "norm2"),
                eps=eps,
                scales=(_scale("layer_scale1", d), _scale("layer_scale2", d)),
            ),
            layer_norm("layernorm", d, eps=eps),
        ),
        tower="vision",
        model_type=c.model_type,
        pointer=c.pointer,
        width=d,
    )
    if classifies and num_labels(c):
        over = linear("classifier", 2 * d, num_labels(c), True, role="logits")
        return Architecture(parts=(made, head(c.task, over)))
    known = classifies or c.task in ("", "model", "backbone")
    return Architecture(parts=(made,), partial="" if known else f"what {c.model_class} builds is not known")


def _patches(c: Config, masked: bool, registers: int) -> PatchEmbedding:
    d, (high, wide), (rows, columns) = size(c, "hidden_size"), sides(c.image_size), sides(c.patch_size)
    positions = (high // rows) * (wide // columns) + 1
    tokens = group(
        "",
        class_token("cls_token", 1, 1, d),
        class_token("mask_token", 1, d) if masked else None,
        class_token("register_tokens", 1, registers, d) if c.model_type.endswith("registers") else None,
        role="token",
    )
    return patch_embedding(
        "embeddings",
        c.num_channels,
        d,
        (rows, columns),
        projection="patch_embeddings.projection",
        token=tokens,
        positions=positions,
        position=position_weight("position_embeddings", 1, positions, d),
    )


def _attention(c: Config) -> Block:
    return attention(
        c,
        name="attention",
        names=("attention.query", "attention.key", "attention.value", "output.dense"),
        bias=bool(c.qkv_bias),
        out_bias=True,
        num_kv_heads=c.num_attention_heads,
        causal=False,
        cache=False,
        position="learned",
        fields=("num_attention_heads", "hidden_size"),
    )


def _mlp(c: Config) -> Mlp:
    """Plain, or gated and two thirds as wide, up to a multiple of eight."""
    d = size(c, "hidden_size")
    inner, fields = int(d * c.mlp_ratio), ("mlp_ratio", "hidden_size")
    if not c.use_swiglu_ffn:
        return plain_mlp(d, Size(inner, "m"), c.hidden_act, fields=fields)
    narrow = Size((int(inner * 2 / 3) + 7) // 8 * 8, "m")
    return fused_gated_mlp(d, narrow, "silu", bias=True, names=("weights_in", "weights_out"), fields=fields)


def _scale(name: str, width: int) -> Block:
    return layer_scale(name, width, tensor="lambda1")
