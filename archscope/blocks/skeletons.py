"""Whole models from their layers: the decoder skeleton, and the heads that a class puts on a tower."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from archscope.blocks.assembly import Architecture, Branch, Head, Layer, Sublayer, Tower, TowerRole, stack
from archscope.blocks.base import Block, Weight, present
from archscope.blocks.factories import kinds as kinds_of
from archscope.blocks.factories import named_norm, num_labels, size
from archscope.blocks.leaves import Linear, Norm, embedding, linear
from archscope.config import Config

LayerBuilder = Callable[[Any], "tuple[Sublayer, ...] | Layer"]
NO_HEADS: Mapping[str, tuple[Block, ...]] = MappingProxyType({})
GENERATIVE_TASKS = ("causal_lm", "image_text_to_text", "multimodal_lm", "seq_to_seq_causal_lm", "speech_seq_2_seq")
LABEL_TASKS = ("sequence_classification", "token_classification", "question_answering")
NO_PREFIXES: Mapping[str, str] = MappingProxyType({})
QA_PREFIX: Mapping[str, str] = MappingProxyType({"question_answering": "transformer"})
"""Where a question-answering class holds the tower under another name than its relatives do (base_model_prefix)."""


def decoder(
    c: Config,
    layer: LayerBuilder,
    *,
    kinds: Sequence[Hashable] | None = None,
    final_norm: Norm | None = None,
    embed: str = "embed_tokens",
    embed_scale: float | None = None,
    layers: str = "layers",
    before: Sequence[Block] = (),
    after: Sequence[Block] = (),
    tower: TowerRole = "text",
    width: int | None = None,
    vocabulary: int | None = None,
) -> Tower:
    """Token embedding, numbered layers, final norm.

    `kinds` tells layers apart (default: layer_types where the config has them); equal kinds are built once. `before` are
    further blocks between embedding and layers (position tables with role "embedding" are summed with the tokens), `after`
    those between the final norm and the head. `vocabulary` is the number of tokens where it is not vocab_size.
    """
    d = size(c, "hidden_size") if width is None else width
    rows = size(c, "vocab_size") if vocabulary is None else vocabulary
    table = embedding(embed, rows, d, role="embedding", scale=embed_scale, fields=("vocab_size", "hidden_size"))
    layered = stack(layers, kinds_of(c, "layer_types") if kinds is None else kinds, layer, width=d)
    parts = present(table, *before, layered, final_norm, *after)
    return Tower(parts=parts, tower=tower, model_type=c.model_type, pointer=c.pointer, width=d)


def pre_norm_decoder(
    c: Config,
    mixer: Callable[[Any], Block],
    feed_forward: Callable[[Any], Block],
    *,
    norm: Callable[[str], Norm] | None = None,
    norms: tuple[str, str] = ("input_layernorm", "post_attention_layernorm"),
    final: str = "norm",
    scale: float | None = None,
    **options: Any,
) -> Tower:
    """Layers of x + mixer(norm(x)), then x + feed_forward(norm(x)); both makers get the kind of the layer.

    `norm` makes a norm of a name (RMSNorm by default); `final` names the last one; `scale` multiplies what is added to the
    residual stream; the options are those of `decoder`.
    """
    made = named_norm(c) if norm is None else norm

    def layer(kind: Hashable) -> tuple[Sublayer, ...]:
        bodies = (mixer(kind), feed_forward(kind))
        return tuple(
            Sublayer(branches=(Branch(pre=made(name), body=body, scale=scale),))
            for name, body in zip(norms, bodies, strict=True)
        )

    return decoder(c, layer, final_norm=made(final), **options)


def with_head(
    c: Config,
    tower: Tower,
    *,
    prefix: str = "model",
    lm_head: str = "lm_head",
    bias: bool = False,
    token_table: str = "embed_tokens",
    heads: Mapping[str, tuple[Block, ...]] = NO_HEADS,
    prefixes: Mapping[str, str] = NO_PREFIXES,
    beside: Sequence[Block] = (),
    extra: tuple[Block, ...] = (),
    tie: bool = True,
) -> Architecture:
    """The tower under the class that the config names.

    The base class has the tower's names bare; others put them under `prefix` (`prefixes` has exceptions by task) and add
    their head: `heads` by class name or task where a class has its own, else the usual one. A head over the vocabulary
    shares the token table where tie_word_embeddings is true, unless the class never ties them (`tie` is False). `beside`
    are parts of every class, named in full; `extra` are never built.
    """
    if c.task == "model":
        return Architecture(parts=(tower, *beside), extra=extra)
    at = prefixes.get(c.task, prefix)
    generates = c.task in GENERATIVE_TASKS
    own = heads.get(c.model_class, heads.get(c.task))
    known = own is not None or generates or c.task in LABEL_TASKS
    table = f"{at}.{token_table}.weight" if at else f"{token_table}.weight"
    tied: tuple[tuple[str, str], ...] = ()
    if own is not None:
        parts = own
    elif generates:
        tied_to = table if tie and c.get("tie_word_embeddings") else ""
        parts = (vocabulary_head(c, tower.width, lm_head, bias=bias, tied_to=tied_to),)
    else:
        parts = label_head(c, tower.width)
    for part in parts:
        tied += tied_names(part, "")
    partial = "" if known else f"the head of {c.model_class or 'this class'} is not known"
    return Architecture(parts=(replace(tower, name=at), *beside, *parts), tied=tied, extra=extra, partial=partial)


def composite(
    c: Config,
    text: Block,
    *beside: Block,
    text_config: Config,
    lm_head: str,
    token_table: str,
    extra: tuple[Block, ...] = (),
    heads: Mapping[str, tuple[Block, ...]] = NO_HEADS,
) -> Architecture:
    """A text tower with towers and projectors beside it, all named in full, and a head over the vocabulary.

    The base class has no head. The head shares `token_table` where tie_word_embeddings is true. `heads` has those of other
    classes, by class name or task.
    """
    own = heads.get(c.model_class, heads.get(c.task, ()))
    if c.task == "model" or own:
        return Architecture(parts=(*beside, text, *own), extra=extra)
    if c.task not in GENERATIVE_TASKS:
        reason = f"the head of {c.model_class or 'this class'} is not known"
        return Architecture(parts=(*beside, text), extra=extra, partial=reason)
    width = text.width if isinstance(text, Tower) else text_config.hidden_size
    tied_to = f"{token_table}.weight" if c.get("tie_word_embeddings") else ""
    head = vocabulary_head(text_config, width, lm_head, tied_to=tied_to)
    return Architecture(parts=(*beside, text, head), tied=tied_names(head, ""), extra=extra)


def vocabulary_head(
    c: Config,
    width: int,
    name: str = "lm_head",
    *,
    bias: bool = False,
    tied_to: str = "",
    vocabulary: int | None = None,
) -> Head:
    """Hidden states to logits over the vocabulary; the matrix is the token table where `tied_to` names it."""
    cap = c.get("final_logit_softcapping")
    matrix: Linear = linear(
        name,
        width,
        size(c, "vocab_size") if vocabulary is None else vocabulary,
        bias,
        role="logits",
        tied_to=tied_to,
        fields=("tie_word_embeddings", "vocab_size", "hidden_size"),
    )
    return Head(role="head", parts=(matrix,), task="causal_lm", softcap=cap if isinstance(cap, int | float) else None)


def head(task: str, *parts: Block, chained: bool = True) -> Head:
    """A head of its own for a task; `chained` is False where its parts answer side by side."""
    return Head(role="head", parts=parts, task=task, chained=chained)


def label_head(c: Config, width: int) -> tuple[Block, ...]:
    """The usual head over labels or spans, by the task of the class; none for a task that has no usual head.

    Source: transformers modeling_layers.py, GenericForSequenceClassification and its siblings.
    """
    labels = num_labels(c)
    heads: dict[str, Linear] = {
        "sequence_classification": linear("score", width, labels, role="logits"),
        "token_classification": linear("score", width, labels, c.get("token_classification_bias", True), role="logits"),
        "question_answering": linear("qa_outputs", width, 2, True, role="logits"),
    }
    found = heads.get(c.task)
    return () if found is None else (Head(role="head", parts=(found,), task=c.task),)


def tied_names(block: Block, prefix: str) -> tuple[tuple[str, str], ...]:
    """Pairs (name that is not saved, name that is) of everything tied in a subtree."""
    path = f"{prefix}.{block.name}" if prefix and block.name else prefix or block.name
    if block.tied_to:
        return ((path if isinstance(block, Weight) else f"{path}.weight", block.tied_to),)
    return tuple(pair for part in block.children() for pair in tied_names(part, path))
