"""Muse Spark's audio tower: ever wider stages of causal convolutions over the raw waveform."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Branch, Layer, Sublayer
from archscope.blocks.base import Block, Group, group
from archscope.blocks.leaves import conv, linear, regroup, rms_norm
from archscope.blocks.mlp import plain_mlp
from archscope.blocks.repeated import repeated
from archscope.blocks.size import Size
from archscope.blocks.towers import tower_model
from archscope.config import Config
from archscope.families.registry import family


@family("muse_spark_audio")
def muse_spark_audio(c: Config) -> Architecture:
    """Patches of samples, then patches of patches; blocks of a convolution per channel and a feed-forward block.

    Source: transformers, models/muse_spark/modeling_muse_spark.py (MuseSparkAudioModel).
    """
    last, out = c.hidden_sizes[-1], Size(c.out_hidden_size, "d_out")
    return tower_model(
        c,
        out,
        *(_stage(c, index) for index in range(c.num_hidden_layers)),
        rms_norm("norm", last),
        linear("proj", last, out, True),
        rms_norm("post_proj_norm", out),
        tower="audio",
    )


def _stage(c: Config, index: int) -> Group:
    inputs, outputs = c.hidden_sizes[index - 1] if index else 1, c.hidden_sizes[index]
    joined = inputs * c.patch_sizes[index]
    patches = group(
        "patch_embedder",
        regroup("patch merge", inputs, joined),
        linear("proj", joined, outputs, True),
        rms_norm("norm", outputs),
    )
    return group(f"layers.{index}", patches, repeated("conv_blocks", c.depths[index], _block(c, outputs)))


def _block(c: Config, width: int) -> Block:
    ffn = plain_mlp(width, int(width * c.mlp_ratio), str(c.get("hidden_act", "")), bias=True)
    over_time = conv("conv", width, width, c.conv_kernel_size, groups=width)
    branch = Branch(pre=group("", over_time, rms_norm("norm", width), role="convolution"), body=ffn)
    return Layer(width=width, sublayers=(Sublayer(branches=(branch,)),))
