"""wav2vec 2.0 and its kin: convolutions over the raw waveform, positions by a convolution, a plain encoder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from archscope.blocks.assembly import Architecture, Layer, Stack, Sublayer, post_add_norm, pre_norm, stack
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, Group, group, present, weight
from archscope.blocks.batch_norm import BatchNorm
from archscope.blocks.factories import size
from archscope.blocks.leaves import conv, embedding, layer_norm, linear, regroup
from archscope.blocks.mlp import Mlp, plain_mlp
from archscope.blocks.repeated import repeated
from archscope.blocks.speech_heads import quantised_head, quantizer, under_head
from archscope.blocks.towers import layers, square_attention, tower_model
from archscope.blocks.waveform import convolved_positions, first_or_all, waveform_convolutions
from archscope.config import Config
from archscope.families.registry import family


@family("wav2vec2")
def wav2vec2(c: Config) -> Architecture:
    """Norms before the branches where do_stable_layer_norm is true, else after the adds.

    Source: wav2vec 2.0 (arXiv 2006.11477); transformers, models/wav2vec2/modeling_wav2vec2.py.
    """
    return under_head(c, "wav2vec2", _parts(c, adapts=True), pretraining=quantised_head)


@family("wavlm")
def wavlm(c: Config) -> Architecture:
    """wav2vec 2.0 with gated relative positions; the first layer's table serves all.

    Source: WavLM (arXiv 2110.13900); transformers, models/wavlm/modeling_wavlm.py.
    """
    return under_head(c, "wavlm", _parts(c, lambda kind: _gated_attention(c, kind == "first"), adapts=True))


@family("hubert")
def hubert(c: Config) -> Architecture:
    """wav2vec 2.0 whose norm before the encoder, and whose way to norm the weights of positions, are a choice.

    Source: HuBERT (arXiv 2106.07447); transformers, models/hubert/modeling_hubert.py.
    """
    d, kernel = size(c, "hidden_size"), c.num_conv_pos_embeddings
    positions = None
    if c.get("conv_pos_batch_norm"):
        positions = group(
            "encoder.pos_conv_embed",
            conv("conv", d, d, kernel, groups=c.num_conv_pos_embedding_groups),
            BatchNorm(name="batch_norm", size=d),
            role="side positions",
        )
    parts = _parts(c, positions=positions, projected_norm=bool(c.feat_proj_layer_norm))
    return under_head(c, "hubert", parts)


@family("unispeech")
def unispeech(c: Config) -> Architecture:
    """wav2vec 2.0, pretrained on phonemes too.

    Source: UniSpeech (arXiv 2101.07597); transformers, models/unispeech/modeling_unispeech.py.
    """
    return under_head(c, "unispeech", _parts(c), pretraining=_quantised_phonemes)


@family("unispeech-sat")
def unispeech_sat(c: Config) -> Architecture:
    """wav2vec 2.0, pretrained to tell speakers apart; always with the vector for masked frames.

    Source: UniSpeech-SAT (arXiv 2110.05752); transformers, models/unispeech_sat/modeling_unispeech_sat.py.
    """
    return under_head(c, "unispeech_sat", _parts(c, masked=True), pretraining=_quantised_speakers)


@family("data2vec-audio")
def data2vec_audio(c: Config) -> Architecture:
    """wav2vec 2.0 with a norm after every convolution, and several convolutions for the positions.

    Source: data2vec (arXiv 2202.03555); transformers, models/data2vec/modeling_data2vec_audio.py.
    """
    d, groups = size(c, "hidden_size"), c.num_conv_pos_embedding_groups
    each = conv("conv", d, d, c.conv_pos_kernel_size, groups=groups)
    positions = repeated("encoder.pos_conv_embed.layers", c.num_conv_pos_embeddings, group("", each))
    parts = _parts(c, positions=replace(positions, role="side positions"), kind="layer", stable=False, adapts=True)
    return under_head(c, "data2vec_audio", parts)


@family("omniasr_audio")
def omniasr_audio(c: Config) -> Architecture:
    """wav2vec 2.0 with a norm after every convolution, and plain weights in that of the positions.

    Source: transformers, models/omniasr/modeling_omniasr.py (OmniASRAudioModel).
    """
    d, eps = size(c, "hidden_size"), c.layer_norm_eps
    attend = square_attention(d, c.num_attention_heads, name="attention", fields=("num_attention_heads", "hidden_size"))
    return tower_model(
        c,
        d,
        *waveform_convolutions(
            "subsampling.conv_layers", c.conv_dim, c.conv_kernel, ["layer"] * len(c.conv_dim), bool(c.conv_bias)
        ),
        layer_norm("subsampling.layer_norm", c.conv_dim[-1], eps=eps),
        linear("subsampling.projection", c.conv_dim[-1], d, True),
        conv("encode_positions.conv", d, d, c.num_conv_pos_embeddings, groups=c.num_conv_pos_embedding_groups),
        layers("layers", c.num_hidden_layers, d, attend, _mlp(c), norms=("layer_norm", "final_layer_norm"), eps=eps),
        layer_norm("layer_norm", d, eps=eps),
        tower="audio",
    )


def _parts(
    c: Config,
    attend: Callable[[object], Attention] | None = None,
    *,
    positions: Block | None = None,
    kind: str | None = None,
    stable: bool | None = None,
    masked: bool | None = None,
    projected_norm: bool = True,
    adapts: bool = False,
) -> tuple[Block, ...]:
    """Convolutions, their projection, positions, layers; options that are None go by the config."""
    d, eps = size(c, "hidden_size"), c.layer_norm_eps
    before = bool(c.do_stable_layer_norm) if stable is None else stable
    masks = c.mask_time_prob > 0 or c.mask_feature_prob > 0 if masked is None else masked
    norm = layer_norm("encoder.layer_norm", d, eps=eps)
    norms = first_or_all(c.feat_extract_norm if kind is None else kind, c.num_feat_extract_layers)
    return present(
        weight("masked_spec_embed", d, role="side mask") if masks else None,
        *waveform_convolutions("feature_extractor.conv_layers", c.conv_dim, c.conv_kernel, norms, bool(c.conv_bias)),
        layer_norm("feature_projection.layer_norm", c.conv_dim[-1], eps=eps) if projected_norm else None,
        linear("feature_projection.projection", c.conv_dim[-1], d, True),
        positions or _positions(c),
        None if before else norm,
        _layers(c, attend or (lambda kind: _attention(c)), before),
        norm if before else None,
        _adapter(c) if adapts and c.add_adapter else None,
    )


def _positions(c: Config) -> Block:
    d, groups = size(c, "hidden_size"), c.num_conv_pos_embedding_groups
    return convolved_positions("encoder.pos_conv_embed.conv", d, c.num_conv_pos_embeddings, groups)


def _layers(c: Config, attend: Callable[[object], Attention], stable: bool) -> Stack:
    d, eps = size(c, "hidden_size"), c.layer_norm_eps

    def layer(kind: object) -> tuple[Sublayer, ...] | Layer:
        attention, ffn = attend(kind), _mlp(c)
        first, second = layer_norm("layer_norm", d, eps=eps), layer_norm("final_layer_norm", d, eps=eps)
        if not stable:
            return post_add_norm((attention, first), (ffn, second))
        adapter = (_attention_adapter(c),) if c.get("adapter_attn_dim") is not None else ()
        return Layer(sublayers=pre_norm((first, attention), (second, ffn)), width=d, extras=adapter)

    kinds = ("first",) * min(1, c.num_hidden_layers) + ("",) * (c.num_hidden_layers - 1)
    return stack("encoder.layers", kinds if c.model_type == "wavlm" else ("",) * c.num_hidden_layers, layer, width=d)


def _attention(c: Config) -> Attention:
    return square_attention(size(c, "hidden_size"), c.num_attention_heads, name="attention")


def _gated_attention(c: Config, first: bool) -> Attention:
    """Relative positions weighted by gates made from each head's queries. Source: WavLM, section 3.1."""
    d, heads = size(c, "hidden_size"), c.num_attention_heads
    table = embedding("rel_attn_embed", c.num_buckets, heads, of="relative position", role="bias")
    return square_attention(
        d,
        heads,
        name="attention",
        position="relative",
        extras=(
            weight("gru_rel_pos_const", 1, heads, 1, 1),
            linear("gru_rel_pos_linear", d // heads, 8, True),
            *((table,) if first else ()),
        ),
    )


def _mlp(c: Config) -> Mlp:
    names = ("intermediate_dense", "output_dense")
    d, m = size(c, "hidden_size"), size(c, "intermediate_size")
    return plain_mlp(d, m, str(c.hidden_act), bias=True, name="feed_forward", names=names)


def _attention_adapter(c: Config) -> Group:
    """A bottleneck after each layer, for a language of its own. Source: Wav2Vec2AttnAdapterLayer."""
    d, width = size(c, "hidden_size"), c.adapter_attn_dim
    return group(
        "adapter_layer",
        layer_norm("norm", d),
        linear("linear_1", d, width, True),
        linear("linear_2", width, d, True),
        role="adapter",
    )


def _adapter(c: Config) -> Group:
    """Strided convolutions with a gate, for a decoder that wants fewer frames. Source: Wav2Vec2Adapter."""
    d, out = size(c, "hidden_size"), c.output_hidden_size
    shrinking = [
        part
        for index in range(c.num_adapter_layers)
        for part in (conv(f"layers.{index}.conv", out, 2 * out, c.adapter_kernel_size), regroup("gate", 2 * out, out))
    ]
    widened = (linear("proj", d, out, True), layer_norm("proj_layer_norm", out)) if out != d else ()
    return group("adapter", *widened, *shrinking, role="adapter")


def _quantised_phonemes(c: Config) -> tuple[Block, ...]:
    """Quantised frames widened to the encoder's own width, and labels over them. Source: UniSpeechForPreTraining."""
    d = size(c, "hidden_size")
    return (
        quantizer(c, c.conv_dim[-1]),
        linear("project_q", c.codevector_dim, c.proj_codevector_dim, True, role="side quantized"),
        linear("project_hid", c.proj_codevector_dim, d, True, role="side widened"),
        linear("ctc_proj", d, c.num_ctc_classes, True, role="logits"),
    )


def _quantised_speakers(c: Config) -> tuple[Block, ...]:
    """Quantised states, and clusters of speakers. Source: UniSpeechSatForPreTraining."""
    d, width = size(c, "hidden_size"), c.codevector_dim
    return (
        layer_norm("layer_norm_for_extract", d),
        quantizer(c, d),
        linear("project_q", width, c.proj_codevector_dim, True, role="side quantized"),
        linear("project_hid", d, c.proj_codevector_dim, True, role="logits"),
        linear("speaker_proj", d, width, True, role="speaker logits"),
        weight("label_embeddings_concat", c.num_clusters, width, role="side clusters"),
    )
