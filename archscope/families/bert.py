"""BERT and the encoders that keep its layer: summed embeddings, norms after the add, a pooler and many heads."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from archscope.blocks.assembly import Architecture, Tower
from archscope.blocks.base import Block, group, present, weight
from archscope.blocks.encoder_heads import (
    label_heads,
    language_heads,
    masked_head,
    pair_heads,
)
from archscope.blocks.encoders import (
    dense_attention,
    dense_layer,
    encoder,
    pooler,
    projected,
    summed_tables,
)
from archscope.blocks.factories import size
from archscope.blocks.leaves import embedding, layer_norm, linear
from archscope.blocks.skeletons import head, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("bert")
def bert(c: Config) -> Architecture:
    """Post-norm encoder over token, position and segment embeddings; with cross-attention as a decoder.

    Source: transformers, models/bert/modeling_bert.py.
    """
    tower = encoder(c, summed_tables(c), lambda kind: dense_layer(c), after=(pooler(c),))
    return _with_heads(c, tower, "bert")


@family("ernie")
def ernie(c: Config) -> Architecture:
    """BERT with a table of task types where use_task_id is true.

    Source: transformers, models/ernie/modeling_ernie.py (ErnieEmbeddings).
    """
    tasks = _table(c, "task_type_embeddings", c.task_type_vocab_size, "task type") if c.use_task_id else None
    tower = encoder(c, summed_tables(c, more=present(tasks)), lambda kind: dense_layer(c), after=(pooler(c),))
    return _with_heads(c, tower, "ernie")


@family("megatron-bert")
def megatron_bert(c: Config) -> Architecture:
    """BERT with norms before the sublayers and one after the last layer, none over the embeddings.

    Source: transformers, models/megatron_bert/modeling_megatron_bert.py (MegatronBertLayer).
    """
    norms = ("attention.ln", "crossattention.ln", "ln")
    last = layer_norm("encoder.ln", size(c, "hidden_size"), eps=c.layer_norm_eps)
    tables = summed_tables(c, norm="")
    tower = encoder(c, tables, lambda kind: dense_layer(c, norms=norms, pre=True), after=(last, pooler(c)))
    return _with_heads(c, tower, "bert")


@family("roc_bert")
def roc_bert(c: Config) -> Architecture:
    """BERT with tables of pronunciations and glyph shapes, joined to the token by a matrix or added to it.

    Source: transformers, models/roc_bert/modeling_roc_bert.py (RoCBertEmbeddings makes both tables, used or not).
    """
    d = size(c, "hidden_size")
    sounds, shapes = c.pronunciation_embed_dim, c.shape_embed_dim
    joined = d + (sounds if c.enable_pronunciation else 0) + (shapes if c.enable_shape else 0)
    more: tuple[Block, ...] = (
        embedding(
            "embeddings.pronunciation_embed", c.pronunciation_vocab_size, sounds, of="pronunciation", role="side table"
        ),
        embedding("embeddings.shape_embed", c.shape_vocab_size, shapes, of="glyph shape", role="side table"),
    )
    if c.concat_input:
        more = (*more, linear("embeddings.map_inputs_layer", joined, d, True, role="side projection"))
    tower = encoder(c, summed_tables(c, more=more), lambda kind: dense_layer(c), after=(pooler(c),))
    words = masked_head(c, "roc_bert.embeddings.word_embeddings.weight")
    heads = label_heads(c) | language_heads(words, tasks=("causal_lm", "masked_lm", "pretraining"))
    return with_head(c, tower, prefix="roc_bert", heads=heads)


@family("rembert")
def rembert(c: Config) -> Architecture:
    """BERT with narrow input tables, a matrix to the hidden size, and an output table of its own width.

    Source: transformers, models/rembert/modeling_rembert.py (RemBertLMPredictionHead is never tied).
    """
    inner, outer = c.input_embedding_size, c.output_embedding_size
    entry = projected(c, inner, "encoder.embedding_hidden_mapping_in", always=True)
    before = present(*summed_tables(c, width=inner), entry)
    tower = encoder(c, before, lambda kind: dense_layer(c), after=(pooler(c),))
    words = group(
        "cls.predictions",
        linear("dense", size(c, "hidden_size"), outer, True),
        layer_norm("LayerNorm", outer, eps=c.layer_norm_eps),
        linear("decoder", outer, size(c, "vocab_size"), True, role="logits"),
    )
    return with_head(c, tower, prefix="rembert", heads=label_heads(c) | language_heads(words))


@family("bert-generation")
def bert_generation(c: Config) -> Architecture:
    """BERT as one side of an encoder-decoder: no segments, no pooler, a head that is only the table.

    Source: transformers, models/bert_generation/modeling_bert_generation.py.
    """
    d, vocabulary, tied = size(c, "hidden_size"), size(c, "vocab_size"), bool(c.tie_word_embeddings)
    tower = encoder(c, summed_tables(c, segments=False), lambda kind: dense_layer(c))
    table = "bert.embeddings.word_embeddings.weight" if tied else ""
    words = group(
        "lm_head",
        linear("decoder", d, vocabulary, not tied, role="logits", tied_to=table),
        weight("bias", vocabulary, role="bias"),
    )
    return with_head(c, tower, prefix="bert", heads=language_heads(words))


@family("layoutlm")
def layoutlm(c: Config) -> Architecture:
    """BERT with tables for the box of a word on its page: left, top, height, width.

    Source: transformers, models/layoutlm/modeling_layoutlm.py (LayoutLMEmbeddings); every class has the pooler.
    """
    names = ("x_position_embeddings", "y_position_embeddings", "h_position_embeddings", "w_position_embeddings")
    boxes = [_table(c, name, c.max_2d_position_embeddings, "place on the page") for name in names]
    tower = encoder(c, summed_tables(c, more=boxes), lambda kind: dense_layer(c), after=(pooler(c, without=()),))
    words = masked_head(c, "layoutlm.embeddings.word_embeddings.weight")
    labels = label_heads(c)
    heads = labels | language_heads(words) | {"document_question_answering": labels["question_answering"]}
    return with_head(c, tower, prefix="layoutlm", heads=heads)


@family("tapas")
def tapas(c: Config) -> Architecture:
    """BERT over tables: one segment table per kind of place in the table, heads that choose cells and aggregations.

    Source: transformers, models/tapas/modeling_tapas.py.
    """
    places = [
        _table(c, f"token_type_embeddings_{i}", n, "place in the table") for i, n in enumerate(c.type_vocab_sizes)
    ]
    tables = summed_tables(c, segments=False, more=places)
    tower = encoder(c, tables, lambda kind: dense_layer(c), after=(pooler(c, without=("masked_lm",)),))
    d, aggregations = size(c, "hidden_size"), c.num_aggregation_labels
    cells = (
        weight("output_weights", d),
        weight("column_output_weights", d),
        weight("output_bias"),
        weight("column_output_bias"),
        *((linear("aggregation_classifier", d, aggregations, True),) if aggregations > 0 else ()),
    )
    words = masked_head(c, "tapas.embeddings.word_embeddings.weight")
    heads = {
        **label_heads(c),
        **language_heads(words),
        "table_question_answering": (head("table_question_answering", *cells),),
    }
    return with_head(c, tower, prefix="tapas", heads=heads)


@family("big_bird")
def big_bird(c: Config) -> Architecture:
    """BERT whose attention sees a window of blocks, some random ones and the first and last one.

    Source: transformers, models/big_bird/modeling_big_bird.py; only BigBirdForQuestionAnswering has no pooler.
    """
    sparse = c.attention_type == "block_sparse" and not c.add_cross_attention
    seen = (5 + c.num_random_blocks) * c.block_size if sparse else None
    attend = partial(dense_attention, bias=c.use_bias, window=seen)
    last = pooler(c, name="pooler", without=("question_answering",))
    tower = encoder(c, summed_tables(c), lambda kind: dense_layer(c, attend=attend), after=(last,))
    d = size(c, "hidden_size")
    spans = group(
        "qa_classifier",
        linear("intermediate.dense", d, size(c, "intermediate_size"), True),
        linear("output.dense", size(c, "intermediate_size"), d, True),
        layer_norm("output.LayerNorm", d, eps=c.layer_norm_eps),
        linear("qa_outputs", d, 2, True, role="logits"),
    )
    words = masked_head(c, "bert.embeddings.word_embeddings.weight")
    heads = label_heads(c, dense=True) | language_heads(words) | pair_heads(c, words)
    return with_head(
        c, tower, prefix="bert", heads=heads | {"question_answering": (head("question_answering", spans),)}
    )


_DPR_PLACES = {
    "": "question_encoder",
    "DPRQuestionEncoder": "question_encoder",
    "DPRContextEncoder": "ctx_encoder",
    "DPRReader": "span_predictor.encoder",
}


@family("dpr")
def dpr(c: Config) -> Architecture:
    """BERT without pooler in the place that the class gives it, with a projection where projection_dim is not 0.

    Source: transformers, models/dpr/modeling_dpr.py (DPREncoder, DPRSpanPredictor).
    """
    d, out, cls = size(c, "hidden_size"), c.projection_dim, c.model_class
    at = _DPR_PLACES.get(cls, "question_encoder")
    base = encoder(c, summed_tables(c), lambda kind: dense_layer(c))
    projection = linear("encode_proj", d, out, True, role="projection") if out > 0 else None
    outputs = {"qa_outputs": 2, "qa_classifier": 1} if cls == "DPRReader" else {}
    spans = [
        linear(f"span_predictor.{name}", out if out > 0 else d, n, True, role="logits") for name, n in outputs.items()
    ]
    return Architecture(
        parts=present(
            replace(base, name=f"{at}.bert_model"),
            group(at, projection) if projection else None,
            *(head("question_answering", span) for span in spans),
        ),
        partial="" if cls in _DPR_PLACES else f"{cls} has no parameters of its own",
    )


def _table(c: Config, name: str, rows: int, of: str) -> Block:
    """One more table of the summed embeddings."""
    return embedding(f"embeddings.{name}", rows, size(c, "hidden_size"), of=of, role="embedding")


def _with_heads(c: Config, tower: Tower, prefix: str) -> Architecture:
    """The heads of BERT itself."""
    words = masked_head(c, f"{prefix}.embeddings.word_embeddings.weight")
    heads = label_heads(c) | language_heads(words) | pair_heads(c, words)
    return with_head(c, tower, prefix=prefix, heads=heads)
