"""NeMo's transformer encoders: stacked mel frames, pre-norm layers, a speaker model beside them."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from archscope.blocks.assembly import Architecture
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, Group, group, weight
from archscope.blocks.factories import attention, head_size, size
from archscope.blocks.leaves import conv, layer_norm, linear, regroup
from archscope.blocks.size import Size
from archscope.blocks.towers import feed_forward, is_mounted, layers, tower_model
from archscope.config import Config
from archscope.families.registry import family


class _Names(NamedTuple):
    """Names of the parts of an encoder, and of the speaker model around one."""

    stacked: str = "embedder.projection"
    entry: str = "input_layer_norm"
    last: str = "layer_norm"
    norms: tuple[str, str] = ("layer_norm1", "layer_norm2")
    attention: str = "self_attn"
    out: str = "o_proj"
    fused: str = ""
    ffn: tuple[str, str] = ("mlp.fc1", "mlp.fc2")
    speaker_encoder: str = "model.audio_tower"
    speaker_parts: tuple[str, ...] = ("model.proj", "model.upsampler.conv", "classifier.dense", "classifier.out_proj")
    silence: str = "silence_embeds"
    speaker_norm: str = "speaker_norm"
    upsampler: str = "upsampler"
    upsampled: str = ""


OWN = _Names()
FIRST = _Names(
    stacked="pre_encode.proj",
    entry="embed_norm",
    last="final_norm",
    norms=("norm1", "norm2"),
    attention="attn",
    out="out_proj",
    fused="w_qkv",
    ffn=("ffn.net.0", "ffn.net.3"),
    speaker_encoder="encoder",
    speaker_parts=tuple(
        f"sortformer_modules.{name}"
        for name in ("encoder_proj", "subpixel_upsample", "first_hidden_to_hidden", "single_hidden_to_spks")
    ),
    silence="sortformer_modules.learnable_sil_emb",
    speaker_norm="diar_norm",
    upsampler="upsample",
    upsampled="transformer.",
)
"""As NeMo exports them, and as the whole model is saved (conversion_mapping.py, nemo_speechlm)."""


@family("nemotron3_5_transcribe_asr_audio")
def transcribe_asr_audio(c: Config) -> Architecture:
    """Norms on queries and keys of each head.

    Source: transformers, models/nemotron3_5_transcribe/modeling_nemotron3_5_transcribe.py.
    """
    return tower_model(c, size(c, "hidden_size"), *_encoder(c, OWN, norms=True), tower="audio")


@family("nemotron3_5_transcribe_word_timestamp")
def transcribe_word_timestamp(c: Config) -> Architecture:
    """The same layers over frames made denser by a transposed convolution.

    Source: transformers, models/nemotron3_5_transcribe/modeling_nemotron3_5_transcribe.py.
    """
    d, names = size(c, "hidden_size"), FIRST if is_mounted(c) else OWN
    denser = conv(names.upsampler, d, d, c.upsampling_factor)
    return tower_model(c, d, denser, *_layers(c, names, norms=True, at=names.upsampled), tower="audio")


@family("nemotron3_diarization_audio")
def diarization_audio(c: Config) -> Architecture:
    """The same layers without norms on queries and keys.

    Source: transformers, models/nemotron3_diarization/modeling_nemotron3_diarization.py.
    """
    return tower_model(c, size(c, "hidden_size"), *_encoder(c, OWN, norms=False), tower="audio")


@family("nemotron3_diarization")
def diarization(c: Config) -> Architecture:
    """Who speaks in each frame: an encoder, frames made denser, and two matrices over speakers.

    Source: transformers, models/nemotron3_diarization/modeling_nemotron3_diarization.py.
    """
    width, classes = c.sub("head_config").hidden_size, ("Nemotron3DiarizationForAudioFrameClassification",)
    return tower_model(c, width, *_speakers(c, OWN, c.task != "model"), tower="audio", classes=classes)


@family("nemotron3_5_transcribe_audio")
def transcribe_audio(c: Config) -> Architecture:
    """An encoder for words and a model for speakers, whose sums reach the text.

    Source: transformers, models/nemotron3_5_transcribe/modeling_nemotron3_5_transcribe.py.
    """
    d, names = size(c, "hidden_size"), FIRST if is_mounted(c) else OWN
    speaking = c.sub("diarization_config")
    known = speaking.model_type == "nemotron3_diarization"
    return tower_model(
        c,
        d,
        Group(name="asr_encoder", role="encoder", parts=_encoder(c.sub("asr_config"), names, norms=True)),
        Group(name="diarization_model", role="side speakers", parts=_speakers(speaking, names, True) if known else ()),
        layer_norm("asr_norm", d, role="side norm"),
        layer_norm(names.speaker_norm, Size(c.num_speakers, "speakers"), role="side norm"),
        tower="audio",
        partial="" if known else f"archscope does not know {speaking.model_type} as a speaker model",
    )


def _speakers(c: Config, names: _Names, headed: bool) -> tuple[Block, ...]:
    """The speaker model, without the classifier in its base class."""
    head, audio = c.sub("head_config"), c.sub("audio_config")
    d = head.hidden_size
    bare = names is OWN and not headed
    first, second, dense, out = (name.removeprefix("model.") if bare else name for name in names.speaker_parts)
    encoder = names.speaker_encoder.removeprefix("model.") if bare else names.speaker_encoder
    body: tuple[Block, ...] = (
        Group(name=encoder, role="encoder", parts=_encoder(audio, names, norms=False)),
        linear(first, head.audio_hidden_size, d, True),
        conv(second, d, d * head.subsampling_factor, 3),
        regroup("more frames", d * head.subsampling_factor, d),
    )
    if not headed:
        return body
    classifier = group("", linear(dense, d, d, True), linear(out, d, head.num_speakers, True), role="side head")
    return (*body, classifier, weight(names.silence, audio.hidden_size, role="side silence"))


def _encoder(c: Config, names: _Names, norms: bool) -> tuple[Block, ...]:
    stacked = linear(names.stacked, c.subsampling_factor * c.num_mel_bins, size(c, "hidden_size"))
    return (stacked, *_layers(c, names, norms))


def _layers(c: Config, names: _Names, norms: bool, at: str = "") -> tuple[Block, ...]:
    d = size(c, "hidden_size")
    ffn = feed_forward(c, d, size(c, "intermediate_size"), name="", names=names.ffn)
    return (
        layer_norm(f"{at}{names.entry}", d),
        layers(f"{at}layers", c.num_hidden_layers, d, _attention(c, names, norms), ffn, norms=names.norms),
        layer_norm(f"{at}{names.last}", d),
    )


def _attention(c: Config, names: _Names, norms: bool) -> Attention:
    """Values have as many heads as queries."""
    d, heads, kv, width = size(c, "hidden_size"), c.num_attention_heads, c.num_key_value_heads, head_size(c)
    made = attention(
        c,
        name=names.attention,
        names=("q_proj", "k_proj", "v_proj", names.out),
        out_bias=True,
        qk_norm="head" if norms else "",
        norm_kind="layer",
        norm_bias=True,
        num_kv_heads=kv,
        causal=False,
        cache=False,
    )
    whole = linear(names.fused, d, (2 * heads + kv) * width, role="qkv")
    values = linear("v_proj", d, heads * width, role="v")
    inputs = (whole,) if names.fused else (*made.parts[:2], values)
    return replace(made, parts=(*inputs, *made.parts[3:]))
