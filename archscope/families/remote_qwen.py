"""Qwen before it came to transformers: GPT-2's names around Llama's layer, and Qwen-VL's tower."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Opaque, Tower
from archscope.blocks.base import Block, weight
from archscope.blocks.factories import attention, mlp, size
from archscope.blocks.leaves import layer_norm
from archscope.blocks.patches import patch_embedding, position_weight
from archscope.blocks.resampler import resampler
from archscope.blocks.size import Size
from archscope.blocks.skeletons import pre_norm_decoder, with_head
from archscope.blocks.towers import feed_forward, layers, square_attention
from archscope.blocks.undeclared import completed_decoder, first, flag, part_of
from archscope.config import Config
from archscope.families.registry import family

PATCHES = 256
"""Positions of Qwen-VL's tower, and queries of its resampler, whatever the size of the image."""


@family("qwen")
def qwen(c: Config) -> Architecture:
    """One biased matrix for queries, keys and values; gate and up are each half of intermediate_size wide.

    Source: Qwen/Qwen-7B, Qwen-72B, Qwen-VL (modeling_qwen.py, visual.py, indexes of the weights).
    """
    c = completed_decoder(c, partial=first(c, "rotary_pct"), hidden_act="silu")
    bias = not flag(c, "no_bias", default=True)
    heads, width = c.num_attention_heads, Size(c.intermediate_size // 2, "m/2")
    mixer = attention(
        c,
        name="attn",
        names=("", "", "", "c_proj"),
        fused="c_attn",
        num_kv_heads=heads,
        head_dim=first(c, "kv_channels", "head_dim", default=c.hidden_size // heads),
        bias=True,
        out_bias=bias,
    )
    tower = pre_norm_decoder(
        c,
        lambda kind: mixer,
        lambda kind: mlp(c, names=("w2", "w1", "c_proj"), bias=bias, width=width),
        norms=("ln_1", "ln_2"),
        final="ln_f",
        embed="wte",
        layers="h",
    )
    beside = tuple(_beside(c, "" if c.task == "model" else "transformer."))
    return with_head(c, tower, prefix="transformer", token_table="wte", beside=beside)


def _beside(c: Config, prefix: str) -> list[Block]:
    seeing = part_of(c, "visual")
    found: list[Block] = [] if seeing is None else [_visual(seeing, f"{prefix}visual")]
    if c.get("audio") is not None:
        found.append(Opaque(name=f"{prefix}audio", model_type="", reason="nothing is known of Qwen-Audio's tower"))
    return found


def _visual(v: Config, name: str) -> Tower:
    """A CLIP tower, then a resampler into the text's width, a norm and a bare matrix."""
    d, target, count = size(v, "width"), Size(v.output_dim, "d_text"), v.layers
    width = Size(int(v.width * first(v, "mlp_ratio", default=4.0)), "m")
    patch = int(v.patch_size)
    fields = ("width", "patch_size")
    stem = patch_embedding(
        "",
        3,
        d,
        (patch, patch),
        projection="conv1",
        bias=False,
        positions=PATCHES,
        position=position_weight("positional_embedding", PATCHES, d),
        norm=layer_norm("ln_pre", d, role="norm"),
        fields=fields,
    )
    stack = layers(
        "transformer.resblocks",
        count,
        d,
        square_attention(
            d, v.heads, name="attn", names=("", "", "", "out_proj"), fused="in_proj", fields=("heads", "width")
        ),
        feed_forward(v, d, width, names=("c_fc", "c_proj")),
        norms=("ln_1", "ln_2"),
    )
    pooled = resampler("attn_pool", d, target, queries=PATCHES, num_heads=max(1, target // 128), positions=True)
    parts = (stem, stack, pooled, layer_norm("ln_post", target), weight("proj", target, target, role="proj"))
    return Tower(name=name, parts=parts, tower="vision", model_type="qwen", pointer=v.pointer, width=d)
