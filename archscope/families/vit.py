"""The Vision Transformer and its kin: a class token, learned positions, pre-norm layers."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Stack, Tower, pre_norm, stack
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, Group, group, present, weight
from archscope.blocks.factories import attention, num_labels, size
from archscope.blocks.leaves import conv, layer_norm, linear
from archscope.blocks.patches import PatchEmbedding, class_token, patch_embedding, position_weight, sides
from archscope.blocks.size import Size
from archscope.blocks.skeletons import head
from archscope.blocks.towers import feed_forward
from archscope.config import Config
from archscope.families.registry import family


@family("vit")
def vit(c: Config) -> Architecture:
    """The base class has a pooler, the others a head over labels or pixels.

    Source: ViT (arXiv 2010.11929); transformers, models/vit/modeling_vit.py; names as its conversion saves them.
    """
    d = size(c, "hidden_size")
    if c.task == "model":
        pooler = linear("pooler.dense", d, c.pooler_output_size, True, role="pooler")
        return _model(c, "", (*_parts(c), pooler))
    if c.task == "masked_image_modeling":
        pixels = c.encoder_stride**2 * c.num_channels
        return _model(c, "vit", _parts(c, masked=True), head(c.task, conv("decoder.0", d, pixels, 1, 1)))
    return _classified(c, _parts(c))


@family("vit_msn")
def vit_msn(c: Config) -> Architecture:
    """ViT without a pooler; the classifier's layers are saved at the top, where the base class has them.

    Source: transformers, models/vit_msn/modeling_vit_msn.py; conversion_mapping.py (ViTMSNForImageClassification).
    """
    if c.task == "model":
        return _model(c, "", _parts(c))
    embeddings, layers, norm = _parts(c)
    made = _classified(c, (embeddings, norm))
    return Architecture(parts=(made.parts[0], layers, *made.parts[1:]), partial=made.partial)


@family("deit")
def deit(c: Config) -> Architecture:
    """ViT with a second token that learns from a teacher, and a classifier over either or both.

    Source: DeiT (arXiv 2012.12877); transformers, models/deit/modeling_deit.py.
    """
    d = size(c, "hidden_size")
    if c.task == "model":
        return _model(c, "", (*_deit_parts(c), linear("pooler.dense", d, c.pooler_output_size, True, role="pooler")))
    if c.task == "masked_image_modeling":
        pixels = c.encoder_stride**2 * c.num_channels
        return _model(c, "deit", _deit_parts(c, masked=True), head(c.task, conv("decoder.0", d, pixels, 1, 1)))
    taught = c.model_class == "DeiTForImageClassificationWithTeacher"
    names = ("cls_classifier", "distillation_classifier") if taught else ("classifier",)
    made = [linear(name, d, num_labels(c), True, role="logits" if len(names) == 1 else name) for name in names]
    known = c.task == "image_classification"
    heads = (head(c.task, *made, chained=not taught),) if num_labels(c) and known else ()
    return _model(
        c, "deit", _deit_parts(c), *heads, partial="" if known else f"what {c.model_class} builds is not known"
    )


@family("yolos")
def yolos(c: Config) -> Architecture:
    """ViT with tokens that find objects, and positions for every layer where use_mid_position_embeddings is true.

    Source: YOLOS (arXiv 2106.00666); transformers, models/yolos/modeling_yolos.py.
    """
    d = size(c, "hidden_size")
    if c.task == "model":
        return _model(c, "", (*_yolos_parts(c), linear("pooler.dense", d, d, True, role="pooler")))
    if c.task != "object_detection":
        return Architecture(parts=(), partial=f"what {c.model_class} builds is not known")
    found = head(
        c.task,
        _three("class_labels_classifier", d, num_labels(c) + 1),
        _three("bbox_predictor", d, 4),
        chained=False,
    )
    return _model(c, "vit", _yolos_parts(c), found)


def _model(c: Config, name: str, parts: tuple[Block, ...], *heads: Block, partial: str = "") -> Architecture:
    made = Tower(
        name=name,
        parts=parts,
        tower="vision",
        model_type=c.model_type,
        pointer=c.pointer,
        width=size(c, "hidden_size"),
    )
    return Architecture(parts=(made, *heads), partial=partial)


def _classified(c: Config, parts: tuple[Block, ...]) -> Architecture:
    """A classifier over the first token; none without labels."""
    labels = num_labels(c)
    known = c.task == "image_classification"
    over = head(c.task, linear("classifier", size(c, "hidden_size"), labels, True, role="logits"))
    partial = "" if known else f"what {c.model_class} builds is not known"
    return _model(c, "vit", parts, *((over,) if labels and known else ()), partial=partial)


def _parts(c: Config, masked: bool = False) -> tuple[Block, Block, Block]:
    d, eps = size(c, "hidden_size"), c.layer_norm_eps
    token: Block = class_token("cls_token", 1, 1, d)
    if masked:
        token = group("", token, class_token("mask_token", 1, 1, d), role="token")
    return (_patches(c, token, 1), _layers(c), layer_norm("layernorm", d, eps=eps))


def _deit_parts(c: Config, masked: bool = False) -> tuple[Block, ...]:
    d, eps = size(c, "hidden_size"), c.layer_norm_eps
    names = ("cls_token", "distillation_token", *(("mask_token",) if masked else ()))
    tokens = group("", *(class_token(name, 1, 1, d) for name in names), role="token")
    return (_patches(c, tokens, 2), _layers(c), layer_norm("layernorm", d, eps=eps))


def _yolos_parts(c: Config) -> tuple[Block, ...]:
    d, finders = size(c, "hidden_size"), c.num_detection_tokens
    tokens = group("", class_token("cls_token", 1, 1, d), class_token("detection_tokens", 1, finders, d), role="token")
    middle = None
    if c.use_mid_position_embeddings:
        high, wide = sides(c.image_size)
        positions = 1 + high * wide // c.patch_size**2 + finders
        middle = weight(
            "encoder.mid_position_embeddings", c.num_hidden_layers - 1, 1, positions, d, role="side positions"
        )
    return present(
        _patches(c, tokens, 1 + finders), middle, _layers(c), layer_norm("layernorm", d, eps=c.layer_norm_eps)
    )


def _patch_count(c: Config) -> int:
    (high, wide), (rows, columns) = sides(c.image_size), sides(c.patch_size)
    return (high // rows) * (wide // columns)


def _patches(c: Config, token: Block, tokens: int) -> PatchEmbedding:
    d, positions = size(c, "hidden_size"), _patch_count(c) + tokens
    return patch_embedding(
        "embeddings",
        c.num_channels,
        d,
        sides(c.patch_size),
        projection="patch_embeddings.projection",
        token=token,
        positions=positions,
        position=position_weight("position_embeddings", 1, positions, d),
    )


def _layers(c: Config) -> Stack:
    d, eps = size(c, "hidden_size"), c.layer_norm_eps
    ffn = feed_forward(c, d, size(c, "intermediate_size"), name="", names=("intermediate.dense", "output.dense"))
    return stack(
        "encoder.layer",
        ("",) * c.num_hidden_layers,
        lambda kind: pre_norm(
            (layer_norm("layernorm_before", d, eps=eps), _attention(c)),
            (layer_norm("layernorm_after", d, eps=eps), ffn),
        ),
        width=d,
    )


def _attention(c: Config) -> Attention:
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


def _three(name: str, width: int, outputs: int) -> Group:
    """Three matrices, the last to what is wanted. Source: YolosMLPPredictionHead."""
    out = Size(outputs, "labels")
    return group(
        name,
        linear("layers.0", width, width, True),
        linear("layers.1", width, width, True),
        linear("layers.2", width, out, True),
    )
