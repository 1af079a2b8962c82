"""HunYuan's vision towers: a table of positions for the largest image, and two convolutions that merge patches."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.base import Block, group, weight
from archscope.blocks.factories import attention, size
from archscope.blocks.leaves import conv, linear, rms_norm
from archscope.blocks.patches import patch_embedding, sides
from archscope.blocks.towers import feed_forward, is_mounted, layers, tower_model
from archscope.config import Config
from archscope.families.registry import family

LAYER_NAMES = (("layer_norm1", "layer_norm2"), ("fc1", "fc2"))
FIRST_NAMES = (("input_layernorm", "post_attention_layernorm"), ("dense_h_to_4h", "dense_4h_to_h"))
"""Names of norms and feed-forward matrices as the models were first released and are saved."""


@family("hunyuan_vl_vision")
def hunyuan_vl_vision(c: Config) -> Architecture:
    """Merged patches pass one more matrix into the text; learned vectors begin, end and part images.

    Source: transformers, models/hunyuan_vl/modeling_hunyuan_vl.py (HunYuanVLVisionPatchMerger); inside the whole model
    the names are those of its first release (conversion_mapping.py).
    """
    d, out = size(c, "hidden_size"), c.text_hidden_size
    outer = rms_norm("after_rms", out, eps=c.layer_norm_eps)
    marks = tuple(weight(name, out) for name in ("image_begin", "image_end", "image_sep"))
    return _tower(c, 2 * d, 4 * d, linear("mlp", 4 * d, out, True), *marks, outer)


@family("hy_v4_vl_vision")
def hy_v4_vision(c: Config) -> Architecture:
    """Patches are merged straight to the text's width.

    Source: transformers, models/hy_v4_vl/modeling_hy_v4_vl.py (HYV4VLVisionPatchMerger); inside the whole model the
    names are those of its first release (conversion_mapping.py).
    """
    return _tower(c, c.hidden_size * c.spatial_merge_size**2, c.out_hidden_size)


def _tower(c: Config, width: int, out: int, *after: Block) -> Architecture:
    d, first, side = size(c, "hidden_size"), is_mounted(c), c.spatial_merge_size
    norms, matrices = FIRST_NAMES if first else LAYER_NAMES
    merger = group(
        "perceive" if first else "patch_merger",
        rms_norm("norm" if first and not after else "before_rms", d, eps=c.layer_norm_eps),
        conv("proj.0" if first else "proj_conv", d, width, side, side),
        conv("proj.2" if first else "proj_out", width, out, 1, 1),
        weight("image_newline", out),
        *after,
        role="merger",
    )
    attend = attention(c, bias=True, num_kv_heads=c.num_attention_heads, causal=False, cache=False, position="learned")
    ffn = feed_forward(c, d, size(c, "intermediate_size"), names=matrices)
    positions = (c.max_image_size // c.patch_size) ** 2 + 1
    return tower_model(
        c,
        d,
        patch_embedding("embeddings", c.num_channels, d, sides(c.patch_size), positions=positions),
        layers("layers", c.num_hidden_layers, d, attend, ffn, norms=norms, eps=c.layer_norm_eps),
        merger,
    )
