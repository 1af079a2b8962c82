"""Dia: text bytes in, the codes of all channels of a codec out."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Tower, TowerRole
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, group
from archscope.blocks.factories import attention, size
from archscope.blocks.leaves import embedding, linear, rms_norm
from archscope.blocks.mlp import fused_gated_mlp
from archscope.blocks.size import Size
from archscope.blocks.skeletons import head
from archscope.blocks.speech import crossing_layers
from archscope.blocks.towers import layers
from archscope.config import Config
from archscope.families.registry import family


@family("dia")
def dia(c: Config) -> Architecture:
    """An encoder over bytes, a decoder over frames of codes, a head over the codes of every channel.

    Source: transformers, models/dia/modeling_dia.py.
    """
    inner = c.sub("decoder_config")
    reads = _tower(c.sub("encoder_config"), "encoder", _encoder(c.sub("encoder_config")))
    speaks = _tower(inner, "decoder", _decoder(inner))
    if c.task == "model":
        return Architecture(parts=(reads, speaks))
    codes = linear("logits_dense", inner.hidden_size, inner.num_channels * inner.vocab_size, role="logits")
    known = c.model_class == "DiaForConditionalGeneration"
    return Architecture(
        parts=(group("model", reads, speaks), head("speech_seq_2_seq", codes)),
        partial="" if known else f"what {c.model_class} builds is not known",
    )


@family("dia_encoder")
def dia_encoder(c: Config) -> Architecture:
    """The encoder alone.

    Source: transformers, models/dia/modeling_dia.py (DiaEncoder).
    """
    return Architecture(parts=(_tower(c, "encoder", _encoder(c), ""),))


@family("dia_decoder")
def dia_decoder(c: Config) -> Architecture:
    """The decoder alone.

    Source: transformers, models/dia/modeling_dia.py (DiaDecoder).
    """
    return Architecture(parts=(_tower(c, "decoder", _decoder(c), ""),))


def _tower(c: Config, role: TowerRole, parts: tuple[Block, ...], name: str | None = None) -> Tower:
    return Tower(
        name=role if name is None else name,
        parts=parts,
        tower=role,
        model_type=c.model_type,
        pointer=c.pointer,
        width=size(c, "hidden_size"),
    )


def _encoder(c: Config) -> tuple[Block, ...]:
    d, eps = size(c, "hidden_size"), c.norm_eps
    own = attention(c, name="self_attention", causal=False, cache=False)
    norms = ("pre_sa_norm", "post_sa_norm")
    return (
        embedding("embedding", size(c, "vocab_size"), d, role="embedding"),
        layers("layers", c.num_hidden_layers, d, own, _mlp(c), norm=rms_norm, norms=norms, eps=eps),
        rms_norm("norm", d, eps=eps),
    )


def _decoder(c: Config) -> tuple[Block, ...]:
    d, eps = size(c, "hidden_size"), c.norm_eps

    def attend(name: str, crosses: bool) -> Attention:
        if not crosses:
            return attention(c, name=name)
        return attention(
            c,
            name=name,
            num_heads=c.cross_num_attention_heads,
            num_kv_heads=c.cross_num_key_value_heads,
            head_dim=c.cross_head_dim,
            memory=c.cross_hidden_size,
            causal=False,
            position="none",
            fields=("cross_num_attention_heads", "cross_num_key_value_heads", "cross_head_dim", "cross_hidden_size"),
        )

    layered = crossing_layers(
        "layers",
        c.num_hidden_layers,
        d,
        attend,
        _mlp(c),
        norm=lambda name: rms_norm(name, d, eps=eps),
        bodies=("self_attention", "cross_attention"),
        norms=("pre_sa_norm", "pre_ca_norm", "pre_mlp_norm"),
    )
    codes = embedding("embeddings.embed", c.vocab_size * c.num_channels, d, of="code", role="embedding")
    return (codes, layered, rms_norm("norm", d, eps=eps))


def _mlp(c: Config) -> Block:
    return fused_gated_mlp(size(c, "hidden_size"), Size(c.intermediate_size, "m"), c.hidden_act)
