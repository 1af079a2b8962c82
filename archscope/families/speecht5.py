"""SpeechT5: one encoder and one decoder behind networks for text or speech on either side."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Tower, post_add_norm, stack
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, Group, group, weight
from archscope.blocks.batch_norm import BatchNorm
from archscope.blocks.factories import size
from archscope.blocks.leaves import conv, embedding, layer_norm, linear
from archscope.blocks.mlp import Mlp, plain_mlp
from archscope.blocks.size import Size
from archscope.blocks.skeletons import head, tied_names
from archscope.blocks.speech import speech_attention
from archscope.blocks.waveform import convolved_positions, first_or_all, waveform_convolutions
from archscope.config import Config
from archscope.families.registry import family

SIDES = {
    "SpeechT5ForSpeechToText": ("speech", "text"),
    "SpeechT5ForTextToSpeech": ("text", "speech"),
    "SpeechT5ForSpeechToSpeech": ("speech", "speech"),
}
"""By class, what comes in and what goes out."""


@family("speecht5")
def speecht5(c: Config) -> Architecture:
    """The class says which networks stand before the encoder and around the decoder.

    Source: SpeechT5 (arXiv 2110.07205); transformers, models/speecht5/modeling_speecht5.py.
    """
    if c.task == "model":
        return Architecture(parts=(_encoder(c, "encoder", ""), _decoder(c, "decoder", "")))
    reads, writes = SIDES.get(c.model_class, ("", ""))
    parts = group("speecht5", _encoder(c, "encoder", reads), _decoder(c, "decoder", writes))
    if not reads:
        return Architecture(parts=(parts,), partial=f"what {c.model_class} builds is not known")
    if writes == "speech":
        return Architecture(parts=(parts, head("text_to_spectrogram", *_spectrogram(c))))
    table = "speecht5.decoder.prenet.embed_tokens.weight" if c.tie_word_embeddings else ""
    name = "text_decoder_postnet.lm_head"
    words = linear(name, size(c, "hidden_size"), size(c, "vocab_size"), role="logits", tied_to=table)
    return Architecture(parts=(parts, head("speech_seq_2_seq", words)), tied=tied_names(words, ""))


def _encoder(c: Config, name: str, before: str) -> Tower:
    d, eps = size(c, "hidden_size"), c.layer_norm_eps
    reach = 2 * c.encoder_max_relative_position
    ahead = {"speech": _heard, "text": _read}.get(before)
    attend = _attention(c, "attention", c.encoder_attention_heads)
    return Tower(
        name=name,
        parts=(
            *(ahead(c) if ahead else ()),
            layer_norm("wrapped_encoder.layer_norm", d, eps=eps),
            weight(
                "wrapped_encoder.embed_positions.pe_k.weight", reach, d // c.encoder_attention_heads, role="side pe"
            ),
            stack(
                "wrapped_encoder.layers",
                ("",) * c.encoder_layers,
                lambda kind: post_add_norm(
                    (attend, layer_norm("layer_norm", d, eps=eps)),
                    (_mlp(c, c.encoder_ffn_dim), layer_norm("final_layer_norm", d, eps=eps)),
                ),
                width=d,
            ),
        ),
        tower="encoder",
        model_type=c.model_type,
        pointer=c.pointer,
        width=d,
    )


def _decoder(c: Config, name: str, before: str) -> Tower:
    d, eps, heads = size(c, "hidden_size"), c.layer_norm_eps, c.decoder_attention_heads
    ahead = {"speech": _spoken, "text": _written}.get(before)
    own = _attention(c, "self_attn", heads, causal=True, cache=True)
    other = _attention(c, "encoder_attn", heads, cache=True, memory=d)
    layered = stack(
        "wrapped_decoder.layers",
        ("",) * c.decoder_layers,
        lambda kind: post_add_norm(
            (own, layer_norm("self_attn_layer_norm", d, eps=eps)),
            (other, layer_norm("encoder_attn_layer_norm", d, eps=eps)),
            (_mlp(c, c.decoder_ffn_dim), layer_norm("final_layer_norm", d, eps=eps)),
        ),
        width=d,
    )
    return Tower(
        name=name,
        parts=(*(ahead(c) if ahead else ()), layered),
        tower="decoder",
        model_type=c.model_type,
        pointer=c.pointer,
        width=d,
    )


def _attention(
    c: Config, name: str, heads: int, *, causal: bool = False, cache: bool = False, memory: int | None = None
) -> Attention:
    """The encoder's adds a learned vector for each distance to its keys; the decoder has no positions of its own."""
    return speech_attention(
        size(c, "hidden_size"),
        heads,
        name=name,
        key_bias=True,
        causal=causal,
        cache=cache,
        memory=memory,
        position="none" if cache else "relative",
        fields=("decoder_attention_heads" if cache else "encoder_attention_heads", "hidden_size"),
    )


def _mlp(c: Config, width: int) -> Mlp:
    names = ("intermediate_dense", "output_dense")
    d = size(c, "hidden_size")
    return plain_mlp(d, Size(width, "m"), str(c.hidden_act), bias=True, name="feed_forward", names=names)


def _heard(c: Config) -> tuple[Block, ...]:
    """Convolutions over the waveform, and positions by a convolution and by sines."""
    d, wide = size(c, "hidden_size"), c.conv_dim[-1]
    masks = c.mask_time_prob > 0 or c.mask_feature_prob > 0
    norms = first_or_all(c.feat_extract_norm, len(c.conv_dim))
    return (
        *((weight("prenet.masked_spec_embed", d, role="side mask"),) if masks else ()),
        *waveform_convolutions(
            "prenet.feature_encoder.conv_layers", c.conv_dim, c.conv_kernel, norms, bool(c.conv_bias)
        ),
        layer_norm("prenet.feature_projection.layer_norm", wide, eps=c.layer_norm_eps),
        linear("prenet.feature_projection.projection", wide, d, True),
        convolved_positions(
            "prenet.pos_conv_embed.conv", d, c.num_conv_pos_embeddings, c.num_conv_pos_embedding_groups
        ),
    )


def _read(c: Config) -> tuple[Block, ...]:
    d = size(c, "hidden_size")
    return (
        embedding("prenet.embed_tokens", size(c, "vocab_size"), d, role="embedding"),
        weight("prenet.encode_positions.alpha", role="side alpha"),
    )


def _written(c: Config) -> tuple[Block, ...]:
    return (embedding("prenet.embed_tokens", size(c, "vocab_size"), size(c, "hidden_size"), role="embedding"),)


def _spoken(c: Config) -> tuple[Block, ...]:
    """The last frame through matrices with dropout, then a speaker's vector beside it."""
    d, wide, count = size(c, "hidden_size"), c.speech_decoder_prenet_units, c.speech_decoder_prenet_layers
    return (
        *(
            linear(f"prenet.layers.{index}", wide if index else c.num_mel_bins, wide, True, role=f"prenet {index}")
            for index in range(count)
        ),
        linear("prenet.final_layer", wide, d, True, role="prenet"),
        weight("prenet.encode_positions.alpha", role="side alpha"),
        linear("prenet.speaker_embeds_layer", c.speaker_embedding_dim + d, d, True, role="side speaker"),
    )


def _spectrogram(c: Config) -> tuple[Block, ...]:
    """Frames, whether they are the last, and convolutions that correct them."""
    d, bins, rate = size(c, "hidden_size"), c.num_mel_bins, c.reduction_factor
    wide, last = c.speech_decoder_postnet_units, c.speech_decoder_postnet_layers - 1
    refining = [
        _refining(c, index, wide if index else bins, bins if index == last else wide) for index in range(last + 1)
    ]
    return (
        linear("speech_decoder_postnet.prob_out", d, rate, True, role="stop logits"),
        linear("speech_decoder_postnet.feat_out", d, bins * rate, True, role="logits"),
        *refining,
    )


def _refining(c: Config, index: int, inputs: int, outputs: int) -> Group:
    return group(
        f"speech_decoder_postnet.layers.{index}",
        conv("conv", inputs, outputs, c.speech_decoder_postnet_kernel, bias=False),
        BatchNorm(name="batch_norm", size=outputs),
        role=f"side correction {index}",
    )
