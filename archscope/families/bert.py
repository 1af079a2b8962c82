"""BERT: summed embeddings, norms after the add, encoders with a pooler and many heads."""

from __future__ import annotations

from dataclasses import replace

from archscope.blocks.assembly import Architecture, Sublayer, Tower, post_add_norm
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, weight
from archscope.blocks.factories import attention, mlp, size
from archscope.blocks.leaves import embedding, layer_norm, linear
from archscope.blocks.size import Size
from archscope.blocks.skeletons import decoder, head, with_head
from archscope.config import Config
from archscope.families.registry import family

WITHOUT_POOLER = ("causal_lm", "masked_lm", "token_classification", "question_answering")
"""Tasks whose class leaves the pooler out (add_pooling_layer=False)."""


@family("bert")
def bert(c: Config) -> Architecture:
    """Post-norm encoder over token, position and segment embeddings; with cross-attention as a decoder.

    Source: transformers, models/bert/modeling_bert.py.
    """
    d = size(c, "hidden_size")

    def layer(kind: object) -> tuple[Sublayer, ...]:
        ffn = mlp(c, kind="plain", name="", names=("intermediate.dense", "output.dense"), bias=True)
        own = (_attention(c, "attention", "self"), layer_norm("attention.output.LayerNorm", d))
        cross = (_attention(c, "crossattention", "self"), layer_norm("crossattention.output.LayerNorm", d))
        last = (ffn, layer_norm("output.LayerNorm", d))
        return post_add_norm(own, cross, last) if c.get("add_cross_attention") else post_add_norm(own, last)

    tower = decoder(
        c,
        layer,
        kinds=("",) * c.num_hidden_layers,
        embed="embeddings.word_embeddings",
        before=(
            embedding(
                "embeddings.position_embeddings", size(c, "max_position_embeddings"), d, of="position", role="embedding"
            ),
            embedding("embeddings.token_type_embeddings", c.type_vocab_size, d, of="segment", role="embedding"),
            layer_norm("embeddings.LayerNorm", d),
        ),
        layers="encoder.layer",
        after=() if c.task in WITHOUT_POOLER else (linear("pooler.dense", d, d, True, role="pooler"),),
        tower="text" if c.get("is_decoder") else "encoder",
    )
    return with_head(c, tower, prefix="bert", heads=_heads(c, tower))


def _attention(c: Config, name: str, inner: str) -> Attention:
    names = (f"{inner}.query", f"{inner}.key", f"{inner}.value", "output.dense")
    d = size(c, "hidden_size")
    width = d // c.num_attention_heads
    memory = d if name.startswith("cross") else None
    causal = bool(c.get("is_decoder")) and memory is None
    made = attention(
        c,
        name=name,
        names=names,
        bias=True,
        causal=causal,
        cache=causal or (memory is not None),
        position="learned",
        memory=memory,
        num_kv_heads=c.num_attention_heads,
        head_dim=width,
    )
    # The output matrix is hidden by hidden, whatever the heads add up to: the structure's edges show where they do not.
    out = linear("output.dense", d, d, True, role="o", fields=made.fields)
    return replace(made, parts=(*made.parts[:-1], out))


def _heads(c: Config, tower: Tower) -> dict[str, tuple[Block, ...]]:
    d, vocabulary = tower.width, size(c, "vocab_size")
    labels = Size(c.get("num_labels", 2), "labels")
    table = "bert.embeddings.word_embeddings.weight"
    tied = bool(c.get("tie_word_embeddings"))
    predictions = (
        linear("cls.predictions.transform.dense", d, d, True),
        layer_norm("cls.predictions.transform.LayerNorm", d),
        weight("cls.predictions.bias", vocabulary),
        linear("cls.predictions.decoder", d, vocabulary, not tied, role="logits", tied_to=table if tied else ""),
    )
    pair = linear("cls.seq_relationship", d, 2, True)
    classes = linear("classifier", d, labels, True, role="logits")
    return {
        "causal_lm": (head("causal_lm", *predictions),),
        "masked_lm": (head("masked_lm", *predictions),),
        "pretraining": (head("pretraining", *predictions, pair),),
        "next_sentence_prediction": (head("next_sentence_prediction", pair),),
        "sequence_classification": (head("sequence_classification", classes),),
        "token_classification": (head("token_classification", classes),),
        "multiple_choice": (head("multiple_choice", linear("classifier", d, 1, True, role="logits")),),
        "question_answering": (head("question_answering", linear("qa_outputs", d, labels, True, role="logits")),),
    }
