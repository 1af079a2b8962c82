"""FlauBERT: XLM's encoder, saved as lists of attentions, norms and feed-forward blocks side by side."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, StripedStack, Sublayer, Tower, post_add_norm, pre_norm, stack
from archscope.blocks.base import Block, group, present
from archscope.blocks.encoder_heads import Heads, label_heads, summary
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
    d = size(c, "hidden_size")
    if not c.is_encoder:
        raise ValueError("is_encoder is false: transformers has no such FlauBERT")
    tables = (
        embedding("embeddings", size(c, "vocab_size"), d, role="embedding", fields=("n_words", "emb_dim")),
        embedding("position_embeddings", size(c, "max_position_embeddings"), d, of="position", role="embedding"),
        embedding("lang_embeddings", c.n_langs, d, of="language", role="embedding")
        if c.n_langs > 1 and c.use_lang_emb
        else None,
        layer_norm("layer_norm_emb", d, eps=c.layer_norm_eps),
    )
    layered = stack("", ("",) * c.num_hidden_layers, lambda kind: _layer(c), width=d)
    striped = StripedStack(role="layers", layers=layered.layers, order=layered.order)
    tower = Tower(parts=present(*tables, striped), tower="encoder", model_type=c.model_type, pointer=c.pointer, width=d)
    return with_head(c, tower, prefix="transformer", heads=_heads(c))


def _layer(c: Config) -> tuple[Sublayer, ...]:
    d = size(c, "hidden_size")
    names = ("q_lin", "k_lin", "v_lin", "out_lin")
    activation = "gelu" if c.gelu_activation else "relu"
    width = Size(4 * d, "4·d")
    attention = square_attention(d, c.num_attention_heads, name="attentions", names=names, causal=bool(c.causal))
    ffn = mlp(c, name="ffns", kind="plain", names=("lin1", "lin2"), bias=True, width=width, activation=activation)
    first, second = (layer_norm(name, d, eps=c.layer_norm_eps) for name in ("layer_norm1", "layer_norm2"))
    if c.get("pre_norm"):
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
    if not c.asm:
        heads["masked_lm"] = (head("masked_lm", words),)
    if c.model_class == "FlaubertForQuestionAnswering":
        heads[""] = tuple(head("question_answering", part) for part in _beam_spans(c))
    return heads


def _beam_spans(c: Config) -> tuple[Block, ...]:
    """Start of a span, end given the start, and whether there is an answer."""
    d = size(c, "hidden_size")
    return (
        linear("qa_outputs.start_logits.dense", d, 1, True, role="logits"),
        group(
            "qa_outputs.end_logits",
            linear("dense_0", 2 * d, d, True),
            layer_norm("LayerNorm", d, eps=c.layer_norm_eps),
            linear("dense_1", d, 1, True, role="logits"),
        ),
        group("qa_outputs.answer_class", linear("dense_0", 2 * d, d, True), linear("dense_1", d, 1, role="logits")),
    )
