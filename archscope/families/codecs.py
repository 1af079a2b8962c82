"""Neural audio codecs: strided convolutions down to frames, residual codebooks, and the way back."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import ceil, prod

from archscope.blocks.assembly import Architecture, Stack
from archscope.blocks.base import Block, Group, group, weight
from archscope.blocks.convolutions import Lstm, WeightNormConv
from archscope.blocks.factories import attention, size
from archscope.blocks.image_tokens import ResidualConvolution
from archscope.blocks.joined import bundle
from archscope.blocks.layer_scale import layer_scale
from archscope.blocks.leaves import Norm, conv, embedding
from archscope.blocks.repeated import repeated
from archscope.blocks.towers import feed_forward, layers, tower_model
from archscope.config import Config
from archscope.families.registry import family

Convolve = Callable[..., Block]
"""Makes a convolution from its name, channels in and out, kernel, and whether it is transposed."""


@family("encodec")
def encodec(c: Config) -> Architecture:
    """An LSTM at both inner ends; how many codebooks there are follows from the highest bandwidth.

    Source: EnCodec (arXiv 2210.13438); transformers, models/encodec/modeling_encodec.py.
    """
    make = partial(_normed, c)
    books = repeated("quantizer.layers", c.num_quantizers, _codebook("codebook", c.codebook_size, c.codebook_dim))
    return tower_model(
        c,
        size(c, "hidden_size"),
        Group(name="encoder", role="encoder", parts=tuple(_down(c, make, lstm=True))),
        books,
        Group(name="decoder", role="decoder", parts=tuple(_up(c, make, lstm=True))),
        tower="audio",
    )


@family("wavtokenizer_encoder")
def wavtokenizer_encoder(c: Config) -> Architecture:
    """EnCodec's encoder with one codebook.

    Source: transformers, models/wavtokenizer/modeling_wavtokenizer.py (WavTokenizerEncoderModel).
    """
    down = Group(name="encoder", role="encoder", parts=tuple(_down(c, partial(_normed, c), lstm=True)))
    book = _codebook("quantizer.codebook", c.codebook_size, c.codebook_dim)
    return tower_model(c, size(c, "hidden_size"), down, book, tower="audio")


@family("mimi")
def mimi(c: Config) -> Architecture:
    """Transformers at both inner ends; the first codebooks carry meaning, the others sound.

    Source: Moshi (arXiv 2410.00037); transformers, models/mimi/modeling_mimi.py; names as its conversion saves them.
    """
    d, rate, first = size(c, "hidden_size"), _frame_rate(c), c.num_semantic_quantizers
    kernel = 2 * int(_encoder_rate(c) / rate)
    denser = rate != _encoder_rate(c)
    hears, speaks = bool(c.get("_has_encoder", True)), bool(c.get("_has_decoder", True))
    encoder: tuple[Block, ...] = (
        Group(name="encoder", role="encoder", parts=tuple(_down(c, _plain, lstm=False))),
        _transformer(c, "encoder_transformer"),
        *((conv("downsample.conv", d, d, kernel, bias=False),) if denser else ()),
    )
    upsample = conv("upsample.conv", d, d, kernel, groups=c.upsample_groups, bias=False, transposed=True)
    decoder: tuple[Block, ...] = (
        *((upsample,) if denser else ()),
        _transformer(c, "decoder_transformer"),
        Group(name="decoder", role="decoder", parts=tuple(_up(c, _plain, lstm=False))),
    )
    return tower_model(
        c,
        d,
        *(encoder if hears else ()),
        _residual_books(c, "quantizer.semantic_residual_vector_quantizer", first),
        _residual_books(c, "quantizer.acoustic_residual_vector_quantizer", c.num_quantizers - first),
        *(decoder if speaks else ()),
        tower="audio",
    )


def _down(c: Config, make: Convolve, lstm: bool) -> list[Block]:
    """SEANet's encoder (arXiv 2009.02095): numbered modules, activations take a number too."""
    width = c.num_filters
    parts = [make("layers.0", c.audio_channels, width, c.kernel_size)]
    at = 1
    for ratio in reversed(c.upsampling_ratios):
        parts += [_unit(c, make, f"layers.{at + index}", width) for index in range(c.num_residual_layers)]
        at += c.num_residual_layers + 1
        parts.append(make(f"layers.{at}", width, 2 * width, 2 * ratio))
        at, width = at + 1, 2 * width
    if lstm:
        parts.append(Lstm(name=f"layers.{at}.lstm", size=width, num_layers=c.num_lstm_layers))
        at += 1
    return [*parts, make(f"layers.{at + 1}", width, c.hidden_size, c.last_kernel_size)]


def _up(c: Config, make: Convolve, lstm: bool) -> list[Block]:
    """SEANet's decoder, which mirrors its encoder."""
    width = c.num_filters * 2 ** len(c.upsampling_ratios)
    parts = [make("layers.0", c.hidden_size, width, c.kernel_size)]
    at = 1
    if lstm:
        parts.append(Lstm(name="layers.1.lstm", size=width, num_layers=c.num_lstm_layers))
        at = 2
    for ratio in c.upsampling_ratios:
        parts.append(make(f"layers.{at + 1}", width, width // 2, 2 * ratio, True))
        at, width = at + 2, width // 2
        parts += [_unit(c, make, f"layers.{at + index}", width) for index in range(c.num_residual_layers)]
        at += c.num_residual_layers
    return [*parts, make(f"layers.{at + 1}", c.num_filters, c.audio_channels, c.last_kernel_size)]


def _unit(c: Config, make: Convolve, name: str, width: int) -> ResidualConvolution:
    inner = width // c.compress
    first, second = make("block.1", width, inner, c.residual_kernel_size), make("block.3", inner, width, 1)
    parts = [_as(first, "conv1"), _as(second, "conv2")]
    if c.use_conv_shortcut:
        parts.append(_as(make("shortcut", width, width, 1), "shortcut"))
    return ResidualConvolution(name=name, inputs=width, outputs=width, parts=tuple(parts))


def _as(part: Block, role: str) -> Group:
    return Group(role=role, parts=(part,))


def _normed(c: Config, name: str, inputs: int, outputs: int, kernel: int, transposed: bool = False) -> Block:
    """A convolution with weight normalisation, or one with a norm after it, by norm_type."""
    if c.norm_type == "weight_norm":
        return WeightNormConv(
            name=f"{name}.conv", in_channels=inputs, out_channels=outputs, kernel=kernel, transposed=transposed
        )
    return group("", _plain(name, inputs, outputs, kernel, transposed), _group_norm(f"{name}.norm", outputs))


def _group_norm(name: str, channels: int) -> Norm:
    return Norm(name=name, size=channels, kind="group", bias=True)


def _plain(name: str, inputs: int, outputs: int, kernel: int, transposed: bool = False) -> Block:
    return conv(f"{name}.conv", inputs, outputs, kernel, transposed=transposed)


def _codebook(name: str, entries: int, width: int) -> Group:
    """Vectors that are running means of what they stand for: saved, and no parameters."""
    return group(
        "",
        weight(f"{name}.inited", 1, parameter=False),
        weight(f"{name}.cluster_size", entries, parameter=False),
        weight(f"{name}.embed", entries, width, parameter=False),
        weight(f"{name}.embed_avg", entries, width, parameter=False),
        role="codebook",
    )


def _encoder_rate(c: Config) -> int:
    """Frames a second that the convolutions give."""
    rate: float = c.sampling_rate / prod(c.upsampling_ratios)
    return ceil(rate)


def _frame_rate(c: Config) -> float:
    """Frames a second of the code: as written, else half of what the convolutions give."""
    written = c.get("_frame_rate")
    return float(written) if written is not None else c.sampling_rate / (2 * prod(c.upsampling_ratios))


def _residual_books(c: Config, name: str, count: int) -> Group:
    """Codebooks of which each codes what the ones before left over."""
    d, width = c.hidden_size, c.vector_quantization_hidden_dimension
    book = group(
        "",
        weight("codebook.initialized", 1, parameter=False),
        weight("codebook.cluster_usage", c.codebook_size, parameter=False),
        weight("codebook.embed_sum", c.codebook_size, c.codebook_dim, parameter=False),
        role="codebook",
    )
    inner = width != d
    return group(
        name,
        conv("input_proj", d, width, 1, bias=False) if inner else None,
        repeated("layers", count, book),
        conv("output_proj", width, d, 1, bias=False) if inner else None,
        role="side codebooks",
    )


def _transformer(c: Config, name: str) -> Stack:
    """Causal layers over a window of frames, a factor for each channel of both branches."""
    d = size(c, "hidden_size")
    attend = attention(c, bias=bool(c.attention_bias), window=c.sliding_window)
    ffn = feed_forward(c, d, size(c, "intermediate_size"), bias=False)
    return layers(
        f"{name}.layers",
        c.num_hidden_layers,
        d,
        attend,
        ffn,
        norms=("input_layernorm", "post_attention_layernorm"),
        eps=c.norm_eps,
        scales=(
            layer_scale("self_attn_layer_scale", d, tensor="scale"),
            layer_scale("mlp_layer_scale", d, tensor="scale"),
        ),
    )


@family("dac")
def dac(c: Config) -> Architecture:
    """Strided and transposed convolutions with snake activations; codebooks of few dimensions.

    Source: Descript Audio Codec (arXiv 2306.06546); transformers, models/dac/modeling_dac.py.
    """
    d, first, last = c.hidden_size, c.encoder_hidden_size, c.decoder_hidden_size
    down, up = len(c.downsampling_ratios), len(c.upsampling_ratios)
    encoder = bundle(
        "encoder",
        conv("conv1", 1, first, 7),
        *(_shorter(f"block.{index}", first * 2**index, rate) for index, rate in enumerate(c.downsampling_ratios)),
        _snake("snake1", first * 2**down),
        conv("conv2", first * 2**down, d, 3),
        role="encoder",
    )
    decoder = bundle(
        "decoder",
        conv("conv1", d, last, 7),
        *(_longer(f"block.{index}", last, index, rate) for index, rate in enumerate(c.upsampling_ratios)),
        _snake("snake1", last // 2**up),
        conv("conv2", last // 2**up, 1, 7),
        role="decoder",
    )
    narrow = c.codebook_dim
    codes = group(
        "",
        conv("in_proj", d, narrow, 1),
        embedding("codebook", c.codebook_size, narrow, of="code", role="side codebook"),
        conv("out_proj", narrow, d, 1),
    )
    return tower_model(c, d, encoder, repeated("quantizer.quantizers", c.n_codebooks, codes), decoder, tower="audio")


def _snake(name: str, width: int) -> Block:
    """An activation with a learned frequency for each channel. Source: arXiv 2006.08195."""
    return group(name, weight("alpha", 1, width, 1), role=name)


def _snake_unit(name: str, width: int) -> Block:
    return bundle(
        name,
        _snake("snake1", width),
        conv("conv1", width, width, 7),
        _snake("snake2", width),
        conv("conv2", width, width, 1),
        role=name,
    )


def _snake_units(width: int) -> list[Block]:
    return [_snake_unit(f"res_unit{number}", width) for number in (1, 2, 3)]


def _shorter(name: str, width: int, rate: int) -> Block:
    return bundle(
        name, *_snake_units(width), _snake("snake1", width), conv("conv1", width, 2 * width, 2 * rate), role=name
    )


def _longer(name: str, widest: int, index: int, rate: int) -> Block:
    inputs, outputs = widest // 2**index, widest // 2 ** (index + 1)
    longer = conv("conv_t1", inputs, outputs, 2 * rate, transposed=True)
    return bundle(name, _snake("snake1", inputs), longer, *_snake_units(outputs), role=name)
