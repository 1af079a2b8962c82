"""The speech encoders of the Qwen omni models and their kin: Whisper's layers over windows of frames."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Stack, pre_norm, stack
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, group
from archscope.blocks.factories import attention, rope, size
from archscope.blocks.leaves import embedding, layer_norm, linear, rms_norm
from archscope.blocks.mlp import fused_gated_mlp
from archscope.blocks.size import Size
from archscope.blocks.speech import SPEECH_NORMS, image_stem, mel_stem, speech_attention, speech_encoder_layers
from archscope.blocks.towers import tower_model
from archscope.config import Config
from archscope.families.registry import family


@family("qwen2_5_omni_audio_encoder")
def qwen2_5_omni_audio(c: Config) -> Architecture:
    """Whisper's layers with sines for positions; begin and end of a clip are learned vectors.

    Source: transformers, models/qwen2_5_omni/modeling_qwen2_5_omni.py (Qwen2_5OmniAudioEncoder).
    """
    d, out = size(c, "d_model"), Size(c.output_dim, "d_text")
    return tower_model(
        c,
        d,
        *mel_stem(c.num_mel_bins, d),
        _layers(c, key_bias=False),
        layer_norm("ln_post", d, eps=1e-5),
        linear("proj", d, out, True),
        embedding("audio_bos_eos_token", 2, out, of="mark", role="side marks"),
        tower="audio",
        classes=("Qwen2_5OmniAudioEncoder",),
    )


@family("qwen3_omni_moe_audio_encoder")
def qwen3_omni_audio(c: Config) -> Architecture:
    """Convolutions over time and frequency, Whisper's layers with biases on keys, two matrices into the text.

    Source: transformers, models/qwen3_omni_moe/modeling_qwen3_omni_moe.py (Qwen3OmniMoeAudioEncoder).
    """
    d = size(c, "d_model")
    out = (linear("proj1", d, d, True), linear("proj2", d, Size(c.output_dim, "d_text"), True))
    return tower_model(c, d, *_stemmed(c), *out, tower="audio", classes=("Qwen3OmniMoeAudioEncoder",))


@family("qwen3_asr_encoder")
def qwen3_asr_audio(c: Config) -> Architecture:
    """Qwen3-Omni's encoder without the way into the text.

    Source: transformers, models/qwen3_asr/modeling_qwen3_asr.py (Qwen3ASREncoder).
    """
    return tower_model(c, size(c, "d_model"), *_stemmed(c), tower="audio", classes=("Qwen3ASREncoder",))


@family("dots3_note_audio_encoder")
def dots3_audio(c: Config) -> Architecture:
    """Gated layers with RMSNorm and partly rotated heads behind the same convolutions.

    Source: transformers, models/dots3_note/modeling_dots3_note.py (Dots3NoteAudioModel); names as its conversion saves
    them.
    """
    d, at, out = size(c, "hidden_size"), "dots_encoder.speech_encoder", Size(c.adapter_out_dim, "d_text")
    adapter = group(
        "audio_adapter.proj",
        layer_norm("0", c.adapter_input_size),
        linear("1", c.adapter_input_size, out, True),
        linear("3", out, out, True),
        role="adapter",
    )
    return tower_model(
        c,
        d,
        *image_stem(c.feature_size, c.downsample_hidden_size, d, at, flat=c.get("conv_output_size")),
        _gated_layers(c, f"{at}.layers"),
        rms_norm(f"{at}.layer_norm", d, eps=1e-5),
        adapter,
        tower="audio",
        classes=("Dots3NoteAudioModel",),
    )


def _layers(c: Config, key_bias: bool) -> Stack:
    d = size(c, "d_model")
    attend = speech_attention(d, c.encoder_attention_heads, key_bias=key_bias, position="sinusoidal")
    return speech_encoder_layers(c.encoder_layers, d, attend, Size(c.encoder_ffn_dim, "m"), c.activation_function)


def _stemmed(c: Config) -> tuple[Block, ...]:
    """Three strided convolutions, layers, a norm."""
    d = size(c, "d_model")
    stem = image_stem(c.num_mel_bins, c.downsample_hidden_size, d)
    return (*stem, _layers(c, key_bias=True), layer_norm("ln_post", d, eps=1e-5))


def _gated_layers(c: Config, name: str) -> Stack:
    d, eps = size(c, "hidden_size"), 1e-5
    ffn = fused_gated_mlp(d, size(c, "intermediate_size"), c.hidden_act, name="", bias=True, names=("fc1", "fc2"))
    return stack(
        name,
        ("",) * c.num_hidden_layers,
        lambda kind: pre_norm(
            (rms_norm(SPEECH_NORMS[0], d, eps=eps), _rotated(c)), (rms_norm(SPEECH_NORMS[1], d, eps=eps), ffn)
        ),
        width=d,
    )


def _rotated(c: Config) -> Attention:
    width = c.hidden_size // c.num_attention_heads
    return attention(
        c,
        names=("q_proj", "k_proj", "v_proj", "out_proj"),
        bias=bool(c.attention_bias),
        key_bias=False,
        num_kv_heads=c.num_attention_heads,
        head_dim=width,
        causal=False,
        cache=False,
        rotary=rope(c, width=width),
    )
