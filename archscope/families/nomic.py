"""Encoders for embeddings: BERT's order of norms with rotary positions, saved under the names of their first code."""

from __future__ import annotations

from dataclasses import replace

from archscope.blocks.assembly import Architecture, Sublayer, Tower, post_add_norm
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, group, present
from archscope.blocks.encoder_heads import label_heads, language_heads, masked_head, masked_lm_head
from archscope.blocks.encoders import encoder, pooler
from archscope.blocks.factories import attention, mlp, size
from archscope.blocks.leaves import embedding, layer_norm, linear
from archscope.blocks.skeletons import with_head
from archscope.config import Config
from archscope.families.registry import family


@family("nomic_bert")
def nomic_bert(c: Config) -> Architecture:
    """No biases, gated feed-forward blocks; a pooler only where sequences are told apart.

    Source: transformers, models/nomic_bert/modeling_nomic_bert.py; names as conversion_mapping.py saves them.
    """
    ffn = mlp(c, names=("fc12", "fc11", "fc2"))
    tower = _tower(c, _attention(c, "attn", "Wqkv", "out_proj", bias=False), ffn, last=_pooler(c))
    words = masked_head(c, "nomic_bert.embeddings.word_embeddings.weight", norm="transform.layer_norm")
    return with_head(c, tower, prefix="nomic_bert", heads=label_heads(c) | language_heads(words))


@family("gte")
def gte(c: Config) -> Architecture:
    """Biases everywhere but in the fused first matrix of the feed-forward block.

    Source: transformers, models/gte/modeling_gte.py; names as conversion_mapping.py saves them.
    """
    d, tied = size(c, "hidden_size"), bool(c.tie_word_embeddings)
    ffn = mlp(c, kind="fused", names=("up_gate_proj", "down_proj"))
    up, _ = ffn.parts
    ffn = replace(ffn, parts=(up, linear("down_proj", size(c, "intermediate_size"), d, True, role="down")))
    tower = _tower(
        c,
        _attention(c, "attention", "qkv_proj", "o_proj", bias=True),
        ffn,
        norms=("attn_ln", "mlp_ln"),
        first="embeddings.LayerNorm",
        layers="encoder.layer",
        last=_pooler(c),
    )
    table = "gte.embeddings.word_embeddings.weight" if tied else ""
    words = group(
        "lm_head",
        linear("dense", d, d, True),
        layer_norm("norm", d, eps=c.layer_norm_eps),
        linear("decoder", d, size(c, "vocab_size"), True, role="logits", tied_to=table),
    )
    return with_head(c, tower, prefix="gte", heads=label_heads(c) | language_heads(words))


@family("jina_embeddings_v3")
def jina_embeddings_v3(c: Config) -> Architecture:
    """RoBERTa's heads and pooler over layers with rotary positions and plain feed-forward blocks.

    Source: transformers, models/jina_embeddings_v3/modeling_jina_embeddings_v3.py; names as conversion_mapping.py saves
    them. The adapters per task of the published model are no part of the class.
    """
    ffn = mlp(c, kind="plain", bias=True)
    last = pooler(c) if c.task == "model" else None
    tower = _tower(c, _attention(c, "mixer", "Wqkv", "out_proj", bias=True), ffn, last=last)
    words = masked_lm_head(c, "roberta.embeddings.word_embeddings.weight")
    return with_head(c, tower, prefix="roberta", heads=label_heads(c, dense=True) | language_heads(words))


def _tower(
    c: Config,
    mixer: Attention,
    ffn: Block,
    *,
    norms: tuple[str, str] = ("norm1", "norm2"),
    first: str = "emb_ln",
    layers: str = "encoder.layers",
    last: Block | None = None,
) -> Tower:
    """Tables of tokens and segments, a norm, layers with norms after the add."""
    d = size(c, "hidden_size")
    segments = c.type_vocab_size
    before = present(
        embedding("embeddings.word_embeddings", size(c, "vocab_size"), d, role="embedding", fields=("vocab_size",)),
        embedding("embeddings.token_type_embeddings", segments, d, of="segment", role="embedding")
        if segments
        else None,
        layer_norm(first, d, eps=c.layer_norm_eps),
    )
    after_attention, after_ffn = (layer_norm(name, d, eps=c.layer_norm_eps) for name in norms)

    def layer(kind: object) -> tuple[Sublayer, ...]:
        return post_add_norm((mixer, after_attention), (ffn, after_ffn))

    return encoder(c, before, layer, layers=layers, after=(last,))


def _pooler(c: Config) -> Block | None:
    return pooler(c) if c.task == "sequence_classification" else None


def _attention(c: Config, name: str, fused: str, out: str, *, bias: bool) -> Attention:
    return attention(
        c,
        name=name,
        fused=fused,
        names=("", "", "", out),
        bias=bias,
        num_kv_heads=c.num_attention_heads,
        causal=False,
        cache=False,
    )
