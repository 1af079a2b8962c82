"""XLM and FlauBERT: an encoder saved as lists of attentions, norms and feed-forward blocks side by side."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, StripedStack, Sublayer, Tower, post_add_norm, pre_norm, stack
from archscope.blocks.base import Block, group, present
from archscope.blocks.encoder_heads import Heads, beam_spans, label_heads, summary
from archscope.blocks.factories import mlp, num_labels, size
from archscope.blocks.leaves import embedding, layer_norm, linear
from archscope.blocks.size import Size
from archscope.blocks.skeletons import head, with_head
from archscope.blocks.towers import square_attention
from archscope.config import Config
from archscope.families.registry import family


@family("flaubert")
def flaubert(c: Config) -> Architecture:
    """Norms before or after by pre_norm; a table of languages where there are several; twice the usual kinds of heads.

    Source: transformers, models/flaubert/modeling_flaubert.py.
    """
    return _encoder(c, bool(c.get("pre_norm")))


@family("xlm")
def xlm(c: Config) -> Architecture:
    """Norms after the add; an adaptive softmax over the vocabulary where asm is true.

    Source: transformers, models/xlm/modeling_xlm.py (XLMModel, XLMPredLayer).
    """
    return _encoder(c, False)


def _encoder(c: Config, norm_first: bool) -> Architecture:
    d = size(c, "hidden_size")
    if not c.is_encoder:
        raise ValueError("is_encoder is false: transformers has no such model")
    tables = (
        embedding("embeddings", size(c, "vocab_size"), d, role="embedding", fields=("n_words", "emb_dim")),
        embedding("position_embeddings", size(c, "max_position_embeddings"), d, of="position", role="embedding"),
        embedding("lang_embeddings", c.n_langs, d, of="language", role="embedding")
        if c.n_langs > 1 and c.use_lang_emb
        else None,
        layer_norm("layer_norm_emb", d, eps=c.layer_norm_eps),
    )
    layered = stack("", ("",) * c.num_hidden_layers, lambda kind: _layer(c, norm_first), width=d)
    striped = StripedStack(role="layers", layers=layered.layers, order=layered.order)
    tower = Tower(parts=present(*tables, striped), tower="encoder", model_type=c.model_type, pointer=c.pointer, width=d)
    return with_head(c, tower, prefix="transformer", heads=_heads(c))


def _layer(c: Config, norm_first: bool) -> tuple[Sublayer, ...]:
    d = size(c, "hidden_size")
    names = ("q_lin", "k_lin", "v_lin", "out_lin")
    activation = "gelu" if c.gelu_activation else "relu"
    width = Size(4 * d, "4·d")
    attention = square_attention(d, c.num_attention_heads, name="attentions", names=names, causal=bool(c.causal))
    ffn = mlp(c, name="ffns", kind="plain", names=("lin1", "lin2"), bias=True, width=width, activation=activation)
    first, second = (layer_norm(name, d, eps=c.layer_norm_eps) for name in ("layer_norm1", "layer_norm2"))
    if norm_first:
        return pre_norm((first, attention), (second, ffn))
    return post_add_norm((attention, first), (ffn, second))


def _heads(c: Config) -> Heads:
    d, tied = size(c, "hidden_size"), bool(c.tie_word_embeddings)
    table = "transformer.embeddings.weight" if tied else ""
    words = linear("pred_layer.proj", d, size(c, "vocab_size"), True, role="logits", tied_to=table)
    choice = linear("logits_proj", num_labels(c), 1, True, role="logits")
    heads: Heads = {
        **label_heads(c),
        "sequence_classification": (head("sequence_classification", *present(summary(c))),),
        "multiple_choice": (head("multiple_choice", *present(summary(c), choice)),),
    }
    if c.task in ("masked_lm", "causal_lm"):
        heads[c.task] = (head(c.task, *_adaptive(c)),) if c.asm else (head(c.task, words),)
    if c.model_class in ("FlaubertForQuestionAnswering", "XLMForQuestionAnswering"):
        heads[""] = tuple(head("question_answering", part) for part in beam_spans(c, "qa_outputs."))
    return heads


def _adaptive(c: Config) -> tuple[Block, ...]:
    """Frequent words in one matrix, the others in clusters of falling rank (torch's AdaptiveLogSoftmaxWithLoss)."""
    d, cutoffs = size(c, "hidden_size"), [*c.asm_cutoffs, c.vocab_size]
    clusters = tuple(
        group(f"pred_layer.proj.tail.{i}", linear("0", d, rank), linear("1", rank, cutoffs[i + 1] - cutoffs[i]))
        for i in range(len(cutoffs) - 1)
        for rank in (int(d // c.asm_div_value ** (i + 1)),)
    )
    return (linear("pred_layer.proj.head", d, cutoffs[0] + len(clusters), True, role="logits"), *clusters)
