"""Image tokenizers: VQGANs whose codes a language model reads and, in some, writes."""

from __future__ import annotations

from collections.abc import Sequence
from math import log2

from archscope.blocks.assembly import Architecture
from archscope.blocks.base import Block, Group, group
from archscope.blocks.batch_norm import BatchNorm
from archscope.blocks.image_tokens import channel_norm, pixel_attention, residual_convolution
from archscope.blocks.leaves import conv, embedding, linear
from archscope.blocks.towers import square_attention, tower_model
from archscope.config import Config
from archscope.families.registry import family


@family("chameleon_vqgan")
def chameleon_vqgan(c: Config) -> Architecture:
    """The encoder alone, attention at the resolutions of attn_resolutions; the decoder is not part of the model.

    Source: transformers, models/chameleon/modeling_chameleon.py (ChameleonVQVAE).
    """
    vanilla = c.attn_type == "vanilla"
    wanted = c.attn_resolutions if c.attn_resolutions is not None and vanilla else ()
    attended = [c.resolution // 2**level in wanted for level in range(len(c.channel_multiplier))]
    return tower_model(c, c.embed_dim, _encoder(c, attended, middle=vanilla), *_codes(c), classes=("ChameleonVQVAE",))


@family("janus_vqgan")
def janus_vqgan(c: Config) -> Architecture:
    """Encoder and decoder, attention at the lowest resolution.

    Source: transformers, models/janus/modeling_janus.py (JanusVQVAE).
    """
    levels = len(c.channel_multiplier)
    attended = [level == levels - 1 for level in range(levels)]
    decoder = _decoder(c, attended)
    return tower_model(c, c.embed_dim, _encoder(c, attended), *_codes(c), decoder, classes=("JanusVQVAE",))


@family("apertus1p5_vision_tokenizer")
def apertus_tokenizer(c: Config) -> Architecture:
    """The encoder alone, each convolution with its attention.

    Source: transformers, models/apertus1p5/modeling_apertus1p5.py (Apertus1p5VisionTokenizerModel).
    """
    out = c.base_channels * c.channel_multiplier[-1]
    encoder = group(
        "encoder",
        conv("conv_in", c.in_channels, c.base_channels, 3, 3),
        *(_stage(c, level) for level in range(len(c.channel_multiplier))),
        _middle("mid", out),
        channel_norm("norm_out", out),
        conv("conv_out", out, c.latent_channels, 3, 3),
    )
    codes = linear("quantize.embedding", c.embed_dim, c.codebook_size, role="codes")
    quantise = conv("quant_conv", c.latent_channels, c.embed_dim, 1, 1)
    return tower_model(c, c.embed_dim, encoder, quantise, codes, classes=("Apertus1p5VisionTokenizerModel",))


@family("emu3_vqgan")
def emu3_vqgan(c: Config) -> Architecture:
    """Frames of a video at once: convolutions over time below those over the image, norms steered by the code.

    Source: transformers, models/emu3/modeling_emu3.py (Emu3VQVAE).
    """
    code, latent = c.embed_dim, c.latent_channels
    return tower_model(
        c,
        code,
        _emu3_encoder(c),
        conv("quant_conv.conv", latent, code, 3, 1, 1),
        embedding("quantize.embedding", c.codebook_size, code, of="code", role="side codes"),
        conv("post_quant_conv.conv", code, latent, 3, 1, 1),
        _emu3_decoder(c),
        classes=("Emu3VQVAE",),
    )


def _codes(c: Config) -> tuple[Block, ...]:
    """To the code's width, the table of codes, and back."""
    return (
        conv("quant_conv", c.latent_channels, c.embed_dim, 1, 1),
        embedding("quantize.embedding", c.num_embeddings, c.embed_dim, of="code", role="side codes"),
        conv("post_quant_conv", c.embed_dim, c.latent_channels, 1, 1),
    )


def _encoder(c: Config, attended: list[bool], middle: bool = True) -> Group:
    base, multipliers = c.base_channels, c.channel_multiplier
    levels: list[Block] = []
    for level, (before, after) in enumerate(zip((1, *multipliers), multipliers, strict=False)):
        inputs, outputs = base * before, base * after
        widths = ([inputs] + [outputs] * (c.num_res_blocks - 1))[: c.num_res_blocks]
        blocks = [residual_convolution(f"block.{i}", width, outputs) for i, width in enumerate(widths)]
        attention = [pixel_attention(f"attn.{i}", outputs) for i in range(c.num_res_blocks)] if attended[level] else []
        last = conv("downsample.conv", outputs, outputs, 3, 3) if level < len(multipliers) - 1 else None
        levels.append(group(f"down.{level}", *_paired(blocks, attention), last))
    out = base * multipliers[-1]
    return group(
        "encoder",
        conv("conv_in", c.in_channels, base, 3, 3),
        *levels,
        _middle("mid", out, middle),
        channel_norm("norm_out", out),
        conv("conv_out", out, 2 * c.latent_channels if c.double_latent else c.latent_channels, 3, 3),
    )


def _decoder(c: Config, attended: list[bool]) -> Group:
    """The encoder's way back, numbered from the lowest resolution."""
    base, multipliers = c.base_channels, c.channel_multiplier
    inputs = base * multipliers[-1]
    levels: list[Block] = []
    for number, level in enumerate(reversed(range(len(multipliers)))):
        outputs = base * multipliers[level]
        widths = [inputs] + [outputs] * c.num_res_blocks
        blocks = [residual_convolution(f"block.{i}", width, outputs) for i, width in enumerate(widths)]
        attention = [pixel_attention(f"attn.{i}", outputs) for i in range(len(widths))] if attended[level] else []
        last = conv("upsample.conv", outputs, outputs, 3, 3) if level else None
        levels.append(group(f"up.{number}", *_paired(blocks, attention), last))
        inputs = outputs
    return group(
        "decoder",
        conv("conv_in", c.latent_channels, base * multipliers[-1], 3, 3),
        _middle("mid", base * multipliers[-1]),
        *levels,
        channel_norm("norm_out", inputs),
        conv("conv_out", inputs, c.out_channels, 3, 3),
    )


def _paired(blocks: Sequence[Block], attention: Sequence[Block]) -> list[Block]:
    """Each convolution, followed by its attention where there is one."""
    return [part for index, block in enumerate(blocks) for part in (block, *attention[index : index + 1])]


def _middle(name: str, channels: int, attends: bool = True) -> Group:
    return group(
        name,
        residual_convolution("block_1", channels, channels),
        pixel_attention("attn_1", channels) if attends else None,
        residual_convolution("block_2", channels, channels),
    )


def _stage(c: Config, level: int) -> Group:
    base, multipliers = c.base_channels, c.channel_multiplier
    inputs, outputs = base * (multipliers[level - 1] if level else 1), base * multipliers[level]
    attends = c.resolution // 2**level in c.attn_resolutions
    widths = ([inputs] + [outputs] * (c.num_res_blocks - 1))[: c.num_res_blocks]
    pairs = [
        group(
            f"layers.{index}",
            residual_convolution("resnet", width, outputs),
            pixel_attention("attention", outputs) if attends else None,
        )
        for index, width in enumerate(widths)
    ]
    last = conv("downsample.conv", outputs, outputs, 3, 3) if level < len(multipliers) - 1 else None
    return group(f"stages.{level}", *pairs, last)


def _emu3_encoder(c: Config) -> Group:
    base, multipliers = c.base_channels, c.channel_multiplier
    levels: list[Block] = []
    for level, (before, after) in enumerate(zip((1, *multipliers), multipliers, strict=False)):
        inputs, outputs = base * before, base * after
        widths = ([inputs] + [outputs] * (c.num_res_blocks - 1))[: c.num_res_blocks]
        attends = c.attn_resolutions is not None and level in c.attn_resolutions
        last = conv("downsample.conv", outputs, outputs, 3, 3) if level < len(multipliers) - 1 else None
        levels.append(group(f"down_block.down.{level}", *_emu3_level(c, widths, outputs, attends, None), last))
    out = base * multipliers[-1]
    latent = 2 * c.latent_channels if c.double_latent else c.latent_channels
    return group(
        "encoder",
        conv("conv_in", c.in_channels, base, 3, 3),
        *levels,
        _emu3_middle(c, out, None),
        channel_norm("norm_out", out),
        conv("conv_out", out, latent, 3, 3),
        *(conv(f"time_conv.{i}.conv.conv", latent, latent, 4, 3, 3) for i in range(_halvings(c))),
        *(_over_time(f"time_res_stack.{i}", latent) for i in range(c.num_res_blocks)),
    )


def _emu3_decoder(c: Config) -> Group:
    base, multipliers, code, latent = c.base_channels, c.channel_multiplier, c.embed_dim, c.latent_channels
    inputs = base * multipliers[-1]
    levels: list[Block] = []
    for level in reversed(range(len(multipliers))):
        outputs = base * multipliers[level]
        widths = [inputs] + [outputs] * c.num_res_blocks
        last = conv("upsample.conv", outputs, outputs, 3, 3) if level else None
        attends = level in c.attn_resolutions
        levels.append(group(f"up_block.up.{level}", *_emu3_level(c, widths, outputs, attends, code), last))
        inputs = outputs
    return group(
        "decoder",
        *(_over_time(f"time_res_stack.{i}", latent) for i in range(c.num_res_blocks)),
        *(conv(f"time_conv.{i}.conv.conv", latent, latent, 3, 3, 3) for i in range(_halvings(c))),
        conv("conv_in", latent, base * multipliers[-1], 3, 3),
        _emu3_middle(c, base * multipliers[-1], code),
        *levels,
        channel_norm("norm_out", inputs, code),
        conv("conv_out", inputs, c.out_channels, 3, 3),
    )


def _halvings(c: Config) -> int:
    """How often time is halved."""
    return int(log2(c.temporal_downsample_factor))


def _emu3_level(c: Config, widths: list[int], outputs: int, attends: bool, code: int | None) -> tuple[Block, ...]:
    parts: list[Block] = []
    for index, width in enumerate(widths):
        parts.append(residual_convolution(f"block.{index}", width, outputs, code=code))
        if attends:
            parts.append(channel_norm(f"attn_norms.{index}", outputs, code))
            parts.append(_emu3_attention(c, f"attn.{index}"))
    return tuple(parts)


def _emu3_attention(c: Config, name: str) -> Block:
    return square_attention(c.hidden_size, c.num_attention_heads, name=name, position="none")


def _emu3_middle(c: Config, channels: int, code: int | None) -> Group:
    return group(
        "middle_block",
        residual_convolution("block_1", channels, channels, code=code),
        channel_norm("attn_norm", channels, code),
        _emu3_attention(c, "attn_1"),
        residual_convolution("block_2", channels, channels, code=code),
    )


def _over_time(name: str, channels: int) -> Group:
    """A residual pair of convolutions over frames."""
    return group(
        name,
        BatchNorm(name="norm1", size=channels),
        conv("conv1.conv", channels, channels, 3, 3, 3),
        BatchNorm(name="norm2", size=channels),
        conv("conv2.conv", channels, channels, 3, 3, 3),
    )
