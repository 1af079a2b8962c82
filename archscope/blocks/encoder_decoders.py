"""Encoder-decoders over one table of tokens: two towers, attention from one to the other, heads on the second."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from math import sqrt
from typing import Any, Literal

from archscope.blocks.assembly import Architecture, Sublayer, Tower, post_add_norm, pre_norm, stack
from archscope.blocks.attention import Attention, Position
from archscope.blocks.base import Block, present, weight
from archscope.blocks.encoder_heads import dense_classifier
from archscope.blocks.factories import size
from archscope.blocks.leaves import embedding, layer_norm, linear
from archscope.blocks.mlp import plain_mlp
from archscope.blocks.size import Size
from archscope.blocks.skeletons import LayerBuilder, head, tied_names
from archscope.blocks.towers import square_attention
from archscope.config import Config

Role = Literal["encoder", "decoder"]
MakeTower = Callable[[Role, str, str], Tower]
"""From a role, a name, and the table that the tower's own one is tied to ("" for none)."""

NAMES = ("self_attn", "self_attn_layer_norm", "encoder_attn", "encoder_attn_layer_norm", "final_layer_norm")
"""Usual names in a layer: attention, its norm, cross-attention, its norm, the feed-forward block's norm."""


def num_heads(c: Config, role: Role) -> int:
    """The heads of one side."""
    found: int = c.encoder_attention_heads if role == "encoder" else c.decoder_attention_heads
    return found


def ffn_width(c: Config, role: Role) -> Size:
    """The width inside the feed-forward block of one side."""
    return Size(c.encoder_ffn_dim if role == "encoder" else c.decoder_ffn_dim, "m")


def side_attention(c: Config, role: Role, name: str = "self_attn", **options: Any) -> Attention:
    """Attention of one side to itself: both ways in the encoder, causal and cached in the decoder."""
    causal = role == "decoder"
    given: dict[str, Any] = {"causal": causal, "cache": causal, "fields": (f"{role}_attention_heads", "d_model")}
    return square_attention(size(c, "hidden_size"), num_heads(c, role), name=name, **(given | options))


def cross_attention(c: Config, name: str = "encoder_attn", **options: Any) -> Attention:
    """Attention of the decoder to what the encoder gave."""
    memory = {"causal": False, "cache": True, "position": "none", "memory": size(c, "hidden_size")}
    return side_attention(c, "decoder", name, **(memory | options))


def side_mlp(c: Config, role: Role, *, name: str = "", names: tuple[str, str] = ("fc1", "fc2")) -> Block:
    """The plain feed-forward block of one side, whose matrices are mostly modules of the layer itself."""
    activation = c.get("activation_function") or c.get("hidden_act") or ""
    fields = (f"{role}_ffn_dim", "d_model")
    return plain_mlp(
        size(c, "hidden_size"), ffn_width(c, role), activation, name=name, names=names, role="ffn", fields=fields
    )


def side_layer(
    c: Config,
    role: Role,
    *,
    pre: bool = False,
    bias: bool = True,
    position: Position = "learned",
    own: Block | None = None,
    cross: bool = True,
    feed_forward: Block | None = None,
    names: tuple[str, str, str, str, str] = NAMES,
) -> tuple[Sublayer, ...]:
    """Self-attention (`own` in place of the usual one), in the decoder cross-attention, feed-forward block."""
    d = size(c, "hidden_size")
    attention = side_attention(c, role, names[0], bias=bias, position=position) if own is None else own
    bodies: list[tuple[Block, str]] = [(attention, names[1])]
    if role == "decoder" and cross:
        bodies.append((cross_attention(c, names[2], bias=bias), names[3]))
    bodies.append((side_mlp(c, role) if feed_forward is None else feed_forward, names[4]))
    pairs = [(body, layer_norm(name, d)) for body, name in bodies]
    return pre_norm(*((norm, body) for body, norm in pairs)) if pre else post_add_norm(*pairs)


def side_tower(
    c: Config,
    role: Role,
    name: str,
    tied_to: str,
    layer: LayerBuilder,
    *,
    kinds: Sequence[Hashable] | None = None,
    vocabulary: int | None = None,
    table: str = "embed_tokens",
    rows: int = 0,
    positions: str = "embed_positions",
    first_norm: str = "",
    last_norm: str = "",
    before: Sequence[Block] = (),
    after: Sequence[Block] = (),
) -> Tower:
    """Tokens, `rows` positions where there is a table of them, a norm, layers, a norm; "" leaves a norm out."""
    d = size(c, "hidden_size")
    count = c.encoder_layers if role == "encoder" else c.decoder_layers
    words = size(c, "vocab_size") if vocabulary is None else Size(vocabulary, "V")
    scale = sqrt(d) if c.get("scale_embedding") else None
    parts = present(
        embedding(table, words, d, role="embedding", scale=scale, tied_to=tied_to, fields=("vocab_size", "d_model")),
        embedding(positions, rows, d, of="position", role="embedding") if rows else None,
        *before,
        layer_norm(first_norm, d) if first_norm else None,
        stack("layers", ("",) * count if kinds is None else kinds, layer, width=d),
        layer_norm(last_norm, d) if last_norm else None,
        *after,
    )
    return Tower(name=name, parts=parts, tower=role, model_type=c.model_type, pointer=c.pointer, width=d)


def two_towers(
    c: Config,
    make: MakeTower,
    *,
    prefix: str = "model",
    shared: str = "shared",
    table: str = "embed_tokens",
    logits_bias: bool = True,
    target_words: int | None = None,
    tie_alone: bool = True,
) -> Architecture:
    """Both towers over a shared table, or one of them, under the class that the config names.

    Without tie_word_embeddings each tower and the head have tables of their own, and the shared one lies idle; `shared`
    may be "" for none. `logits_bias` is a saved buffer; `target_words` is the vocabulary of the head; `tie_alone` says
    whether the decoder by itself ties its head.
    """
    tied = bool(c.get("tie_word_embeddings"))
    words = size(c, "vocab_size") if target_words is None else Size(target_words, "V")
    if c.task == "causal_lm":
        own = f"{prefix}.decoder.{table}.weight" if tied and tie_alone else ""
        return _whole(make("decoder", f"{prefix}.decoder", ""), _logits(c, size(c, "vocab_size"), own))
    at = "" if c.task == "model" else f"{prefix}."
    common = f"{at}{shared}.weight" if shared and tied else ""
    both = (
        embedding(f"{at}{shared}", size(c, "vocab_size"), size(c, "hidden_size"), role="embedding") if shared else None,
        make("encoder", f"{at}encoder", common),
        make("decoder", f"{at}decoder", common),
    )
    own = common or (f"{at}decoder.{table}.weight" if tied else "")
    spans = linear("qa_outputs", size(c, "hidden_size"), 2, True, role="logits")
    heads: dict[str, tuple[Block, ...]] = {
        "model": (),
        "seq_to_seq_causal_lm": (
            *((weight("final_logits_bias", 1, words, parameter=False),) if logits_bias else ()),
            _logits(c, words, own),
        ),
        "sequence_classification": (head("sequence_classification", dense_classifier(c, "classification_head")),),
        "question_answering": (head("question_answering", spans),),
    }
    found = heads.get(c.task)
    reason = "" if found is not None else f"the head of {c.model_class or 'this class'} is not known"
    return _whole(*present(*both), *(found or ()), partial=reason)


def _logits(c: Config, words: int, tied_to: str) -> Block:
    fields = ("tie_word_embeddings", "vocab_size", "d_model")
    matrix = linear("lm_head", size(c, "hidden_size"), words, role="logits", tied_to=tied_to, fields=fields)
    return head("causal_lm" if c.task == "causal_lm" else "seq_to_seq_causal_lm", matrix)


def _whole(*parts: Block, partial: str = "") -> Architecture:
    return Architecture(
        parts=parts, partial=partial, tied=tuple(pair for part in parts for pair in tied_names(part, ""))
    )
