"""What speech models share: convolutions that shorten a spectrogram, pre-norm layers with few biases on keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from archscope.blocks.assembly import Stack, Sublayer, pre_norm, stack
from archscope.blocks.attention import Attention, Position, Rope
from archscope.blocks.base import Block
from archscope.blocks.leaves import Norm, conv, layer_norm, linear, regroup
from archscope.blocks.mlp import Mlp, plain_mlp
from archscope.blocks.towers import square_attention

SPEECH_NORMS = ("self_attn_layer_norm", "final_layer_norm")


def mel_stem(mels: int, width: int, name: str = "") -> tuple[Block, ...]:
    """Two convolutions over mel frames, the second of which halves their number."""
    at = f"{name}." if name else ""
    return (conv(f"{at}conv1", mels, width, 3), conv(f"{at}conv2", width, width, 3))


def image_stem(mels: int, channels: int, width: int, name: str = "", *, flat: int | None = None) -> tuple[Block, ...]:
    """Three strided convolutions over time and frequency, then a matrix over what is left of the frequencies.

    `flat` is the number of channels times frequencies that enter it, where the config says so.
    """
    at, bins = f"{name}." if name else "", mels
    for _ in range(3):
        bins = (bins + 1) // 2
    inputs = channels * bins if flat is None else flat
    return (
        conv(f"{at}conv2d1", 1, channels, 3, 3),
        conv(f"{at}conv2d2", channels, channels, 3, 3),
        conv(f"{at}conv2d3", channels, channels, 3, 3),
        regroup("frequencies to channels", channels, channels * bins),
        linear(f"{at}conv_out", inputs, width),
    )


def speech_attention(
    width: int,
    num_heads: int,
    *,
    name: str = "self_attn",
    key_bias: bool = False,
    causal: bool = False,
    cache: bool = False,
    memory: int | None = None,
    position: Position = "learned",
    rotary: Rope | None = None,
    fields: tuple[str, ...] = ("encoder_attention_heads", "d_model"),
) -> Attention:
    """Multi-head attention with biases on everything but, mostly, the keys."""
    return square_attention(
        width,
        num_heads,
        name=name,
        bias=True,
        key_bias=key_bias,
        causal=causal,
        cache=cache,
        memory=memory,
        position=position,
        rotary=rotary,
        fields=fields,
    )


def speech_encoder_layers(
    count: int,
    width: int,
    attention: Attention,
    ffn_width: int,
    activation: str,
    *,
    name: str = "layers",
    fields: tuple[str, ...] = ("encoder_ffn_dim", "d_model"),
) -> Stack:
    """Layers whose feed-forward matrices are modules of the layer itself."""
    return stack(
        name,
        ("",) * count,
        lambda kind: pre_norm(
            (layer_norm(SPEECH_NORMS[0], width, eps=1e-5), attention),
            (layer_norm(SPEECH_NORMS[1], width, eps=1e-5), open_mlp(width, ffn_width, activation, fields=fields)),
        ),
        width=width,
    )


def speech_decoder_layers(
    count: int,
    width: int,
    attend: Callable[..., Attention],
    ffn_width: int,
    activation: str,
    *,
    name: str = "layers",
    norm: Callable[[str, int], Norm] = layer_norm,
    cross: bool = True,
) -> Stack:
    """Causal self-attention, cross-attention over the encoder, a feed-forward block; a norm before each.

    `attend` makes an attention from its name and the width of what it reads (None: itself).
    """

    def layer(kind: object) -> tuple[Sublayer, ...]:
        own = (norm("self_attn_layer_norm", width), attend("self_attn", None))
        other = (norm("encoder_attn_layer_norm", width), attend("encoder_attn", width))
        ffn = open_mlp(width, ffn_width, activation, fields=("decoder_ffn_dim", "d_model"))
        last = (norm("final_layer_norm", width), ffn)
        return pre_norm(own, other, last) if cross else pre_norm(own, last)

    return stack(name, ("",) * count, layer, width=width)


def crossing_layers(
    name: str,
    count: int,
    width: int,
    attend: Callable[[str, bool], Block],
    ffn: Block,
    *,
    norm: Callable[[str], Block],
    bodies: tuple[str, str] = ("self_attn", "encoder_attn"),
    norms: tuple[str, str, str] = ("input_layernorm", "post_attention_layernorm", "final_layernorm"),
) -> Stack:
    """Layers of a decoder: self-attention, cross-attention, a feed-forward block; a norm before each.

    `attend` makes an attention from its name and whether it reads the encoder; `norm` makes a norm from its name.
    """
    own, other = bodies
    return stack(
        name,
        ("",) * count,
        lambda kind: pre_norm(
            (norm(norms[0]), attend(own, False)), (norm(norms[1]), attend(other, True)), (norm(norms[2]), ffn)
        ),
        width=width,
    )


def open_mlp(
    width: int, inner: int, activation: str, *, fields: tuple[str, ...] = ("encoder_ffn_dim", "d_model")
) -> Mlp:
    """A plain feed-forward block whose matrices are modules of the layer itself."""
    return replace(plain_mlp(width, inner, activation, name="", bias=True, fields=fields), role="ffn")
