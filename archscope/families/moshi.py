"""Moshi and Kyutai STT: a decoder over words and speech codes, and one in depth over the codes of a frame."""

from __future__ import annotations

from dataclasses import replace

from archscope.blocks.assembly import Architecture, Stack, Tower, pre_norm, stack
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block
from archscope.blocks.codebooks import CodebookLinear
from archscope.blocks.factories import attention, size
from archscope.blocks.leaves import embedding, linear, rms_norm
from archscope.blocks.mlp import Mlp
from archscope.blocks.repeated import repeated
from archscope.blocks.size import Size
from archscope.blocks.skeletons import tied_names, vocabulary_head
from archscope.config import Config
from archscope.families.registry import family, tower

FFN_FIELDS = ("ffn_dim", "hidden_size")


@family("moshi")
def moshi(c: Config) -> Architecture:
    """The decoder alone, with a head, or with codec, tables of codes and the decoder in depth, by the class.

    Source: Moshi (arXiv 2410.00037); transformers, models/moshi/modeling_moshi.py.
    """
    if c.task == "model":
        return Architecture(parts=(_decoder(c, ""),))
    if c.task == "causal_lm":
        return Architecture(parts=(_decoder(c, "model"), vocabulary_head(c, c.hidden_size)))
    if c.model_class != "MoshiForConditionalGeneration":
        return Architecture(parts=(_decoder(c, ""),), partial=f"what {c.model_class} builds is not known")
    codes = embedding("", c.audio_vocab_size + 1, c.hidden_size, of="code")
    parts = (
        repeated("embed_tokens", 2 * c.num_codebooks, codes),
        tower(c.sub("audio_encoder_config"), "audio_encoder", "audio"),
        _decoder(c, "decoder.model"),
        vocabulary_head(c, c.hidden_size, "decoder.lm_head"),
        replace(_depth(c.sub("depth_decoder_config")), name="depth_decoder"),
    )
    return Architecture(parts=parts)


@family("moshi_depth")
def moshi_depth(c: Config) -> Architecture:
    """From one hidden state, the codes of a frame one after the other, each with matrices of its own.

    Source: transformers, models/moshi/modeling_moshi.py (MoshiDepthDecoder).
    """
    return Architecture(parts=(_depth(c),))


@family("kyutai_speech_to_text")
def kyutai_stt(c: Config) -> Architecture:
    """Moshi's decoder over one table of words and codes, with the codec beside it.

    Source: transformers, models/kyutai_speech_to_text/modeling_kyutai_speech_to_text.py.
    """
    entries = c.vocab_size + c.num_codebooks * c.codebook_vocab_size + 1
    table = embedding("embed_tokens.embed_tokens", entries, size(c, "hidden_size"), role="embedding")
    if c.task == "model":
        return Architecture(parts=(_decoder(c, "", table),))
    # Words and codes share the table, so that it is no head over words even where the config asks to tie them.
    tied_to = "model.embed_tokens.embed_tokens.weight" if c.tie_word_embeddings else ""
    words = vocabulary_head(c, c.hidden_size, tied_to=tied_to)
    codec = tower(c.sub("codec_config"), "codec_model", "audio")
    known = c.model_class == "KyutaiSpeechToTextForConditionalGeneration"
    return Architecture(
        parts=(_decoder(c, "model", table), words, codec),
        tied=tied_names(words, ""),
        partial="" if known else f"what {c.model_class} builds is not known",
    )


def _decoder(c: Config, name: str, table: Block | None = None) -> Tower:
    d = size(c, "hidden_size")
    tokens = embedding("embed_tokens", size(c, "vocab_size") + 1, d, role="embedding")
    return Tower(
        name=name,
        parts=(tokens if table is None else table, _layers(c, 0), rms_norm("norm", d, eps=c.rms_norm_eps)),
        model_type=c.model_type,
        pointer=c.pointer,
        width=d,
    )


def _depth(c: Config) -> Tower:
    d, count, codes = size(c, "hidden_size"), c.num_codebooks, c.audio_vocab_size
    return Tower(
        parts=(
            embedding("text_embed_tokens", size(c, "vocab_size") + 1, d, role="embedding"),
            repeated("embed_tokens", count - 1, embedding("", codes + 1, d, of="code"), role="side codes"),
            CodebookLinear(
                name="input_projections", role="side input", count=count, in_features=c.input_size, out_features=d
            ),
            _layers(c, count),
            CodebookLinear(name="lm_heads", role="logits", count=count, in_features=d, out_features=codes),
        ),
        tower="decoder",
        model_type=c.model_type,
        pointer=c.pointer,
        width=d,
    )


def _layers(c: Config, codebooks: int) -> Stack:
    """Layers with one matrix for all, or one for each of the `codebooks` (0: one for all)."""
    d, eps = size(c, "hidden_size"), c.rms_norm_eps
    return stack(
        "layers",
        ("",) * c.num_hidden_layers,
        lambda kind: pre_norm(
            (rms_norm("input_layernorm", d, eps=eps), _attention(c, codebooks)),
            (rms_norm("post_attention_layernorm", d, eps=eps), _mlp(c, codebooks)),
        ),
        width=d,
    )


def _attention(c: Config, codebooks: int) -> Attention:
    made = attention(
        c,
        names=("q_proj.linear", "k_proj.linear", "v_proj.linear", "o_proj.linear"),
        window=c.get("sliding_window"),
        position="none" if codebooks else "rope",
    )
    if not codebooks:
        return made
    parts = tuple(
        CodebookLinear(
            name=part.name,
            role=part.role,
            count=codebooks,
            in_features=part.in_width or 0,
            out_features=part.out_width or 0,
        )
        for part in made.parts
    )
    return replace(made, parts=parts)


def _mlp(c: Config, codebooks: int) -> Mlp:
    """Gate and up in one matrix of ffn_dim."""
    d, wide = size(c, "hidden_size"), Size(c.ffn_dim, "2·m")
    inner = Size(c.ffn_dim // 2, "m")
    parts: tuple[Block, ...] = (linear("fc1", d, wide, role="gate_up"), linear("fc2", inner, d, role="down"))
    if codebooks > 1:
        parts = (
            CodebookLinear(name="fc1", role="gate_up", count=codebooks, in_features=d, out_features=wide),
            CodebookLinear(name="fc2", role="down", count=codebooks, in_features=inner, out_features=d),
        )
    return Mlp(name="mlp", width=inner, hidden=d, gated=True, activation=c.hidden_act, parts=parts, fields=FFN_FIELDS)
