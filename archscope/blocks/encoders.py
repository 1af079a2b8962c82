"""Encoders over summed tables: dense projections, plain feed-forward blocks, norms before or after."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import partial

from archscope.blocks.assembly import Sublayer, Tower, post_add_norm, pre_norm, stack
from archscope.blocks.attention import Attention, Position
from archscope.blocks.base import Block, present, weight
from archscope.blocks.factories import attention, mlp, size
from archscope.blocks.leaves import embedding, layer_norm, linear
from archscope.blocks.mlp import Mlp
from archscope.blocks.skeletons import LayerBuilder
from archscope.config import Config

AFTER_ADD = ("attention.output.LayerNorm", "crossattention.output.LayerNorm", "output.LayerNorm")
"""Usual names of the norms of a layer: self-attention's, cross-attention's, the feed-forward block's."""

WITHOUT_POOLER = ("causal_lm", "masked_lm", "token_classification", "question_answering")
"""Tasks that read the hidden states of all tokens; most classes for them leave the pooler out."""

Attend = Callable[..., Block]


def summed_tables(
    c: Config,
    *,
    width: int | None = None,
    positions: int | None = None,
    segments: bool = True,
    more: Sequence[Block] = (),
    norm: str = "LayerNorm",
    name: str = "embeddings",
    token_scale: float | None = None,
) -> tuple[Block, ...]:
    """Tables of tokens, positions (`positions` rows; 0 for no table) and segments, summed, then a norm ("" for none).

    `more` are further tables of the sum, named in full.
    """
    d = size(c, "hidden_size") if width is None else width
    rows = size(c, "max_position_embeddings") if positions is None else positions
    tokens = embedding(
        f"{name}.word_embeddings",
        size(c, "vocab_size"),
        d,
        role="embedding",
        scale=token_scale,
        fields=("vocab_size", "hidden_size"),
    )
    return present(
        tokens,
        embedding(f"{name}.position_embeddings", rows, d, of="position", role="embedding") if rows else None,
        embedding(f"{name}.token_type_embeddings", c.type_vocab_size, d, of="segment", role="embedding")
        if segments
        else None,
        *more,
        layer_norm(f"{name}.{norm}", d, eps=c.get("layer_norm_eps")) if norm else None,
    )


def dense_attention(
    c: Config,
    name: str = "attention",
    *,
    cross: bool = False,
    names: tuple[str, str, str, str] = ("self.query", "self.key", "self.value", "output.dense"),
    bias: bool = True,
    position: Position = "learned",
    extras: tuple[Block, ...] = (),
    window: int | None = None,
    hidden: int | None = None,
    num_heads: int | None = None,
) -> Attention:
    """Multi-head attention with biases: self-attention that is causal in a decoder, or cross-attention.

    The output matrix is hidden by hidden, whatever the heads add up to: the structure's edges show where they do not.
    """
    d = size(c, "hidden_size") if hidden is None else hidden
    heads = c.num_attention_heads if num_heads is None else num_heads
    causal = bool(c.get("is_decoder")) and not cross
    made = attention(
        c,
        name=name,
        names=names,
        bias=bias,
        causal=causal,
        cache=causal or cross,
        position="none" if cross else position,
        memory=d if cross else None,
        hidden=d,
        num_heads=heads,
        num_kv_heads=heads,
        head_dim=d // heads,
        extras=extras,
        window=window,
        fields=("num_attention_heads", "hidden_size"),
    )
    return replace(made, parts=(*made.parts[:-1], linear(names[3], d, d, True, role="o", fields=made.fields)))


def dense_mlp(c: Config, *, hidden: int | None = None, activation: str | None = None) -> Mlp:
    """The feed-forward block whose two matrices are modules of the layer itself."""
    names = ("intermediate.dense", "output.dense")
    return mlp(c, kind="plain", name="", names=names, bias=True, role="ffn", hidden=hidden, activation=activation)


def dense_layer(
    c: Config,
    *,
    norms: tuple[str, str, str] = AFTER_ADD,
    pre: bool = False,
    attend: Attend = dense_attention,
    feed_forward: Block | None = None,
    norm: Callable[[str, int], Block] | None = None,
    cross: bool | None = None,
) -> tuple[Sublayer, ...]:
    """Self-attention, cross-attention where add_cross_attention is true, feed-forward block; norms first where `pre`.

    `attend` makes an attention from the config, a name and `cross`; `norm` makes a norm from a name and a width.
    `cross` decides on cross-attention where the class does not read add_cross_attention.
    """
    d = size(c, "hidden_size")
    bodies = [(attend(c, "attention"), norms[0])]
    if c.get("add_cross_attention") if cross is None else cross:
        bodies.append((attend(c, "crossattention", cross=True), norms[1]))
    bodies.append((dense_mlp(c) if feed_forward is None else feed_forward, norms[2]))
    pairs = [
        (body, layer_norm(name, d, eps=c.get("layer_norm_eps")) if norm is None else norm(name, d))
        for body, name in bodies
    ]
    return pre_norm(*((after, body) for body, after in pairs)) if pre else post_add_norm(*pairs)


def encoder(
    c: Config,
    before: Sequence[Block],
    layer: LayerBuilder,
    *,
    kinds: Sequence[Hashable] | None = None,
    layers: str = "encoder.layer",
    after: Sequence[Block | None] = (),
) -> Tower:
    """Tables and what else stands before the layers, layers, what stands after them (norm, pooler).

    A config with is_decoder gives a decoder of text.
    """
    d = size(c, "hidden_size")
    layered = stack(layers, ("",) * c.num_hidden_layers if kinds is None else kinds, layer, width=d)
    return Tower(
        parts=present(*before, layered, *after),
        tower="text" if c.get("is_decoder") else "encoder",
        model_type=c.model_type,
        pointer=c.pointer,
        width=d,
    )


def pooler(c: Config, *, name: str = "pooler.dense", without: Sequence[str] = WITHOUT_POOLER) -> Block | None:
    """A dense layer over the first token's state; beside the flow where the head skips it, none in classes without."""
    if c.task in without:
        return None
    d = size(c, "hidden_size")
    return linear(name, d, d, True, role="side pooler" if c.task in WITHOUT_POOLER else "pooler")


def projected(c: Config, width: int, name: str = "embeddings_project", *, always: bool = False) -> Block | None:
    """The matrix from tables of another width to the hidden size; none where they are equal, unless `always`."""
    d = size(c, "hidden_size")
    return linear(name, width, d, True, role="projection") if always or width != d else None


def position_typed_encoder(
    c: Config, *after: Block | None, norm: Callable[[str, int], Block] | None = None, frequencies: str = ""
) -> Tower:
    """A pre-norm encoder whose position_embedding_type says how positions are given: a table, rotary, or not at all.

    `frequencies` is the name of a saved buffer of rotary frequencies, "" for none.
    Source: transformers, models/esm/modeling_esm.py (EsmEncoder).
    """
    d, kind = size(c, "hidden_size"), c.get("position_embedding_type", "absolute")
    names = ("attention.LayerNorm", "crossattention.LayerNorm", "LayerNorm")
    attend = partial(dense_attention, position="rope" if kind == "rotary" else "learned")
    tables = summed_tables(
        c,
        positions=None if kind == "absolute" else 0,
        segments=False,
        norm="layer_norm" if c.emb_layer_norm_before else "",
    )
    half = (c.get("head_dim") or d // c.num_attention_heads) + 1 >> 1
    last = (
        layer_norm("encoder.emb_layer_norm_after", d, eps=c.layer_norm_eps),
        *after,
        weight(frequencies, half, parameter=False, role="side buffer") if frequencies else None,
    )
    return encoder(c, tables, lambda k: dense_layer(c, norms=names, pre=True, attend=attend, norm=norm), after=last)
