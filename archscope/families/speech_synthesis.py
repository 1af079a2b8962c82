"""From speech codes to sound: a diffusion transformer makes the spectrogram, BigVGAN the wave."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Branch, Layer, Sublayer, stack
from archscope.blocks.base import Block
from archscope.blocks.factories import attention, size
from archscope.blocks.joined import Bundle, bundle
from archscope.blocks.leaves import Norm, conv, embedding, linear, regroup
from archscope.blocks.mlp import plain_mlp
from archscope.blocks.projectors import plain_bridge
from archscope.blocks.repeated import repeated
from archscope.blocks.size import Size
from archscope.blocks.towers import tower_model
from archscope.blocks.vocoder import dilated_residuals, snake, time_delay
from archscope.config import Config
from archscope.families.registry import family, tower


@family("qwen2_5_omni_token2wav")
def token2wav(c: Config) -> Architecture:
    """The two models one after the other.

    Source: transformers, models/qwen2_5_omni/modeling_qwen2_5_omni.py (Qwen2_5OmniToken2WavModel).
    """
    parts = (
        tower(c.sub("dit_config"), "code2wav_dit_model", "audio"),
        tower(c.sub("bigvgan_config"), "code2wav_bigvgan_model", "audio"),
    )
    return Architecture(parts=parts)


@family("qwen2_5_omni_bigvgan")
def bigvgan(c: Config) -> Architecture:
    """Ever longer and narrower: a transposed convolution, then residual blocks of several kernels side by side.

    Source: BigVGAN (arXiv 2206.04658); transformers, Qwen2_5OmniToken2WavBigVGANModel.
    """
    widths = [c.upsample_initial_channel // 2**i for i in range(len(c.upsample_rates) + 1)]
    kernels = list(zip(c.upsample_rates, c.upsample_kernel_sizes, strict=False))
    ups = (
        conv(f"ups.{i}.0", widths[i], widths[i + 1], kernel, transposed=True) for i, (_, kernel) in enumerate(kernels)
    )
    inner = list(zip(c.resblock_kernel_sizes, c.resblock_dilation_sizes, strict=False))
    blocks = (
        dilated_residuals(f"resblocks.{i * len(inner) + j}", widths[i + 1], kernel)
        for i in range(len(c.upsample_rates))
        for j, (kernel, _) in enumerate(inner)
    )
    return tower_model(
        c,
        widths[0],
        conv("conv_pre", c.mel_dim, widths[0], 7),
        bundle("", *ups, role="side upsampling"),
        bundle("", *blocks, role="side residuals"),
        regroup("upsampling", widths[0], widths[-1]),
        snake("activation_post.act", widths[-1]),
        conv("conv_post", widths[-1], 1, 7, bias=False),
        tower="audio",
    )


@family("qwen2_5_omni_dit")
def diffusion_transformer(c: Config) -> Architecture:
    """Layers whose norms take scale and shift from the step; the speaker's voice comes in with the input.

    Source: DiT (arXiv 2212.09748); transformers, Qwen2_5OmniToken2WavDiTModel.
    """
    d = size(c, "hidden_size")
    near = [(i in c.look_ahead_layers, i in c.look_backward_layers) for i in range(c.num_hidden_layers)]
    return tower_model(
        c,
        d,
        bundle("", _step(d), role="side step"),
        embedding("text_embed.codec_embed", c.num_embeds + 1, c.emb_dim, of="speech code", role="side codes"),
        _input(c),
        stack("transformer_blocks", near, lambda kind: _layer(c), width=d),
        bundle("norm_out", linear("linear", d, 2 * d, True), _plain_norm("norm", d), role="adaptive norm"),
        linear("proj_out", d, c.mel_dim, True),
        tower="audio",
    )


def _step(width: int) -> Block:
    """Sines of the step, 256 of them, through two matrices."""
    return plain_bridge(256, width, width, name="time_embed", names=("time_mlp.0", "time_mlp.2"), activation="silu")


def _layer(c: Config) -> Layer:
    d, width = size(c, "hidden_size"), Size(int(c.hidden_size * c.ff_mult), "m")
    mixer = attention(
        c,
        name="attn",
        names=("to_q", "to_k", "to_v", "to_out.0"),
        num_kv_heads=c.num_attention_heads,
        bias=True,
        causal=False,
        cache=False,
        fields=("num_attention_heads", "head_dim", "hidden_size"),
    )
    feed_forward = plain_mlp(d, width, "gelu_tanh", name="ff", names=("ff.0", "ff.3"), fields=("ff_mult",))
    sublayers = (
        Sublayer(branches=(Branch(pre=_plain_norm("attn_norm.norm", d), body=mixer),)),
        Sublayer(branches=(Branch(pre=_plain_norm("ff_norm", d), body=feed_forward),)),
    )
    return Layer(sublayers=sublayers, width=d, extras=(linear("attn_norm.linear", d, 6 * d, True),))


def _plain_norm(name: str, width: int) -> Norm:
    return Norm(name=name, size=width, kind="layer", affine=False)


def _input(c: Config) -> Bundle:
    """Spectrogram, voice, and codes side by side."""
    joined = c.mel_dim + c.enc_dim + c.enc_emb_dim + c.emb_dim
    proj = linear("proj", joined, size(c, "hidden_size"), True)
    return bundle("input_embed", _speaker(c), proj, role="side input")


def _speaker(c: Config) -> Bundle:
    """Convolutions over time with squeeze and excitation, pooled by attention.

    Source: ECAPA-TDNN (arXiv 2005.07143).
    """
    widths, kernels, last = c.enc_channels, c.enc_kernel_sizes, c.enc_channels[-1]
    blocks = (_squeezed(c, f"blocks.{i}", widths[i - 1], widths[i], kernels[i]) for i in range(1, len(widths) - 1))
    return bundle(
        "spk_encoder",
        time_delay("blocks.0", c.mel_dim, widths[0], kernels[0]),
        *blocks,
        time_delay("mfa", last, last, kernels[-1]),
        time_delay("asp.tdnn", 3 * last, c.enc_attention_channels, 1),
        conv("asp.conv", c.enc_attention_channels, last, 1),
        conv("fc", 2 * last, c.enc_dim, 1),
        role="speaker encoder",
    )


def _squeezed(c: Config, name: str, inputs: int, width: int, kernel: int) -> Block:
    share, squeezed = width // c.enc_res2net_scale, c.enc_se_channels
    return bundle(
        name,
        time_delay("tdnn1", inputs, width, 1),
        repeated("res2net_block.blocks", c.enc_res2net_scale - 1, conv("conv", share, share, kernel), role="scales"),
        time_delay("tdnn2", width, width, 1),
        conv("se_block.conv1", width, squeezed, 1),
        conv("se_block.conv2", squeezed, width, 1),
        role="squeeze and excitation",
    )
