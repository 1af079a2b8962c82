"""DeBERTa: attention that keeps content and relative position apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from archscope.blocks.assembly import Architecture, Tower
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, group, present, weight
from archscope.blocks.encoder_heads import Heads, label_heads, language_heads, masked_head
from archscope.blocks.encoders import dense_layer, encoder
from archscope.blocks.factories import attention, num_labels, size
from archscope.blocks.leaves import conv, embedding, layer_norm, linear
from archscope.blocks.skeletons import head, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("deberta")
def deberta(c: Config) -> Architecture:
    """One matrix for queries, keys and values, biases on two of them, and matrices for relative positions.

    Source: transformers, models/deberta/modeling_deberta.py (DisentangledSelfAttention).
    """
    d, heads = size(c, "hidden_size"), size(c, "num_attention_heads")
    width = heads * (d // heads)
    kinds = _kinds_of_position(c)
    extras = present(
        weight("self.q_bias", width, role="q_bias"),
        weight("self.v_bias", width, role="v_bias"),
        linear("self.head_logits_proj", heads, heads, role="talking logits") if c.get("talking_head") else None,
        linear("self.head_weights_proj", heads, heads, role="talking weights") if c.get("talking_head") else None,
        linear("self.pos_proj", d, width, role="position k") if "c2p" in kinds else None,
        linear("self.pos_q_proj", d, width, True, role="position q") if "p2c" in kinds else None,
    )

    def attend(c: Config, name: str) -> Attention:
        return _attention(c, name, fused="self.in_proj", extras=extras)

    return _with_heads(c, _tower(c, attend, _span(c) * 2))


@family("deberta-v2")
def deberta_v2(c: Config) -> Architecture:
    """Separate projections, which serve positions too where share_att_key is true; a convolution after the first layer.

    Source: transformers, models/deberta_v2/modeling_deberta_v2.py.
    """
    d, heads = size(c, "hidden_size"), c.num_attention_heads
    head_dim = _whole(c, "attention_head_size", d // heads)
    kinds = () if c.get("share_att_key") else _kinds_of_position(c)
    extras = present(
        linear("self.pos_key_proj", d, heads * head_dim, True, role="position k") if "c2p" in kinds else None,
        linear("self.pos_query_proj", d, heads * head_dim, True, role="position q") if "p2c" in kinds else None,
    )
    names = ("self.query_proj", "self.key_proj", "self.value_proj", "output.dense")
    if d % heads:
        raise ValueError(f"hidden_size {d} is no multiple of num_attention_heads {heads}")

    def attend(c: Config, name: str) -> Attention:
        return _attention(c, name, names=names, head_dim=head_dim, bias=True, extras=extras)

    normed = "layer_norm" in [part.strip() for part in c.get("norm_rel_ebd", "none").lower().split("|")]
    norm = layer_norm("encoder.LayerNorm", d, eps=c.layer_norm_eps, role="side norm") if normed else None
    buckets = _whole(c, "position_buckets", -1)
    rows = 2 * (buckets if buckets > 0 else _span(c))
    return _with_heads(c, _tower(c, attend, rows, norm, _convolution(c)))


def _convolution(c: Config) -> Block | None:
    """A convolution over the tables' sum that is added after the first layer."""
    d, kernel = size(c, "hidden_size"), _whole(c, "conv_kernel_size", 0)
    if kernel <= 0:
        return None
    matrix = conv("conv", d, d, kernel, groups=_whole(c, "conv_groups", 1))
    return group("encoder.conv", matrix, layer_norm("LayerNorm", d, eps=c.layer_norm_eps), role="side convolution")


def _kinds_of_position(c: Config) -> tuple[str, ...]:
    """Which products of content and position there are; none without relative attention."""
    found = c.get("pos_att_type") or ()
    return tuple(found) if c.get("relative_attention") else ()


def _whole(c: Config, name: str, default: int) -> int:
    """A whole number that the config class may not declare. Raises: ValueError for anything else."""
    found = c.get(name, default)
    if not isinstance(found, int) or isinstance(found, bool):
        raise ValueError(f"{name} is {found!r:.40}: no whole number")
    return found


def _span(c: Config) -> int:
    span = _whole(c, "max_relative_positions", -1)
    return int(size(c, "max_position_embeddings") if span < 1 else span)


def _attention(c: Config, name: str, **options: Any) -> Attention:
    """Attention between all tokens; the output matrix is hidden by hidden."""
    d = size(c, "hidden_size")
    given: dict[str, Any] = {"names": ("", "", "", "output.dense"), "head_dim": d // c.num_attention_heads}
    made = attention(
        c,
        name=name,
        num_kv_heads=c.num_attention_heads,
        causal=False,
        cache=False,
        position="relative" if c.get("relative_attention") else "learned",
        fields=("num_attention_heads", "hidden_size"),
        **(given | options),
    )
    return replace(made, parts=(*made.parts[:-1], linear("output.dense", d, d, True, role="o", fields=made.fields)))


def _tower(c: Config, attend: Callable[..., Block], relative_rows: int, *after: Block | None) -> Tower:
    """Tables of tokens, and of positions and segments where there are some, joined to the hidden size."""
    d = size(c, "hidden_size")
    width = _whole(c, "embedding_size", d)
    positions = size(c, "max_position_embeddings")
    before = present(
        embedding("embeddings.word_embeddings", size(c, "vocab_size"), width, role="embedding", fields=("vocab_size",)),
        embedding("embeddings.position_embeddings", positions, width, of="position", role="embedding")
        if c.get("position_biased_input", True)
        else None,
        embedding("embeddings.token_type_embeddings", c.type_vocab_size, width, of="segment", role="embedding")
        if c.type_vocab_size > 0
        else None,
        linear("embeddings.embed_proj", width, d, role="projection") if width != d else None,
        layer_norm("embeddings.LayerNorm", d, eps=c.layer_norm_eps),
    )
    relative = (
        embedding("encoder.rel_embeddings", relative_rows, d, of="relative position", role="side table")
        if c.get("relative_attention")
        else None
    )
    return encoder(c, before, lambda kind: dense_layer(c, attend=attend, cross=False), after=(relative, *after))


def _with_heads(c: Config, tower: Tower) -> Architecture:
    """Sequences and choices are told apart through a pooler of the class's own."""
    d, table = size(c, "hidden_size"), "deberta.embeddings.word_embeddings.weight"
    pooled, labels = _whole(c, "pooler_hidden_size", d), num_labels(c)
    outputs = {"sequence_classification": labels, "multiple_choice": 1}
    heads: Heads = label_heads(c)
    for task, count in outputs.items():
        parts = (linear("pooler.dense", pooled, pooled, True), linear("classifier", d, count, True, role="logits"))
        heads[task] = (head(task, *parts),)
    words = masked_head(c, table, width=_whole(c, "embedding_size", d))
    if not c.legacy:
        words = group(
            "lm_predictions.lm_head",
            linear("dense", d, d, True),
            layer_norm("LayerNorm", d, eps=c.layer_norm_eps),
            linear("decoder", d, size(c, "vocab_size"), role="logits", tied_to=table),
            weight("bias", size(c, "vocab_size"), role="bias"),
        )
    return with_head(c, tower, prefix="deberta", heads=heads | language_heads(words, tasks=("masked_lm",)))
