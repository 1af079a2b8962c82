"""Whisper, and the speech encoders that composite models take from it."""

from __future__ import annotations

from dataclasses import replace

from archscope.blocks.assembly import Architecture, Tower
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, group, weight
from archscope.blocks.factories import attention, rope, size
from archscope.blocks.leaves import embedding, layer_norm, linear, rms_norm
from archscope.blocks.mlp import gated_mlp
from archscope.blocks.size import Size
from archscope.blocks.skeletons import head, tied_names
from archscope.blocks.speech import mel_stem, speech_attention, speech_decoder_layers, speech_encoder_layers
from archscope.blocks.towers import feed_forward, layers, tower_model
from archscope.config import Config
from archscope.families.registry import family


@family("whisper")
def whisper(c: Config) -> Architecture:
    """Encoder over mel frames, decoder over text; the decoder or the encoder alone, by the class.

    Source: Whisper (arXiv 2212.04356); transformers, models/whisper/modeling_whisper.py.
    """
    d = size(c, "d_model")
    hears, writes = _side("encoder", c, d, _encoder_parts(c)), _side("decoder", c, d, _decoder_parts(c))
    table = "model.decoder.embed_tokens.weight" if c.get("tie_word_embeddings") else ""
    logits = head("speech_seq_2_seq", linear("proj_out", d, size(c, "vocab_size"), role="logits", tied_to=table))
    by_class: dict[str, tuple[Block, ...]] = {
        "WhisperModel": (hears, writes),
        "WhisperForConditionalGeneration": (group("model", hears, writes), logits),
        "WhisperForCausalLM": (group("model", writes), logits),
        "WhisperForAudioClassification": (hears, *_classifier(c, d)),
    }
    parts = (hears, writes) if c.task == "model" else by_class.get(c.model_class)
    if parts is None:
        return Architecture(parts=(hears, writes), partial=f"what {c.model_class} builds is not known")
    return Architecture(parts=parts, tied=tuple(pair for part in parts for pair in tied_names(part, "")))


@family("audioflamingo3_encoder", "qwen2_audio_encoder", "voxtral_encoder", "moss_transcribe_diarize_audio")
def whisper_encoder(c: Config) -> Architecture:
    """Whisper's encoder, whose frames are pooled by two before they reach the text.

    Source: transformers, models/qwen2_audio/modeling_qwen2_audio.py (Qwen2AudioEncoder).
    """
    return tower_model(c, size(c, "d_model"), *_encoder_parts(c), tower="audio")


@family("glmasr_encoder")
def glmasr_encoder(c: Config) -> Architecture:
    """Whisper's convolutions before layers with partly rotated heads.

    Source: transformers, models/glmasr/modeling_glmasr.py (GlmAsrEncoder).
    """
    d = size(c, "hidden_size")
    attend = attention(c, bias=True, key_bias=False, causal=False, cache=False)
    ffn = feed_forward(c, d, size(c, "intermediate_size"))
    norms = ("input_layernorm", "post_attention_layernorm")
    layered = layers("layers", c.num_hidden_layers, d, attend, ffn, norms=norms, eps=1e-5)
    return tower_model(c, d, *mel_stem(c.num_mel_bins, d), layered, layer_norm("norm", d, eps=1e-5), tower="audio")


@family("voxtral_realtime_encoder")
def voxtral_realtime_encoder(c: Config) -> Architecture:
    """Whisper's convolutions, made causal, before causal layers that see a window of frames.

    Source: transformers, models/voxtral_realtime/modeling_voxtral_realtime.py (VoxtralRealtimeEncoder).
    """
    d = size(c, "hidden_size")
    attend = attention(c, bias=True, key_bias=False, window=c.get("sliding_window"), rotary=rope(c, width=c.head_dim))
    m = size(c, "intermediate_size")
    gated = gated_mlp(d, m, c.hidden_act)
    ffn = replace(gated, parts=(*gated.parts[:2], linear("down_proj", m, d, True, role="down")))
    norms = ("self_attn_layer_norm", "final_layer_norm")
    layered = layers(
        "layers", c.num_hidden_layers, d, attend, ffn, norm=rms_norm, norms=norms, eps=c.get("rms_norm_eps")
    )
    stem = mel_stem(c.num_mel_bins, d, "embedder")
    return tower_model(c, d, *stem, layered, rms_norm("norm", d, eps=c.get("rms_norm_eps")), tower="audio")


def _encoder_parts(c: Config) -> tuple[Block, ...]:
    """Convolutions, sines saved as a table, layers, a norm."""
    d = size(c, "d_model")
    attend = speech_attention(d, c.encoder_attention_heads)
    return (
        *mel_stem(c.num_mel_bins, d),
        embedding("embed_positions", size(c, "max_source_positions"), d, of="position", role="side positions"),
        speech_encoder_layers(c.encoder_layers, d, attend, Size(c.encoder_ffn_dim, "m"), c.activation_function),
        layer_norm("layer_norm", d, eps=1e-5),
    )


def _decoder_parts(c: Config) -> tuple[Block, ...]:
    """Tokens and learned positions, layers, a norm."""
    d = size(c, "d_model")

    def attend(name: str, memory: int | None) -> Attention:
        fields = ("decoder_attention_heads", "d_model")
        own = memory is None
        return speech_attention(
            d, c.decoder_attention_heads, name=name, causal=own, cache=True, memory=memory, fields=fields
        )

    return (
        embedding("embed_tokens", size(c, "vocab_size"), d, role="embedding", fields=("vocab_size", "d_model")),
        embedding("embed_positions", size(c, "max_target_positions"), d, of="position", role="embedding"),
        speech_decoder_layers(c.decoder_layers, d, attend, Size(c.decoder_ffn_dim, "m"), c.activation_function),
        layer_norm("layer_norm", d, eps=1e-5),
    )


def _side(name: str, c: Config, width: int, parts: tuple[Block, ...]) -> Tower:
    return Tower(
        name=name,
        parts=parts,
        tower="encoder" if name == "encoder" else "decoder",
        model_type=c.model_type,
        pointer=c.pointer,
        width=width,
    )


def _classifier(c: Config, d: int) -> tuple[Block, ...]:
    labels = Size(c.get("num_labels", 2), "labels")
    mixed = (weight("layer_weights", c.encoder_layers + 1),) if c.use_weighted_layer_sum else ()
    projected = linear("projector", d, c.classifier_proj_size, True)
    return (*mixed, head("audio_classification", projected, linear("classifier", c.classifier_proj_size, labels, True)))
