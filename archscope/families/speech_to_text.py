"""Speech2Text: gated convolutions over mel frames before a plain encoder-decoder."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Tower, TowerRole
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, group
from archscope.blocks.factories import size
from archscope.blocks.leaves import conv, embedding, layer_norm, linear, regroup
from archscope.blocks.size import Size
from archscope.blocks.skeletons import head, tied_names
from archscope.blocks.speech import speech_attention, speech_decoder_layers, speech_encoder_layers
from archscope.config import Config
from archscope.families.registry import family


@family("speech_to_text")
def speech_to_text(c: Config) -> Architecture:
    """Sines for positions, norms before the branches, the head tied to the table of words.

    Source: fairseq S2T (arXiv 2010.05171); transformers, models/speech_to_text/modeling_speech_to_text.py.
    """
    hears, writes = _tower(c, "encoder", _encoder(c)), _tower(c, "decoder", _decoder(c))
    if c.task == "model":
        return Architecture(parts=(hears, writes))
    table = "model.decoder.embed_tokens.weight" if c.tie_word_embeddings else ""
    logits = linear("lm_head", size(c, "d_model"), size(c, "vocab_size"), role="logits", tied_to=table)
    known = c.model_class == "Speech2TextForConditionalGeneration"
    return Architecture(
        parts=(group("model", hears, writes), head("speech_seq_2_seq", logits)),
        tied=tied_names(logits, ""),
        partial="" if known else f"what {c.model_class} builds is not known",
    )


def _tower(c: Config, role: TowerRole, parts: tuple[Block, ...]) -> Tower:
    return Tower(
        name=role, parts=parts, tower=role, model_type=c.model_type, pointer=c.pointer, width=size(c, "d_model")
    )


def _encoder(c: Config) -> tuple[Block, ...]:
    d = size(c, "d_model")
    attend = speech_attention(d, c.encoder_attention_heads, key_bias=True, position="sinusoidal")
    return (
        *_subsampling(c),
        speech_encoder_layers(c.encoder_layers, d, attend, Size(c.encoder_ffn_dim, "m"), c.activation_function),
        layer_norm("layer_norm", d, eps=1e-5),
    )


def _subsampling(c: Config) -> list[Block]:
    """Strided convolutions, of whose channels a gate leaves half. Source: Conv1dSubsampler."""
    parts: list[Block] = []
    for index in range(c.num_conv_layers):
        inputs = c.conv_channels // 2 if index else c.input_feat_per_channel * c.input_channels
        outputs = c.conv_channels if index < c.num_conv_layers - 1 else 2 * c.d_model
        parts.append(conv(f"conv.conv_layers.{index}", inputs, outputs, c.conv_kernel_sizes[index]))
        parts.append(regroup("gate", outputs, outputs // 2))
    return parts


def _decoder(c: Config) -> tuple[Block, ...]:
    d = size(c, "d_model")

    def attend(name: str, memory: int | None) -> Attention:
        return speech_attention(
            d,
            c.decoder_attention_heads,
            name=name,
            key_bias=True,
            causal=memory is None,
            cache=True,
            memory=memory,
            position="sinusoidal",
            fields=("decoder_attention_heads", "d_model"),
        )

    return (
        embedding("embed_tokens", size(c, "vocab_size"), d, role="embedding", fields=("vocab_size", "d_model")),
        speech_decoder_layers(c.decoder_layers, d, attend, Size(c.decoder_ffn_dim, "m"), c.activation_function),
        layer_norm("layer_norm", d, eps=1e-5),
    )
