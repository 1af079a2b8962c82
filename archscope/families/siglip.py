"""SigLIP's vision tower: a pre-norm encoder over image patches, with an attention-pooling head."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Tower, pre_norm, stack
from archscope.blocks.base import Group, group, weight
from archscope.blocks.factories import attention, mlp, size
from archscope.blocks.leaves import conv, embedding, layer_norm, linear
from archscope.config import Config
from archscope.families.registry import family


@family("siglip_vision_model")
def siglip_vision(c: Config) -> Architecture:
    """Patches and learned positions, pre-norm layers with biases, a pooling head where vision_use_head is true.

    Source: transformers, models/siglip/modeling_siglip.py (SiglipVisionTransformer).
    """
    d, side = size(c, "hidden_size"), c.image_size // c.patch_size
    names = ("q_proj", "k_proj", "v_proj", "out_proj")
    layers = stack(
        "encoder.layers",
        ("",) * c.num_hidden_layers,
        lambda kind: pre_norm(
            (
                layer_norm("layer_norm1", d),
                attention(c, names=names, bias=True, causal=False, cache=False, position="learned"),
            ),
            (layer_norm("layer_norm2", d), mlp(c, kind="plain", bias=True)),
        ),
        width=d,
    )
    patches = group(
        "embeddings",
        conv("patch_embedding", c.num_channels, d, c.patch_size, c.patch_size, role="patches"),
        embedding("position_embedding", side * side, d, of="position"),
        role="patch embedding",
    )
    parts = (patches, layers, layer_norm("post_layernorm", d))
    if c.get("vision_use_head", True):
        parts = (*parts, _pooling_head(c))
    return Architecture(parts=(Tower(parts=parts, tower="vision", model_type=c.model_type, pointer=c.pointer, width=d),))


def _pooling_head(c: Config) -> Group:
    """One learned query attends to all patches. Source: SiglipMultiheadAttentionPoolingHead."""
    d = size(c, "hidden_size")
    return group(
        "head",
        weight("probe", 1, 1, d),
        weight("attention.in_proj_weight", 3 * d, d),
        weight("attention.in_proj_bias", 3 * d),
        linear("attention.out_proj", d, d, True),
        layer_norm("layernorm", d),
        mlp(c, kind="plain", bias=True),
        role="pooling",
    )
