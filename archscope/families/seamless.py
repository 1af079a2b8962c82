"""SeamlessM4T: text or speech in, text or speech out, through one decoder of text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from archscope.blocks.assembly import (
    Architecture,
    Branch,
    Layer,
    Stack,
    Sublayer,
    Tower,
    TowerRole,
    post_add_norm,
    stack,
)
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, Group, group, present, weight
from archscope.blocks.batch_norm import BatchNorm
from archscope.blocks.conformer import ConvolutionModule
from archscope.blocks.conformer_layers import (
    conformer_attention,
    conformer_layer,
    conformer_mlp,
    gated_convolution,
    saved_frequencies,
    shortening_layers,
)
from archscope.blocks.factories import size
from archscope.blocks.hifi_gan import hifi_gan
from archscope.blocks.joined import side_by_side
from archscope.blocks.leaves import conv, embedding, layer_norm, linear
from archscope.blocks.mlp import Mlp, plain_mlp
from archscope.blocks.size import Size
from archscope.blocks.skeletons import head, tied_names
from archscope.blocks.speech import crossing_layers
from archscope.blocks.towers import layers, square_attention
from archscope.config import Config
from archscope.families.registry import family

Read = Callable[[str], Any]
"""From the name of a field, its value: the text's own or that of units."""

SPEECH_FIELDS = ("speech_encoder_attention_heads", "hidden_size")


class _Version(NamedTuple):
    """What tells the two versions apart: attention (with positions or without) and convolution over speech, and units."""

    attention: Callable[[Config, bool], Attention]
    convolution: Callable[[Config], ConvolutionModule]
    units: Callable[[Config], Tower]


@family("seamless_m4t")
def seamless(c: Config) -> Architecture:
    """Conformer with Transformer-XL's positions; units one after the other.

    Source: SeamlessM4T (arXiv 2308.11596); transformers, models/seamless_m4t/modeling_seamless_m4t.py.
    """
    return _by_class(c, _Version(_relative_attention, _normalised_convolution, _unit_decoder))


@family("seamless_m4t_v2")
def seamless_v2(c: Config) -> Architecture:
    """Conformer with a vector for each distance, within chunks; all units at once.

    Source: Seamless (arXiv 2312.05187); transformers, models/seamless_m4t_v2/modeling_seamless_m4t_v2.py.
    """
    return _by_class(c, _Version(_keyed_attention, _causal_convolution, _parallel_unit_decoder))


def _by_class(c: Config, version: _Version) -> Architecture:
    """Encoders and decoders that the class has; one with units and a vocoder where it speaks."""
    kind = c.model_class.removeprefix("SeamlessM4Tv2").removeprefix("SeamlessM4T")
    if c.task == "model":
        kind = "Model"
    if kind == "CodeHifiGan":
        return Architecture(parts=(_vocoder(c, ""),))
    if kind == "TextToUnitForConditionalGeneration":
        return _tied(*_to_units(c, "", version))
    texts, speeches = kind in ("Model", "ForTextToText", "ForTextToSpeech"), kind in ("Model", "ForSpeechToText")
    if not texts and kind not in ("ForSpeechToText", "ForSpeechToSpeech"):
        return Architecture(parts=(), partial=f"what {c.model_class} builds is not known")
    speaks = kind == "Model" or kind.endswith("ToSpeech")
    words, d = size(c, "vocab_size"), size(c, "hidden_size")
    table = "shared.weight" if c.tie_word_embeddings else ""
    parts = present(
        embedding("shared", words, d, role="embedding"),
        _text_encoder(c, c.get, "text_encoder", table) if texts else None,
        _speech_encoder(c, version) if speeches or kind == "ForSpeechToSpeech" else None,
        _text_decoder(c, c.get, "text_decoder", table),
        head("seq_to_seq_causal_lm", linear("lm_head", d, words, role="logits", tied_to=table)),
        *(_to_units(c, "t2u_model", version) if speaks else ()),
        _vocoder(c, "vocoder") if speaks else None,
    )
    return _tied(*parts)


def _tied(*parts: Block) -> Architecture:
    return Architecture(parts=parts, tied=tuple(pair for part in parts for pair in tied_names(part, "")))


def _units(c: Config) -> Read:
    """Fields as the part that makes units reads them: those with t2u_ before their names, where there are any."""
    return lambda name: c.get(f"t2u_{name}" if f"t2u_{name}" in c else name)


def _tower(c: Config, name: str, role: TowerRole, *parts: Block | None) -> Tower:
    return Tower(
        name=name,
        parts=present(*parts),
        tower=role,
        model_type=c.model_type,
        pointer=c.pointer,
        width=size(c, "hidden_size"),
    )


def _text_encoder(c: Config, read: Read, name: str, table: str | None) -> Tower:
    """Plain layers over tokens; over the states of the text decoder where `table` is None."""
    d = Size(read("hidden_size"), "d")
    tokens = None
    if table is not None:
        tokens = embedding("embed_tokens", size(c, "vocab_size"), d, role="embedding", tied_to=table)
    own = _attention(read, "self_attn", "encoder_attention_heads")
    layered = layers(
        "layers",
        read("encoder_layers"),
        d,
        own,
        _mlp(read, "encoder_ffn_dim"),
        norms=("self_attn_layer_norm", "ffn_layer_norm"),
    )
    return _tower(c, name, "encoder", tokens, layered, layer_norm("layer_norm", d))


def _text_decoder(c: Config, read: Read, name: str, table: str) -> Tower:
    d, heads = Size(read("hidden_size"), "d"), "decoder_attention_heads"
    layered = crossing_layers(
        "layers",
        read("decoder_layers"),
        d,
        lambda body, crosses: _attention(
            read, body, heads, causal=not crosses, cache=True, memory=d if crosses else None
        ),
        _mlp(read, "decoder_ffn_dim"),
        norm=lambda norm: layer_norm(norm, d),
        bodies=("self_attn", "cross_attention"),
        norms=("self_attn_layer_norm", "cross_attention_layer_norm", "ffn_layer_norm"),
    )
    tokens = embedding("embed_tokens", Size(read("vocab_size"), "V"), d, role="embedding", tied_to=table)
    return _tower(c, name, "decoder", tokens, layered, layer_norm("layer_norm", d))


def _attention(
    read: Read, name: str, heads: str, *, causal: bool = False, cache: bool = False, memory: int | None = None
) -> Attention:
    return square_attention(
        Size(read("hidden_size"), "d"),
        read(heads),
        name=name,
        causal=causal,
        cache=cache,
        memory=memory,
        position="none" if memory else "sinusoidal",
        fields=(heads, "hidden_size"),
    )


def _mlp(read: Read, field: str) -> Mlp:
    d, width = Size(read("hidden_size"), "d"), Size(read(field), "m")
    return plain_mlp(d, width, read("activation_function"), name="ffn", fields=(field, "hidden_size"))


def _speech_encoder(c: Config, version: _Version) -> Tower:
    """Conformer layers over stacked mel frames, half a feed-forward block, convolutions that shorten."""
    d, eps, bins = size(c, "hidden_size"), c.layer_norm_eps, c.feature_projection_input_dim
    rotary = c.position_embeddings_type == "rotary" and c.model_type == "seamless_m4t"
    after = Sublayer(branches=(Branch(body=_half(c, "intermediate_ffn", "relu"), scale=0.5),))
    return _tower(
        c,
        "speech_encoder",
        "audio",
        layer_norm("feature_projection.layer_norm", bins, eps=eps),
        linear("feature_projection.projection", bins, d, True),
        saved_frequencies(d, c.speech_encoder_attention_heads) if rotary else None,
        stack("encoder.layers", ("",) * c.speech_encoder_layers, lambda kind: _conformer(c, version), width=d),
        layer_norm("encoder.layer_norm", d, eps=eps),
        Layer(sublayers=(after,), width=d, role="intermediate"),
        _adapter(c, version) if c.add_adapter else None,
        layer_norm("inner_layer_norm", d),
    )


def _half(c: Config, name: str, activation: str) -> Mlp:
    inner = Size(c.speech_encoder_intermediate_size, "m")
    fields = ("speech_encoder_intermediate_size", "hidden_size")
    return conformer_mlp(size(c, "hidden_size"), inner, activation, name, fields)


def _conformer(c: Config, version: _Version) -> Layer:
    first, second = (_half(c, name, c.speech_encoder_hidden_act) for name in ("ffn1", "ffn2"))
    return conformer_layer(size(c, "hidden_size"), (first, second), version.attention(c, True), version.convolution(c))


def _adapter(c: Config, version: _Version) -> Stack:
    """What leaves one of adaptor_stride frames."""
    return shortening_layers(
        "adapter.layers",
        c.num_adapter_layers,
        size(c, "hidden_size"),
        c.adaptor_kernel_size,
        version.attention(c, False),
        _half(c, "ffn", "relu"),
    )


def _relative_attention(c: Config, positioned: bool) -> Attention:
    """Keys for distances or rotation, by position_embeddings_type."""
    kind = c.position_embeddings_type if positioned and c.position_embeddings_type != "relative_key" else None
    return conformer_attention(
        size(c, "hidden_size"),
        c.speech_encoder_attention_heads,
        kind,
        theta=c.rotary_embedding_base,
        fields=SPEECH_FIELDS,
    )


def _keyed_attention(c: Config, positioned: bool) -> Attention:
    """A vector for each distance, nearer ones only; frames of the same chunk and of so many before it."""
    length, before = c.get("speech_encoder_chunk_size"), c.speech_encoder_left_chunk_num
    chunk = length * (before + 1) if positioned and length is not None and before >= 0 else None
    keyed = positioned and c.position_embeddings_type == "relative_key"
    return conformer_attention(
        size(c, "hidden_size"),
        c.speech_encoder_attention_heads,
        "relative_key" if keyed else None,
        reach=c.left_max_position_embeddings + c.right_max_position_embeddings + 1,
        chunk=chunk,
        fields=SPEECH_FIELDS,
    )


def _normalised_convolution(c: Config) -> ConvolutionModule:
    norm = BatchNorm(name="batch_norm", role="norm", size=c.hidden_size)
    return gated_convolution(size(c, "hidden_size"), c.conv_depthwise_kernel_size, norm, causal=False)


def _causal_convolution(c: Config) -> ConvolutionModule:
    norm = layer_norm("depthwise_layer_norm", size(c, "hidden_size"), role="norm")
    return gated_convolution(size(c, "hidden_size"), c.conv_depthwise_kernel_size, norm, causal=True)


def _to_units(c: Config, name: str, version: _Version) -> tuple[Block, ...]:
    """From the text decoder's states to units of speech; the head is tied to their table."""
    at = f"{name}." if name else ""
    read = _units(c)
    table = f"{at}model.decoder.embed_tokens.weight" if read("tie_word_embeddings") else ""
    reads = _text_encoder(c, read, f"{at}model.encoder", None)
    logits = linear("lm_head", Size(read("hidden_size"), "d"), c.t2u_vocab_size, role="logits", tied_to=table)
    units = version.units(c)
    return (
        replace(reads, tower="other"),
        replace(units, name=f"{at}{units.name}", tower="other"),
        group(name, head("text_to_units", logits), role="side units"),
    )


def _unit_decoder(c: Config) -> Tower:
    return _text_decoder(c, _units(c), "model.decoder", "")


def _parallel_unit_decoder(c: Config) -> Tower:
    """Characters and how long each lasts, then layers of attention both ways and two convolutions."""
    read = _units(c)
    d, inner, kernel = (
        Size(read("hidden_size"), "d"),
        read("variance_predictor_hidden_dim"),
        read("variance_predictor_kernel_size"),
    )
    durations = _durations("duration_predictor", read("variance_predictor_embed_dim"), inner, kernel)
    own = _attention(read, "self_attn", "decoder_attention_heads")

    def layer(kind: object) -> tuple[Sublayer, ...]:
        convolved = group("", conv("conv1", d, d, 7), conv("conv2", d, d, 7), role="convolutions")
        return post_add_norm(
            (own, layer_norm("self_attn_layer_norm", d)), (convolved, layer_norm("conv_layer_norm", d))
        )

    return _tower(
        c,
        "model.decoder",
        "decoder",
        embedding("embed_tokens", read("vocab_size"), d, role="side units"),
        embedding("embed_char", read("char_vocab_size"), d, of="character", role="embedding"),
        weight("pos_emb_alpha_char", 1, role="side alpha"),
        weight("pos_emb_alpha", 1, role="side unit alpha"),
        replace(durations, role="side durations"),
        stack("layers", ("",) * read("decoder_layers"), layer, width=d),
        layer_norm("layer_norm", d),
    )


def _durations(name: str, width: int, inner: int, kernel: int) -> Group:
    """How long a unit lasts: two convolutions with norms, one number."""
    return group(
        name,
        conv("conv1", width, inner, kernel),
        layer_norm("ln1", inner),
        conv("conv2", inner, inner, kernel),
        layer_norm("ln2", inner),
        linear("proj", inner, 1, True),
        role="durations",
    )


def _vocoder(c: Config, name: str) -> Tower:
    """Units, a speaker and a language as vectors side by side, then sound."""
    units, language, speaker = c.unit_embed_dim, c.lang_embed_dim, c.spkr_embed_dim
    return _tower(
        c,
        name,
        "other",
        replace(_durations("dur_predictor", units, units, c.variance_predictor_kernel_size), role="side durations"),
        side_by_side(
            units + language + speaker,
            embedding("unit_embedding", c.unit_hifi_gan_vocab_size, units, of="unit"),
            embedding("speaker_embedding", c.vocoder_num_spkrs, speaker, of="speaker"),
            embedding("language_embedding", c.vocoder_num_langs, language, of="language"),
        ),
        hifi_gan(
            "hifi_gan",
            units + language + speaker,
            c.upsample_initial_channel,
            list(zip(c.upsample_rates, c.upsample_kernel_sizes, strict=False)),
            list(zip(c.resblock_kernel_sizes, c.resblock_dilation_sizes, strict=False)),
        ),
    )
