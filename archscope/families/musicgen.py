"""MusicGen: a description in, the codes of a codec out, one table and one head for each codebook."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Stack, Tower
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, present
from archscope.blocks.factories import size
from archscope.blocks.leaves import embedding, layer_norm, linear
from archscope.blocks.mlp import Mlp, plain_mlp
from archscope.blocks.projectors import Projector, projector
from archscope.blocks.repeated import repeated
from archscope.blocks.size import Size
from archscope.blocks.skeletons import head, tied_names
from archscope.blocks.speech import crossing_layers
from archscope.blocks.towers import layers, square_attention
from archscope.config import Config
from archscope.families.registry import family, model, tower

NORMS = ("self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm")


@family("musicgen")
def musicgen(c: Config) -> Architecture:
    """The decoder reads the text by cross-attention.

    Source: MusicGen (arXiv 2306.05284); transformers, models/musicgen/modeling_musicgen.py.
    """
    inner = c.sub("decoder")
    narrow = None
    if inner.get("cross_attention_hidden_size") is None:
        narrow = _between("enc_to_dec_proj", c.sub("text_encoder").hidden_size, inner.hidden_size)
    return _whole(c, "MusicgenForConditionalGeneration", narrow, crosses=True)


@family("musicgen_melody")
def musicgen_melody(c: Config) -> Architecture:
    """Text and the chroma of a melody stand before the codes in the decoder's own sequence.

    Source: transformers, models/musicgen_melody/modeling_musicgen_melody.py.
    """
    width = c.sub("decoder").hidden_size
    text = _between("enc_to_dec_proj", c.sub("text_encoder").hidden_size, width)
    chroma = _between("audio_enc_to_dec_proj", c.num_chroma, width)
    return _whole(c, "MusicgenMelodyForConditionalGeneration", text, chroma, crosses=False)


@family("musicgen_decoder")
def musicgen_decoder(c: Config) -> Architecture:
    """The decoder with heads, or without them.

    Source: transformers, models/musicgen/modeling_musicgen.py (MusicgenForCausalLM, MusicgenModel).
    """
    return _alone(c, crosses=True)


@family("musicgen_melody_decoder")
def musicgen_melody_decoder(c: Config) -> Architecture:
    """The decoder with heads, or without them.

    Source: transformers, models/musicgen_melody/modeling_musicgen_melody.py.
    """
    return _alone(c, crosses=False)


def _alone(c: Config, *, crosses: bool) -> Architecture:
    if c.model_class.endswith("ForCausalLM"):
        return Architecture(parts=(_decoder(c, "model.decoder", crosses=crosses), _heads(c, "")))
    known = not c.model_class or c.model_class in ("MusicgenModel", "MusicgenMelodyModel")
    return Architecture(
        parts=(_decoder(c, "decoder", crosses=crosses),),
        partial="" if known else f"what {c.model_class} builds is not known",
    )


def _whole(c: Config, known: str, *between: Block | None, crosses: bool) -> Architecture:
    """Text encoder, codec, decoder and heads, and matrices where widths differ."""
    inner = c.sub("decoder")
    text = model(c.sub("text_encoder").as_task("text_encoding"), "text_encoder", "encoder")
    parts = present(
        text,
        tower(c.sub("audio_encoder"), "audio_encoder", "audio"),
        *between,
        _decoder(inner, "decoder.model.decoder", crosses=crosses),
        _heads(inner, "decoder."),
    )
    partial = "" if c.model_class in ("", known) else f"what {c.model_class} builds of {c.model_type} is not known"
    return Architecture(parts=parts, partial=partial, tied=tied_names(text, ""))


def _between(name: str, source: int, target: int) -> Projector | None:
    if source == target:
        return None
    return projector(name, source, target, linear("", source, target, True, role="projection"))


def _heads(c: Config, at: str) -> Block:
    logits = linear("", size(c, "hidden_size"), c.vocab_size, role="logits")
    return head("text_to_waveform", repeated(f"{at}lm_heads", c.num_codebooks, logits, role="logits"))


def _decoder(c: Config, name: str, *, crosses: bool) -> Tower:
    """Tables of codes whose vectors are summed, sines for positions, layers without biases."""
    d = size(c, "hidden_size")
    codes = embedding("", c.vocab_size + 1, d, of="code")
    return Tower(
        name=name,
        parts=(
            repeated("embed_tokens", c.num_codebooks, codes, role="embedding"),
            _crossing(c) if crosses else _plain(c),
            layer_norm("layer_norm", d),
        ),
        tower="decoder",
        model_type=c.model_type,
        pointer=c.pointer,
        width=d,
    )


def _crossing(c: Config) -> Stack:
    return crossing_layers(
        "layers",
        c.num_hidden_layers,
        size(c, "hidden_size"),
        lambda name, crosses: _attention(c, name, crosses),
        _mlp(c),
        norm=lambda name: layer_norm(name, size(c, "hidden_size")),
        norms=NORMS,
    )


def _plain(c: Config) -> Stack:
    return layers(
        "layers",
        c.num_hidden_layers,
        size(c, "hidden_size"),
        _attention(c, "self_attn", False),
        _mlp(c),
        norms=(NORMS[0], NORMS[2]),
    )


def _attention(c: Config, name: str, crosses: bool) -> Attention:
    d = size(c, "hidden_size")
    return square_attention(
        d,
        c.num_attention_heads,
        name=name,
        bias=False,
        causal=not crosses,
        cache=True,
        memory=d if crosses else None,
        position="none" if crosses else "sinusoidal",
    )


def _mlp(c: Config) -> Mlp:
    return plain_mlp(
        size(c, "hidden_size"),
        Size(c.ffn_dim, "m"),
        c.activation_function,
        name="",
        bias=False,
        role="ffn",
        fields=("ffn_dim", "hidden_size"),
    )
