"""RoBERTa and the encoders that keep its head: dense, norm and table, no pooler where labels are told apart."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from archscope.blocks.adapters import adapters
from archscope.blocks.assembly import Architecture, Branch, Layer, Sublayer, Tower
from archscope.blocks.base import Block, group, weight
from archscope.blocks.encoder_heads import (
    Heads,
    dense_classifier,
    label_heads,
    language_heads,
    masked_lm_head,
)
from archscope.blocks.encoders import (
    WITHOUT_POOLER,
    dense_attention,
    dense_layer,
    encoder,
    pooler,
    summed_tables,
)
from archscope.blocks.factories import num_labels, size
from archscope.blocks.integer import integer_buffers, observed_range
from archscope.blocks.leaves import conv, embedding, layer_norm, linear
from archscope.blocks.skeletons import head, with_head
from archscope.config import Config
from archscope.families.registry import family

POOLED = (*WITHOUT_POOLER, "sequence_classification")
"""Tasks whose class has no pooler."""


@family("roberta", "camembert", "xlm-roberta", "data2vec-text")
def roberta(c: Config) -> Architecture:
    """BERT's layer; positions start after the padding index, so the table has two rows more than tokens fit.

    Source: transformers, models/roberta/modeling_roberta.py, and the generated copies of it.
    """
    tower = encoder(c, summed_tables(c), lambda kind: dense_layer(c), after=(pooler(c, without=POOLED),))
    return _with_heads(c, tower, "data2vec_text" if c.model_type == "data2vec-text" else "roberta")


@family("roberta-prelayernorm")
def roberta_prelayernorm(c: Config) -> Architecture:
    """RoBERTa with norms before the sublayers and one after the last layer.

    Source: transformers, models/roberta_prelayernorm/modeling_roberta_prelayernorm.py.
    """
    norms = ("attention.LayerNorm", "crossattention.LayerNorm", "intermediate.LayerNorm")
    last = layer_norm("LayerNorm", size(c, "hidden_size"), eps=c.layer_norm_eps)
    after = (last, pooler(c, without=POOLED))
    tower = encoder(c, summed_tables(c), lambda kind: dense_layer(c, norms=norms, pre=True), after=after)
    return _with_heads(c, tower, "roberta_prelayernorm")


@family("xlm-roberta-xl")
def xlm_roberta_xl(c: Config) -> Architecture:
    """RoBERTa with norms before the sublayers, none over the embeddings.

    Source: transformers, models/xlm_roberta_xl/modeling_xlm_roberta_xl.py.
    """
    norms = ("attention.self_attn_layer_norm", "crossattention.self_attn_layer_norm", "LayerNorm")
    last = layer_norm("encoder.LayerNorm", size(c, "hidden_size"), eps=c.layer_norm_eps)
    after = (last, pooler(c, without=POOLED))
    tower = encoder(c, summed_tables(c, norm=""), lambda kind: dense_layer(c, norms=norms, pre=True), after=after)
    return _with_heads(c, tower, "roberta")


@family("xmod")
def xmod(c: Config) -> Architecture:
    """RoBERTa with an adapter per language after each feed-forward block; norms before or after by pre_norm.

    Source: transformers, models/xmod/modeling_xmod.py (XmodOutput.lang_adapter).
    """
    d = size(c, "hidden_size")
    last = layer_norm("encoder.LayerNorm", d, eps=c.layer_norm_eps) if c.pre_norm else None
    tower = encoder(c, summed_tables(c), lambda kind: _adapted_layer(c), after=(last, pooler(c, without=POOLED)))
    return _with_heads(c, tower, "roberta")


def _adapted_layer(c: Config) -> Layer:
    """The adapter reads what its own norm, the layer's last one, or nothing normalised."""
    d = size(c, "hidden_size")
    *first, last = dense_layer(c, pre=c.pre_norm)
    norm = last.branches[0].pre if c.pre_norm else last.after
    own = layer_norm("output.adapter_layer_norm", d, eps=c.layer_norm_eps) if c.adapter_layer_norm else None
    used = own or (norm if c.adapter_reuse_layer_norm else None)
    fields = ("languages", "adapter_reduction_factor", "hidden_size")
    width = d // c.adapter_reduction_factor
    body = adapters("output.adapter_modules", c.languages, d, width, c.hidden_act, fields=fields)
    adapter = Sublayer(
        branches=(Branch(body=body, pre=None if c.ln_before_adapter else used),),
        after=None if c.pre_norm else norm,
    )
    ffn = replace(last, after=used if c.ln_before_adapter else None)
    return Layer(sublayers=(*first, ffn, adapter), width=d)


@family("ibert")
def ibert(c: Config) -> Architecture:
    """RoBERTa computed in integers: every matrix, table and norm carries quantised copies and observed ranges.

    Source: transformers, models/ibert/modeling_ibert.py (the buffers are there in either quant_mode).
    """
    d = size(c, "hidden_size")
    tables = summed_tables(c)
    ranges = ("embeddings_act1", "embeddings_act2", "output_activation")
    buffers = (
        *(one for table in tables for one in integer_buffers(table)),
        *observed_range(*(f"embeddings.{name}" for name in ranges)),
    )

    def layer(kind: object) -> Layer:
        plain = Layer(sublayers=dense_layer(c), width=d)
        acts = [f"attention.self.{name}_activation" for name in ("query", "key", "value", "output")]
        acts += ["attention.self.softmax.act", "intermediate.output_activation"]
        acts += [
            f"{at}.{name}" for at in ("attention.output", "output") for name in ("ln_input_act", "output_activation")
        ]
        extras = (*integer_buffers(plain), *observed_range(*acts, "pre_intermediate_act", "pre_output_act"))
        return replace(plain, extras=extras)

    tower = encoder(c, (*tables, *buffers), layer, after=(pooler(c, without=POOLED),))
    return _with_heads(c, tower, "ibert")


@family("longformer")
def longformer(c: Config) -> Architecture:
    """RoBERTa that attends within a window per layer, and fully from and to chosen tokens by projections of their own.

    Source: transformers, models/longformer/modeling_longformer.py (LongformerSelfAttention).
    """
    d, count, given = size(c, "hidden_size"), c.num_hidden_layers, c.attention_window
    windows = tuple(given) if isinstance(given, list) else (given,) * count
    if len(windows) != count:
        raise ValueError(f"attention_window has {len(windows)} entries for {count} layers")
    extras = tuple(
        linear(f"self.{name}_global", d, d, True, role=f"{name}_global") for name in ("query", "key", "value")
    )

    def layer(window: Any) -> tuple[Sublayer, ...]:
        return dense_layer(c, attend=partial(dense_attention, extras=extras, window=window))

    tower = encoder(c, summed_tables(c), layer, kinds=windows, after=(pooler(c, without=POOLED),))
    return _with_heads(c, tower, "longformer")


@family("luke")
def luke(c: Config) -> Architecture:
    """RoBERTa over words and entities: tables of entities, query matrices for each pair of kinds.

    Source: transformers, models/luke/modeling_luke.py.
    """
    d, narrow = size(c, "hidden_size"), c.entity_emb_size
    pairs = ("w2e", "e2w", "e2e") if c.use_entity_aware_attention else ()
    extras = tuple(linear(f"self.{pair}_query", d, d, True, role=f"{pair}_q") for pair in pairs)
    dense = linear("entity_embedding_dense", narrow, d, role="projection") if narrow != d else None
    entities = group(
        "entity_embeddings",
        embedding("entity_embeddings", c.entity_vocab_size, narrow, of="entity"),
        dense,
        embedding("position_embeddings", size(c, "max_position_embeddings"), d, of="position"),
        embedding("token_type_embeddings", c.type_vocab_size, d, of="segment"),
        layer_norm("LayerNorm", d, eps=c.layer_norm_eps),
        role="side embedding",
    )
    attend = partial(dense_attention, extras=extras)
    without = ("token_classification", "question_answering")
    before, after = (*summed_tables(c), entities), (pooler(c, without=without),)
    tower = encoder(c, before, lambda kind: dense_layer(c, attend=attend), after=after)
    return with_head(c, tower, prefix="luke", heads=label_heads(c) | _entity_heads(c))


def _entity_heads(c: Config) -> Heads:
    """Words and entities behind masks; labels of one entity, of a pair, of a span."""
    d, narrow, labels, tied = size(c, "hidden_size"), c.entity_emb_size, num_labels(c), bool(c.tie_word_embeddings)
    table = "luke.entity_embeddings.entity_embeddings.weight" if tied else ""
    words = group(
        "lm_head",
        linear("dense", d, d, True),
        layer_norm("layer_norm", d, eps=c.layer_norm_eps),
        linear("decoder", d, size(c, "vocab_size"), True, role="logits"),
        replace(weight("bias", size(c, "vocab_size")), tied_to="lm_head.decoder.bias" if tied else ""),
    )
    entities = group(
        "entity_predictions",
        linear("transform.dense", d, narrow, True),
        layer_norm("transform.LayerNorm", narrow, eps=c.layer_norm_eps),
        linear("decoder", narrow, c.entity_vocab_size, role="entity logits", tied_to=table),
        weight("bias", c.entity_vocab_size),
    )
    by_class: dict[str, Block] = {
        "LukeForEntityClassification": linear("classifier", d, labels, True, role="logits"),
        "LukeForEntityPairClassification": linear("classifier", 2 * d, labels, role="logits"),
        "LukeForEntitySpanClassification": linear("classifier", 3 * d, labels, True, role="logits"),
    }
    heads: Heads = {"masked_lm": (head("masked_lm", words), head("masked_lm", entities))}
    if c.model_class in by_class:
        heads[""] = (head("entity_classification", by_class[c.model_class]),)
    return heads


@family("mpnet")
def mpnet(c: Config) -> Architecture:
    """RoBERTa without segments, and buckets of relative positions that all layers share.

    Source: transformers, models/mpnet/modeling_mpnet.py (MPNetEncoder.compute_position_bias).
    """
    names = ("attn.q", "attn.k", "attn.v", "attn.o")
    norms = ("attention.LayerNorm", "", "output.LayerNorm")
    attend = partial(dense_attention, names=names, position="relative")
    buckets = embedding(
        "encoder.relative_attention_bias",
        c.relative_attention_num_buckets,
        c.num_attention_heads,
        of="relative position",
        role="side bias",
    )
    tower = encoder(
        c,
        summed_tables(c, segments=False),
        lambda kind: dense_layer(c, norms=norms, attend=attend),
        after=(buckets, pooler(c, without=POOLED)),
    )
    return _with_heads(c, tower, "mpnet")


@family("layoutlmv3")
def layoutlmv3(c: Config) -> Architecture:
    """Words with the box of each on its page, joined with image patches; biases from distances in text and on it.

    Source: transformers, models/layoutlmv3/modeling_layoutlmv3.py.
    """
    heads, both = c.num_attention_heads, (c.text_embed, c.visual_embed)
    biases = (
        linear("encoder.rel_pos_bias", c.rel_pos_bins, heads, role="side bias")
        if c.has_relative_attention_bias
        else None,
        *(
            linear(f"encoder.rel_pos_{axis}_bias", c.rel_2d_pos_bins, heads, role="side bias")
            for axis in ("x", "y")
            if c.has_spatial_attention_bias
        ),
    )
    attend = partial(dense_attention, position="relative" if any(biases) else "learned")
    before = (*(_words_on_page(c) if both[0] else ()), *(_patches(c) if both[1] else ()))
    tower = encoder(c, before, lambda kind: dense_layer(c, attend=attend), after=biases)
    labels = label_heads(c, dense=True)
    spans = (head("question_answering", dense_classifier(c, "qa_outputs")),)
    if num_labels(c) >= 10:
        labels["token_classification"] = (head("token_classification", dense_classifier(c)),)
    found = labels | {"question_answering": spans, "document_question_answering": spans}
    return with_head(c, tower, prefix="layoutlmv3", heads=found)


def _words_on_page(c: Config) -> tuple[Block, ...]:
    """Summed tables, and the four tables of the box that are joined to one vector before the sum."""
    rows, widths = c.max_2d_position_embeddings, {"x": c.coordinate_size, "y": c.coordinate_size}
    widths |= {"h": c.shape_size, "w": c.shape_size}
    boxes = [
        embedding(f"embeddings.{axis}_position_embeddings", rows, width, of="place on the page", role="side table")
        for axis, width in widths.items()
    ]
    return summed_tables(c, more=boxes)


def _patches(c: Config) -> tuple[Block, ...]:
    """Image patches with a class token and positions; the norm over words and patches together."""
    d, side = size(c, "hidden_size"), int(c.input_size / c.patch_size)
    return (
        conv("patch_embed.proj", c.num_channels, d, c.patch_size, c.patch_size, role="side patches"),
        replace(weight("cls_token", 1, 1, d), role="side class token"),
        replace(weight("pos_embed", 1, side * side + 1, d), role="side positions"),
        layer_norm("norm", d, eps=1e-6, role="side norm"),
        layer_norm("LayerNorm", d, eps=c.layer_norm_eps),
    )


def _with_heads(c: Config, tower: Tower, prefix: str) -> Architecture:
    """The heads of RoBERTa itself."""
    words = masked_lm_head(c, f"{prefix}.embeddings.word_embeddings.weight")
    return with_head(c, tower, prefix=prefix, heads=label_heads(c, dense=True) | language_heads(words))
