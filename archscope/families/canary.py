"""Canary and Cohere's speech recogniser: a FastConformer and a plain decoder over what it hears."""

from __future__ import annotations

from typing import NamedTuple

from archscope.blocks.assembly import Architecture, Tower
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, present, weight
from archscope.blocks.factories import attention, size
from archscope.blocks.leaves import Norm, embedding, layer_norm, linear
from archscope.blocks.mlp import plain_mlp
from archscope.blocks.renaming import renamed
from archscope.blocks.skeletons import head, tied_names
from archscope.blocks.speech import crossing_layers
from archscope.config import Config
from archscope.families.registry import family, tower


class _Names(NamedTuple):
    """Names of a decoder's parts."""

    tokens: str = "embed_tokens"
    tables_norm: str = "embedding_layernorm"
    layers: str = "layers"
    last: str = "norm"
    norms: tuple[str, str, str] = ("input_layernorm", "post_attention_layernorm", "final_layernorm")
    bodies: tuple[str, str] = ("self_attn", "encoder_attn")
    matrices: tuple[str, str, str, str] = ("q_proj", "k_proj", "v_proj", "o_proj")
    ffn: str = "mlp"
    ffn_matrices: tuple[str, str] = ("fc1", "fc2")


OWN = _Names()
FIRST = _Names(
    tokens="_embedding.token_embedding",
    tables_norm="_embedding.layer_norm",
    layers="_decoder.layers",
    last="_decoder.final_layer_norm",
    norms=("layer_norm_1", "layer_norm_2", "layer_norm_3"),
    bodies=("first_sub_layer", "second_sub_layer"),
    matrices=("query_net", "key_net", "value_net", "out_projection"),
    ffn="third_sub_layer",
    ffn_matrices=("dense_in", "dense_out"),
)
"""As NeMo exports them, and as the model is saved."""

ENCODER = {
    "q_proj": "linear_q",
    "k_proj": "linear_k",
    "v_proj": "linear_v",
    "o_proj": "linear_out",
    "relative_k_proj": "linear_pos",
    "bias_u": "pos_bias_u",
    "bias_v": "pos_bias_v",
    "subsampling.linear": "pre_encode.out",
}


@family("canary")
def canary(c: Config) -> Architecture:
    """Sines for positions in the decoder, a norm over the embedded words.

    Source: Canary (arXiv 2406.19674); transformers, models/canary/modeling_canary.py.
    """
    inner, at = c.sub("decoder_config"), "" if c.task == "model" else "model."
    hears = tower(c.sub("encoder_config"), f"{at}encoder", "encoder")
    writes = _decoder(inner, f"{at}decoder", OWN)
    table = f"{at}decoder.embed_tokens.weight"
    return _whole(c, (hears, writes), inner, "proj_out", table, bool(c.tie_word_embeddings))


@family("canary_decoder")
def canary_decoder(c: Config) -> Architecture:
    """Canary's decoder alone.

    Source: transformers, models/canary/modeling_canary.py (CanaryDecoder).
    """
    return Architecture(parts=(_decoder(c, "", OWN),))


@family("cohere_asr")
def cohere_asr(c: Config) -> Architecture:
    """Canary's parts with a table of positions and a matrix between the two, under NeMo's names.

    Source: transformers, models/cohere_asr/modeling_cohere_asr.py; names as its conversion saves them.
    """
    at = "" if c.task == "model" else "model."
    d, audio = size(c, "hidden_size"), c.sub("encoder_config").hidden_size
    hears = renamed(tower(c.sub("encoder_config"), f"{at}encoder", "encoder"), _encoder_name)
    between = linear(f"{at}encoder_decoder_proj", audio, d, True, role="projection")
    positions = size(c, "max_position_embeddings")
    table = f"{at}transf_decoder._embedding.token_embedding.weight"
    learned = weight("_embedding.position_embedding.pos_enc", positions, d, role="embedding")
    writes = _decoder(c, f"{at}transf_decoder", FIRST, learned)
    return _whole(c, (hears, between, writes), c, "log_softmax.mlp.layer0", table, bool(c.tie_word_embeddings))


def _whole(c: Config, parts: tuple[Block, ...], words: Config, name: str, table: str, tied: bool) -> Architecture:
    """The parts, with a head over words in the class that has one."""
    if c.task == "model":
        return Architecture(parts=parts)
    d, vocabulary = size(words, "hidden_size"), size(words, "vocab_size")
    logits = linear(name, d, vocabulary, True, role="logits", tied_to=table if tied else "")
    known = c.model_class.endswith("ForConditionalGeneration")
    return Architecture(
        parts=(*parts, head("speech_seq_2_seq", logits)),
        tied=tied_names(logits, ""),
        partial="" if known else f"what {c.model_class} builds is not known",
    )


def _encoder_name(around: str, name: str) -> str:
    """A part of the encoder under NeMo's name."""
    if name == "norm" and around == "conv":
        return "batch_norm"
    return ENCODER.get(name, name.replace("subsampling.layers.", "pre_encode.conv."))


def _decoder(c: Config, name: str, names: _Names, positions: Block | None = None) -> Tower:
    d = size(c, "hidden_size")

    def attend(own: str, crosses: bool) -> Attention:
        return attention(
            c,
            name=own,
            names=names.matrices,
            bias=bool(c.attention_bias),
            causal=not crosses,
            memory=d if crosses else None,
            position="none" if crosses else "learned" if positions else "sinusoidal",
        )

    def norm(own: str) -> Norm:
        return layer_norm(own, d, eps=1e-5)

    ffn = plain_mlp(d, size(c, "intermediate_size"), c.hidden_act, name=names.ffn, names=names.ffn_matrices)
    layered = crossing_layers(
        names.layers, c.num_hidden_layers, d, attend, ffn, norm=norm, bodies=names.bodies, norms=names.norms
    )
    return Tower(
        name=name,
        parts=present(
            embedding(names.tokens, size(c, "vocab_size"), d, role="embedding"),
            positions,
            norm(names.tables_norm),
            layered,
            norm(names.last),
        ),
        tower="decoder",
        model_type=c.model_type,
        pointer=c.pointer,
        width=d,
    )
