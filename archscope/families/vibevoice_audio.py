"""VibeVoice's tokenizers: ConvNeXt blocks over time between strided convolutions, no codebook."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Branch, Layer, Sublayer
from archscope.blocks.base import Block, Group, group
from archscope.blocks.layer_scale import layer_scale
from archscope.blocks.leaves import conv, rms_norm
from archscope.blocks.mlp import plain_mlp
from archscope.blocks.repeated import repeated
from archscope.blocks.towers import tower_model
from archscope.config import Config
from archscope.families.registry import family


@family("vibevoice_acoustic_tokenizer_encoder")
def vibevoice_encoder(c: Config) -> Architecture:
    """From the waveform to one continuous vector a frame.

    Source: transformers, models/vibevoice_acoustic_tokenizer (VibeVoiceAcousticTokenizerEncoderModel).
    """
    return tower_model(c, c.hidden_size, *_encoder(c), tower="audio")


@family("vibevoice_acoustic_tokenizer_decoder")
def vibevoice_decoder(c: Config) -> Architecture:
    """From vectors back to the waveform.

    Source: transformers, models/vibevoice_acoustic_tokenizer (VibeVoiceAcousticTokenizerDecoderModel).
    """
    return tower_model(c, c.hidden_size, *_decoder(c, list(c.depths)), tower="audio")


@family("vibevoice_acoustic_tokenizer")
def vibevoice_tokenizer(c: Config) -> Architecture:
    """Encoder and decoder, the second with the stages of the first in reverse.

    Source: transformers, models/vibevoice_acoustic_tokenizer (VibeVoiceAcousticTokenizerModel).
    """
    encoder = Group(name="encoder", role="encoder", parts=_encoder(c))
    decoder = Group(name="decoder", role="decoder", parts=_decoder(c, list(reversed(c.depths))))
    return tower_model(c, c.hidden_size, encoder, decoder, tower="audio")


def _encoder(c: Config) -> tuple[Block, ...]:
    width, ratios = c.num_filters, c.downsampling_ratios
    stages: list[Block] = [
        conv("stem.conv.conv", c.channels, width, c.kernel_size),
        repeated("stem.stage", c.depths[0], _block(c, width)),
    ]
    for index, ratio in enumerate(ratios):
        inputs, outputs, at = int(width * 2**index), int(width * 2 ** (index + 1)), f"conv_layers.{index}"
        stages.append(conv(f"{at}.conv.conv", inputs, outputs, 2 * ratio))
        stages.append(repeated(f"{at}.stage", c.depths[index + 1], _block(c, outputs)))
    return (*stages, conv("head.conv", int(width * 2 ** len(ratios)), c.hidden_size, c.kernel_size))


def _decoder(c: Config, depths: list[int]) -> tuple[Block, ...]:
    width, last = c.num_filters, len(depths) - 1
    widest = int(width * 2**last)
    stages: list[Block] = [
        conv("stem.conv.conv", c.hidden_size, widest, c.kernel_size),
        repeated("stem.stage", depths[0], _block(c, widest)),
    ]
    for index, ratio in enumerate(reversed(c.downsampling_ratios)):
        inputs, outputs = int(width * 2 ** (last - index)), int(width * 2 ** (last - 1 - index))
        at = f"conv_layers.{index}"
        stages.append(conv(f"{at}.convtr.convtr", inputs, outputs, 2 * ratio, transposed=True))
        stages.append(repeated(f"{at}.stage", depths[index + 1], _block(c, outputs)))
    return (*stages, conv("head.conv", width, c.channels, c.kernel_size))


def _block(c: Config, width: int) -> Layer:
    """A convolution for each channel and a feed-forward block, each with a factor for every channel."""
    over_time = group("mixer", conv("conv", width, width, c.kernel_size, groups=width), role="convolution")
    ffn = plain_mlp(width, c.ffn_expansion * width, c.hidden_act, name="ffn", names=("linear1", "linear2"))
    eps = c.rms_norm_eps
    return Layer(
        width=width,
        sublayers=(
            Sublayer(
                branches=(
                    Branch(pre=rms_norm("norm", width, eps=eps), body=over_time, post=layer_scale("gamma", width)),
                )
            ),
            Sublayer(
                branches=(
                    Branch(pre=rms_norm("ffn_norm", width, eps=eps), body=ffn, post=layer_scale("ffn_gamma", width)),
                )
            ),
        ),
    )
