"""Conformers that hear for composite models: halves of a feed-forward block around attention and a convolution."""

from __future__ import annotations

from math import log2

from archscope.blocks.assembly import Architecture, Branch, Layer, Sublayer, stack
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, group, weight
from archscope.blocks.batch_norm import BatchNorm
from archscope.blocks.conformer import ConvolutionModule
from archscope.blocks.factories import attention, head_size, size
from archscope.blocks.leaves import conv, embedding, layer_norm, linear, regroup
from archscope.blocks.mlp import fused_gated_mlp, plain_mlp
from archscope.blocks.size import Size
from archscope.blocks.towers import tower_model
from archscope.config import Config
from archscope.families.registry import family


@family("parakeet_encoder")
def parakeet_encoder(c: Config) -> Architecture:
    """FastConformer: separable strided convolutions first, relative positions in every layer.

    Source: FastConformer (arXiv 2305.05084); transformers, models/parakeet/modeling_parakeet.py (ParakeetEncoder).
    """
    d, bias, inner = size(c, "hidden_size"), bool(c.attention_bias), size(c, "intermediate_size")

    def half(name: str) -> Branch:
        body = plain_mlp(d, inner, c.hidden_act, bias=bias, name=name, names=("linear1", "linear2"))
        return Branch(pre=layer_norm(f"norm_{name}", d), body=body, scale=0.5)

    def layer(kind: object) -> Layer:
        convolution = _parakeet_convolution(c)
        return Layer(
            width=d,
            sublayers=(
                Sublayer(branches=(half("feed_forward1"),)),
                Sublayer(branches=(Branch(pre=layer_norm("norm_self_att", d), body=_parakeet_attention(c)),)),
                Sublayer(branches=(Branch(pre=layer_norm("norm_conv", d), body=convolution),)),
                Sublayer(branches=(half("feed_forward2"),), after=layer_norm("norm_out", d)),
            ),
        )

    layered = stack("layers", ("",) * c.num_hidden_layers, layer, width=d)
    return tower_model(c, d, *_parakeet_stem(c), layered, tower="audio")


@family("granite_speech_encoder", "granite_speech_plus_encoder")
def granite_speech_encoder(c: Config) -> Architecture:
    """A conformer over stacked frames, trained on characters: what it thinks half-way is fed back to it.

    Source: transformers, models/granite_speech/modeling_granite_speech.py (GraniteSpeechCTCEncoder).
    """
    d, out = Size(c.hidden_dim, "d"), c.output_dim

    def half(name: str) -> Branch:
        body = plain_mlp(d, d * c.feedforward_mult, "silu", name=name, names=("up_proj", "down_proj"))
        return Branch(pre=layer_norm(f"{name}.pre_norm", d), body=body, scale=0.5)

    def layer(kind: object) -> Layer:
        attend = Branch(pre=layer_norm("attn.pre_norm", d), body=_granite_attention(c))
        return Layer(
            width=d,
            sublayers=(
                Sublayer(branches=(half("ff1"),)),
                Sublayer(branches=(attend,)),
                Sublayer(branches=(Branch(body=_granite_convolution(c)),)),
                Sublayer(branches=(half("ff2"),), after=layer_norm("post_norm", d)),
            ),
        )

    return tower_model(
        c,
        d,
        linear("input_linear", c.input_dim, d, True),
        stack("layers", ("",) * c.num_layers, layer, width=d),
        linear("out", d, out, True, role="side out"),
        linear("out_mid", out, d, True, role="side back"),
        tower="audio",
        classes=("GraniteSpeechCTCEncoder", "GraniteSpeechPlusCTCEncoder"),
    )


@family("phi4_multimodal_audio")
def phi4_audio(c: Config) -> Architecture:
    """A conformer with gated halves, a convolution module of many parts, and one table of relative positions for all.

    Source: transformers, models/phi4_multimodal/modeling_phi4_multimodal.py (Phi4MultimodalAudioModel).
    """
    d = size(c, "hidden_size")

    def half(name: str) -> Branch:
        names = ("gate_up_proj", "down_proj")
        body = fused_gated_mlp(d, size(c, "intermediate_size"), c.activation, bias=True, name=name, names=names)
        return Branch(pre=layer_norm(f"{name}.layer_norm", d), body=body, scale=0.5)

    def layer(kind: object) -> Layer:
        attend = Branch(pre=layer_norm("layer_norm_att", d), body=_phi4_attention(c))
        return Layer(
            width=d,
            sublayers=(
                Sublayer(branches=(half("feed_forward_in"),)),
                Sublayer(branches=(attend,)),
                Sublayer(branches=(Branch(body=_phi4_convolution(c)),)),
                Sublayer(branches=(half("feed_forward_out"),), after=layer_norm("layer_norm", d)),
            ),
        )

    buckets = c.bias_max_distance * (1 if c.bias_symmetric else 2)
    table = embedding("bias_values", buckets, c.num_attention_heads, of="relative position")
    layered = stack("encoders", ("",) * c.num_blocks, layer, width=d)
    return tower_model(
        c,
        d,
        *_phi4_stem(c),
        group("relative_attention_bias_layer", table, role="side positions"),
        layered,
        tower="audio",
    )


def _separable(name: str, channels: int, halvings: int, kernel: int) -> list[Block]:
    """A strided convolution, then pairs of one for each channel and one across them; activations take a number too."""
    parts: list[Block] = [conv(f"{name}.0", 1, channels, kernel, kernel)]
    for index in range(halvings - 1):
        at = 2 + 3 * index
        parts.append(conv(f"{name}.{at}", channels, channels, kernel, kernel, groups=channels))
        parts.append(conv(f"{name}.{at + 1}", channels, channels, 1, 1))
    return parts


def _parakeet_stem(c: Config) -> tuple[Block, ...]:
    halvings, channels = int(log2(c.subsampling_factor)), c.subsampling_conv_channels
    flat = channels * (c.num_mel_bins // c.subsampling_conv_stride**halvings)
    return (
        *_separable("subsampling.layers", channels, halvings, c.subsampling_conv_kernel_size),
        regroup("frequencies to channels", channels, flat),
        linear("subsampling.linear", flat, c.hidden_size, True),
    )


def _parakeet_attention(c: Config) -> Attention:
    """Relative positions as in Transformer-XL: keys of their own and two biases on the queries."""
    d, heads, width = size(c, "hidden_size"), c.num_attention_heads, head_size(c)
    return attention(
        c,
        bias=bool(c.attention_bias),
        extras=(
            linear("relative_k_proj", d, heads * width, role="bias"),
            weight("bias_u", heads, width),
            weight("bias_v", heads, width),
        ),
        causal=False,
        cache=False,
        position="relative",
    )


def _parakeet_convolution(c: Config) -> ConvolutionModule:
    d, kernel, bias = size(c, "hidden_size"), c.conv_kernel_size, bool(c.convolution_bias)
    return ConvolutionModule(
        name="conv",
        hidden=d,
        kernel=kernel,
        parts=(
            conv("pointwise_conv1", d, 2 * d, 1, bias=bias, role="in_proj"),
            conv("depthwise_conv", d, d, kernel, groups=d, bias=bias, role="conv"),
            BatchNorm(name="norm", role="norm", size=d),
            conv("pointwise_conv2", d, d, 1, bias=bias, role="out_proj"),
        ),
    )


def _granite_attention(c: Config) -> Attention:
    """Within blocks of context_size frames; keys and values in one matrix."""
    d, heads, width = Size(c.hidden_dim, "d"), c.num_heads, Size(c.dim_head, "d_h")
    inner = heads * width
    return Attention(
        name="attn",
        num_heads=heads,
        num_kv_heads=heads,
        head_dim=width,
        v_head_dim=width,
        parts=(
            linear("to_q", d, inner, role="q"),
            linear("to_kv", d, 2 * inner, role="kv"),
            embedding("rel_pos_emb", 2 * c.max_pos_emb + 1, width, of="relative position", role="bias"),
            linear("to_out", inner, d, True, role="o"),
        ),
        causal=False,
        cache=False,
        chunk=c.context_size,
        position="relative",
        fields=("num_heads", "dim_head", "hidden_dim"),
    )


def _granite_convolution(c: Config) -> ConvolutionModule:
    d, kernel = Size(c.hidden_dim, "d"), c.conv_kernel_size
    inner = d * c.conv_expansion_factor
    return ConvolutionModule(
        name="conv",
        hidden=d,
        kernel=kernel,
        parts=(
            layer_norm("norm", d, role="norm_in"),
            conv("up_conv", d, 2 * inner, 1, role="in_proj"),
            conv("depth_conv.conv", inner, inner, kernel, groups=inner, bias=False, role="conv"),
            BatchNorm(name="batch_norm", role="norm", size=inner),
            conv("down_conv", inner, d, 1, role="out_proj"),
        ),
    )


def _phi4_stem(c: Config) -> tuple[Block, ...]:
    halvings, channels, bins = int(log2(c.time_reduction)), c.nemo_conv_channels, c.nemo_final_size
    statistics = (weight(name, c.input_size, parameter=False) for name in ("global_mean", "global_invstd"))
    return (
        group("encoder_embedding", *statistics, role="side input"),
        *_separable("embed.conv", channels, halvings, 3),
        regroup("frequencies to channels", channels, channels * bins),
        linear("embed.out", channels * bins, c.hidden_size, True),
    )


def _phi4_attention(c: Config) -> Attention:
    return attention(c, bias=True, num_kv_heads=c.num_attention_heads, causal=False, cache=False, position="relative")


def _phi4_convolution(c: Config) -> ConvolutionModule:
    """A gate with biases of its own, a separable convolution, and a matrix after it."""
    d, out, separable = size(c, "hidden_size"), c.ext_pw_out_channel, c.depthwise_separable_out_channel
    wide = d * c.depthwise_multiplier
    return ConvolutionModule(
        name="conv",
        hidden=d,
        kernel=c.kernel_size,
        causal=True,
        parts=(
            layer_norm("layer_norm", d, role="norm_in"),
            group(
                "glu",
                conv("ext_pw_conv_1d", d, 2 * out, 1),
                weight("b1", 1, out, 1),
                weight("b2", 1, out, 1),
                role="in_proj",
            ),
            group(
                "dw_sep_conv_1d",
                conv("dw_conv", d, wide, c.kernel_size, groups=d),
                conv("pw_conv", wide, separable, 1),
                role="conv",
            ),
            conv("ext_pw_conv_1d", d, out, 1, role="out_proj"),
        ),
    )
