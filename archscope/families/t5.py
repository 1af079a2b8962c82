"""T5: an encoder and a decoder with buckets of relative positions, and one table of tokens for both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from archscope.blocks.assembly import Architecture, Sublayer, Tower, pre_norm, stack
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, present, weight
from archscope.blocks.encoder_heads import dense_classifier
from archscope.blocks.factories import attention, mlp, num_labels, size
from archscope.blocks.labelled_experts import labelled_moe
from archscope.blocks.leaves import conv, embedding, linear, rms_norm
from archscope.blocks.mlp import Mlp
from archscope.blocks.patches import sides
from archscope.blocks.size import Size
from archscope.blocks.skeletons import head, tied_names
from archscope.config import Config
from archscope.families.registry import family

Layer = Callable[[Any, bool], tuple[Sublayer, ...]]
"""From the kind of a layer and whether it decodes, its sublayers."""
Kinds = Callable[[int, bool], list[Any]]
"""From a number of layers and whether they decode, the kind of each."""


@family("t5", "mt5")
def t5(c: Config) -> Architecture:
    """The first layer of each side holds the buckets of relative positions, which all layers use.

    Source: transformers, models/t5/modeling_t5.py, models/mt5/modeling_mt5.py.
    """
    return _model(c, partial(_layer, c), _first)


@family("umt5")
def umt5(c: Config) -> Architecture:
    """T5 with buckets of relative positions in every layer.

    Source: transformers, models/umt5/modeling_umt5.py.
    """
    return _model(c, partial(_layer, c), lambda count, decodes: [True] * count)


@family("longt5")
def longt5(c: Config) -> Architecture:
    """T5 whose encoder sees local_radius positions either way, and block means where it is transient-global.

    Source: transformers, models/longt5/modeling_longt5.py.
    """

    def layer(first: Any, decodes: bool) -> tuple[Sublayer, ...]:
        return _layer(c, first, decodes, own=None if decodes else _local_attention(c, first))

    return _model(c, layer, _first)


@family("switch_transformers")
def switch_transformers(c: Config) -> Architecture:
    """T5 with experts in every n-th layer, one of them for a token.

    Source: transformers, models/switch_transformers/modeling_switch_transformers.py.
    """

    def kinds(count: int, decodes: bool) -> list[Any]:
        step = c.decoder_sparse_step if decodes else c.encoder_sparse_step
        sparse = [step == 1 or (step > 0 and i % step == 1) for i in range(count)]
        return list(zip(_first(count, decodes), sparse, strict=True))

    def layer(kind: Any, decodes: bool) -> tuple[Sublayer, ...]:
        first, sparse = kind
        return _layer(c, first, decodes, feed_forward=_experts(c) if sparse else _plain(c, "mlp"))

    # A stack that decodes takes the decoder's number of layers, whatever stands around it.
    return _model(c, layer, kinds, decoding=c.num_decoder_layers)


@family("pop2piano")
def pop2piano(c: Config) -> Architecture:
    """T5 from mel frames to notes; a table of composers goes before the frames, the head is never tied.

    Source: transformers, models/pop2piano/modeling_pop2piano.py.
    """
    d = size(c, "hidden_size")
    side, table = partial(_side, c, partial(_layer, c), _first), "shared.weight" if c.tie_word_embeddings else ""
    parts = (
        embedding("shared", size(c, "vocab_size"), d, role="embedding", fields=("vocab_size", "d_model")),
        embedding("mel_conditioner.embedding", c.composer_vocab_size, d, of="composer"),
        side("encoder", table, c.num_layers, False),
        side("decoder", table, c.num_decoder_layers, True),
        head("speech_seq_2_seq", linear("lm_head", d, size(c, "vocab_size"), role="logits")),
    )
    known = c.model_class == "Pop2PianoForConditionalGeneration"
    return _whole(parts, "" if known else f"what {c.model_class} builds is not known")


@family("udop")
def udop(c: Config) -> Architecture:
    """T5 over words, their boxes and the patches of the page; relative positions along three directions.

    Source: UDOP (arXiv 2212.02623); transformers, models/udop/modeling_udop.py.
    """
    d, tied = size(c, "hidden_size"), bool(c.tie_word_embeddings)
    base = c.task == "model"
    shared = (
        embedding("shared", size(c, "vocab_size"), d, role="embedding", fields=("vocab_size", "d_model")),
        conv("patch_embed.proj", c.num_channels, d, *sides(c.patch_size)),
    )
    encoder = _page_side(c, "encoder", c.num_layers, False, tied=tied, buckets=tied and not base)
    if c.model_class == "UdopEncoderModel":
        return _whole((*shared, encoder))
    decoder = _page_side(c, "decoder", c.num_decoder_layers, True, tied=tied, buckets=tied and not base)
    if base:
        return _whole((*shared, encoder, decoder))
    logits = linear("lm_head", d, size(c, "vocab_size"), role="logits", tied_to="shared.weight" if tied else "")
    known = c.model_class == "UdopForConditionalGeneration"
    partial_reason = "" if known else f"what {c.model_class} builds is not known"
    return _whole((*shared, encoder, decoder, head(c.task, logits)), partial_reason)


def _page_side(c: Config, name: str, count: int, decodes: bool, *, tied: bool, buckets: bool) -> Tower:
    """T5's side with patches, boxes in the encoder, and a table for each direction.

    `buckets` says whether the first of these is that of the encoder's first layer. The patches of the encoder are the
    shared ones where `tied`.
    """
    d, heads = size(c, "hidden_size"), size(c, "num_attention_heads")
    made = _side(c, partial(_layer, c), _first, name, "shared.weight" if tied else "", count, decodes)
    tables = [
        embedding(
            f"relative_bias.biases.{index}.relative_attention_bias",
            own.get("relative_attention_num_buckets", 32)
            + (2 if own.get("prefix_bucket") and not own.get("expand") else 0),
            heads,
            of="relative position",
            role="side positions",
        )
        for index, own in enumerate(c.relative_bias_args)
        if not (buckets and index == 0)
    ]
    patches = None
    if decodes or not tied:
        patches = conv("embed_patches.proj", c.num_channels, d, *sides(c.patch_size), role="side patches")
    boxes = [
        embedding(f"cell_2d_embedding.{axis}_position_embeddings", c.max_2d_position_embeddings, d, role="side boxes")
        for axis in "xy"
        if not decodes
    ]
    return replace(made, parts=present(*made.parts[:1], patches, *boxes, *tables, *made.parts[1:]))


def _first(count: int, decodes: bool) -> list[Any]:
    return [True] * min(count, 1) + [False] * (count - 1)


def _model(c: Config, layer: Layer, kinds: Kinds, *, decoding: int | None = None) -> Architecture:
    """Both sides, the encoder alone, or either with a head, by the class.

    A class of the encoder alone takes is_decoder as the config has it, with `decoding` layers or as many as ever.
    """
    d, tied, decodes = size(c, "hidden_size"), bool(c.tie_word_embeddings), bool(c.get("is_decoder"))
    side = partial(_side, c, layer, kinds)
    count = c.num_layers if decoding is None or not decodes else decoding
    wrapped = c.task in ("sequence_classification", "token_classification")
    at = "transformer." if wrapped else ""
    table = f"{at}shared.weight" if tied else ""
    encoder_only = c.task in ("token_classification", "text_encoding") or c.model_class.endswith("EncoderModel")
    towers = (
        embedding(f"{at}shared", size(c, "vocab_size"), d, role="embedding", fields=("vocab_size", "d_model")),
        side(f"{at}encoder", table, count if encoder_only else c.num_layers, decodes and encoder_only),
        None if encoder_only else side(f"{at}decoder", table, c.num_decoder_layers, True),
    )
    logits = linear("lm_head", d, size(c, "vocab_size"), role="logits", tied_to=table)
    heads: dict[str, Block | None] = {
        "model": None,
        "text_encoding": None,
        "seq_to_seq_causal_lm": logits,
        "question_answering": linear("qa_outputs", d, num_labels(c), True, role="logits"),
        "sequence_classification": dense_classifier(c, "classification_head"),
        "token_classification": linear("classifier", d, num_labels(c), True, role="logits"),
    }
    known = c.task in heads or encoder_only
    last = heads.get(c.task)
    parts = present(*towers, head(c.task, last) if last else None)
    return _whole(parts, "" if known else f"the head of {c.model_class or 'this class'} is not known")


def _side(c: Config, layer: Layer, kinds: Kinds, name: str, tied_to: str, count: int, decodes: bool) -> Tower:
    """Layers, then a norm; the token table is the shared one where they are tied."""
    d = size(c, "hidden_size")
    table = embedding("embed_tokens", size(c, "vocab_size"), d, role="embedding", tied_to=tied_to)
    layers = stack("block", kinds(count, decodes), lambda kind: layer(kind, decodes), width=d)
    return Tower(
        name=name,
        parts=(table, layers, rms_norm("final_layer_norm", d, eps=c.layer_norm_epsilon)),
        tower="decoder" if decodes else "encoder",
        model_type=c.model_type,
        pointer=c.pointer,
        width=d,
    )


def _layer(
    c: Config, first: Any, decodes: bool, *, own: Attention | None = None, feed_forward: Block | None = None
) -> tuple[Sublayer, ...]:
    """Self-attention, in the decoder cross-attention, feed-forward block; each numbered, with a norm before it."""
    d = size(c, "hidden_size")
    last = 2 if decodes else 1
    bodies = present(
        own or _attention(c, "layer.0.SelfAttention", bool(first), decodes),
        _attention(c, "layer.1.EncDecAttention", False, decodes, d) if decodes else None,
        feed_forward or _feed_forward(c),
    )
    ffn = replace(bodies[-1], name=f"layer.{last}.{bodies[-1].name}")
    numbered = (*bodies[:-1], ffn)
    norms = [rms_norm(f"layer.{i}.layer_norm", d, eps=c.layer_norm_epsilon) for i in range(last + 1)]
    return pre_norm(*zip(norms, numbered, strict=True))


def _attention(c: Config, name: str, first: bool, decodes: bool, memory: int | None = None) -> Attention:
    """Attention without scaling; the first layer's buckets count for all."""
    return attention(
        c,
        name=name,
        names=("q", "k", "v", "o"),
        num_kv_heads=c.num_attention_heads,
        head_dim=c.d_kv,
        extras=(_buckets(c, "relative_attention_bias"),) if first else (),
        causal=decodes and memory is None,
        cache=decodes,
        position="none" if memory else "relative",
        memory=memory,
        scale=1.0,
        fields=("num_heads", "d_kv", "d_model"),
    )


def _buckets(c: Config, name: str) -> Block:
    return weight(f"{name}.weight", c.relative_attention_num_buckets, size(c, "num_attention_heads"), role="bias")


def _local_attention(c: Config, first: bool) -> Attention:
    """A window of 2 x local_radius + 1 positions; transient-global attention adds a mean per block to them."""
    transient = c.encoder_attention_type == "transient-global"
    if not transient and c.encoder_attention_type != "local":
        raise ValueError(f"encoder_attention_type is {c.encoder_attention_type!r}: neither local nor transient-global")
    made = _attention(c, f"layer.0.{'TransientGlobal' if transient else 'Local'}SelfAttention", first, False)
    extras: tuple[Block, ...] = ()
    if transient:
        beside = (_buckets(c, "global_relative_attention_bias"),) if first else ()
        extras = (*beside, rms_norm("global_input_layer_norm", size(c, "hidden_size"), role="global norm"))
    return replace(made, window=2 * c.local_radius + 1, parts=(*made.parts[:-1], *extras, made.parts[-1]))


def _feed_forward(c: Config) -> Mlp:
    """Plain, or gated where feed_forward_proj says so."""
    if not c.is_gated_act:
        return _plain(c, "DenseReluDense")
    names = ("wi_0", "wi_1", "wo")
    return mlp(c, name="DenseReluDense", names=names, width=Size(c.d_ff, "m"), activation=c.dense_act_fn)


def _plain(c: Config, name: str) -> Mlp:
    return mlp(
        c, name=name, kind="plain", names=("wi", "wo"), width=Size(c.d_ff, "m"), activation=c.dense_act_fn, bias=False
    )


def _experts(c: Config) -> Block:
    fields = ("num_experts", "d_ff", "encoder_sparse_step", "decoder_sparse_step")
    return labelled_moe(
        "mlp", _plain(c, ""), num_experts=c.num_experts, top_k=1, router_bias=c.router_bias, fields=fields
    )


def _whole(parts: tuple[Block, ...], partial: str = "") -> Architecture:
    return Architecture(
        parts=parts, partial=partial, tied=tuple(pair for part in parts for pair in tied_names(part, ""))
    )
