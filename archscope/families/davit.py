"""DaViT, Florence-2's vision tower: stages of blocks that attend over windows of the image, then over its channels."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Branch, Layer, Sublayer
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, Group, group
from archscope.blocks.leaves import conv, layer_norm
from archscope.blocks.mlp import plain_mlp
from archscope.blocks.repeated import repeated
from archscope.blocks.towers import square_attention, tower_model
from archscope.config import Config
from archscope.families.registry import family


@family("florence_vision")
def florence_vision(c: Config) -> Architecture:
    """Each stage halves the image by a convolution and widens it.

    Source: DaViT (arXiv 2204.03645); transformers, models/florence2/modeling_florence2.py (Florence2VisionBackbone).
    """
    stages = range(len(c.embed_dim))
    parts = [part for stage in stages for part in (_shrink(c, stage), _blocks(c, stage))]
    return tower_model(c, c.embed_dim[-1], *parts, classes=("Florence2VisionBackbone",))


def _shrink(c: Config, stage: int) -> Group:
    """A strided convolution, with the norm before it where patch_prenorm says so."""
    inputs, outputs = c.in_channels if stage == 0 else c.embed_dim[stage - 1], c.embed_dim[stage]
    side, first = c.patch_size[stage], bool(c.patch_prenorm[stage])
    made = conv("conv", inputs, outputs, side, side)
    norm = layer_norm("norm", inputs if first else outputs)
    return group(f"convs.{stage}", *((norm, made) if first else (made, norm)))


def _blocks(c: Config, stage: int) -> Block:
    d = c.embed_dim[stage]
    bias = bool(c.qkv_bias)
    over_image = square_attention(
        d,
        c.num_heads[stage],
        name="window_attn",
        names=OUT,
        fused="qkv",
        bias=bias,
        out_bias=True,
        chunk=c.window_size**2,
    )
    # Channels attend to channels: a group's width is what it has of them, and positions make up the inner product.
    over_channels = square_attention(
        d, c.num_groups[stage], name="channel_attn", names=OUT, fused="qkv", bias=bias, out_bias=True
    )
    pair = group("", _half(c, "spatial_block", d, over_image), _half(c, "channel_block", d, over_channels))
    return repeated(f"blocks.{stage}", c.depths[stage], pair)


OUT = ("", "", "", "proj")


def _half(c: Config, name: str, d: int, attend: Attention) -> Layer:
    """Attention and a feed-forward block; before each a convolution of every channel that is added to its input."""
    ffn = plain_mlp(d, int(d * c.mlp_ratio), c.activation_function, name="ffn")
    around = [conv(f"conv{n}", d, d, 3, 3, groups=d) for n in (1, 2)]
    return Layer(
        name=name,
        width=d,
        sublayers=(
            Sublayer(branches=(Branch(body=around[0]),)),
            Sublayer(branches=(Branch(pre=layer_norm("norm1", d), body=attend),)),
            Sublayer(branches=(Branch(body=around[1]),)),
            Sublayer(branches=(Branch(pre=layer_norm("norm2", d), body=ffn),)),
        ),
    )
