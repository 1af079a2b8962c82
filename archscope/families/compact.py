"""Small encoders: weights shared over the depth, bottlenecks, grouped convolutions, half the layers."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from archscope.blocks.assembly import Architecture, Branch, Layer, Sublayer, post_add_norm
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, group, present
from archscope.blocks.encoder_heads import (
    WidenedTable,
    label_heads,
    language_heads,
    masked_head,
    pair_heads,
    stepped_choice,
)
from archscope.blocks.encoders import dense_attention, dense_mlp, encoder, pooler, projected, summed_tables
from archscope.blocks.factories import mlp, num_labels, size
from archscope.blocks.leaves import Norm, conv, embedding, layer_norm, linear, regroup
from archscope.blocks.size import Size
from archscope.blocks.skeletons import head, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("albert")
def albert(c: Config) -> Architecture:
    """Narrow tables, and few groups of layers that all depths share: a token passes each of them many times.

    Source: transformers, models/albert/modeling_albert.py (AlbertTransformer.forward picks the group of a depth).
    """
    narrow, depth, groups = c.embedding_size, c.num_hidden_layers, c.num_hidden_groups
    passes = Counter(int(i / (depth / groups)) for i in range(depth))
    before = present(
        *summed_tables(c, width=narrow), projected(c, narrow, "encoder.embedding_hidden_mapping_in", always=True)
    )
    tower = encoder(
        c,
        before,
        lambda times: _shared_layers(c, times),
        kinds=[passes[i] for i in range(groups)],
        layers="encoder.albert_layer_groups",
        after=(pooler(c, name="pooler"),),
    )
    words = masked_head(
        c, "albert.embeddings.word_embeddings.weight", name="predictions", dense="dense", norm="LayerNorm", width=narrow
    )
    order = linear("sop_classifier.classifier", size(c, "hidden_size"), num_labels(c), True, role="order logits")
    heads = label_heads(c) | language_heads(words, tasks=("masked_lm",))
    heads["pretraining"] = (head("pretraining", words), head("sentence_order", order))
    return with_head(c, tower, prefix="albert", heads=heads)


def _shared_layers(c: Config, times: object) -> Layer:
    """The inner layers of one group, one after the other."""
    d = size(c, "hidden_size")
    names = ("query", "key", "value", "dense")
    sublayers: list[Sublayer] = []
    for i in range(c.inner_group_num):
        at = f"albert_layers.{i}"
        attention = dense_attention(c, f"{at}.attention", names=names)
        ffn = mlp(c, kind="plain", name=at, names=("ffn", "ffn_output"), bias=True)
        sublayers += post_add_norm(
            (attention, layer_norm(f"{at}.attention.LayerNorm", d, eps=c.layer_norm_eps)),
            (ffn, layer_norm(f"{at}.full_layer_layer_norm", d, eps=c.layer_norm_eps)),
        )
    return Layer(sublayers=tuple(sublayers), width=d, passes=times if isinstance(times, int) else 1)


@family("mobilebert")
def mobilebert(c: Config) -> Architecture:
    """Layers inside a bottleneck, several feed-forward blocks each; neighbouring words joined before the first.

    Source: transformers, models/mobilebert/modeling_mobilebert.py.
    """
    d, narrow = size(c, "hidden_size"), c.embedding_size
    words = 3 if c.trigram_input else 1
    tables = summed_tables(c)
    # Positions and segments are added after the transformation of the words.
    before = present(
        embedding(
            "embeddings.word_embeddings", size(c, "vocab_size"), narrow, role="embedding", fields=tables[0].fields
        ),
        regroup("neighbours", narrow, words * narrow) if words > 1 else None,
        linear("embeddings.embedding_transformation", words * narrow, d, True, role="projection"),
        *(replace(table, role="side table") for table in tables[1:3]),
        _norm(c, "embeddings.LayerNorm", d),
    )
    last = pooler(c) if c.classifier_activation else None
    tower = encoder(c, before, lambda kind: _bottlenecked(c), after=(last,))
    masked = _wide_table(c)
    heads = label_heads(c) | language_heads(masked, tasks=("masked_lm",)) | pair_heads(c, masked)
    return with_head(c, tower, prefix="mobilebert", heads=heads)


def _bottlenecked(c: Config) -> Layer:
    """Attention and feed-forward blocks at the inner width, between matrices down and up if use_bottleneck is true."""
    d, inner = size(c, "hidden_size"), Size(c.true_hidden_size, "d_i")
    ffn = dense_mlp(c, hidden=inner)
    pairs: list[tuple[Block, Block]] = [
        (_inner_attention(c, inner), _norm(c, "attention.output.LayerNorm", inner)),
        *(
            (replace(ffn, name=f"ffn.{i}"), _norm(c, f"ffn.{i}.output.LayerNorm", inner))
            for i in range(c.num_feedforward_networks - 1)
        ),
        (ffn, _norm(c, "output.LayerNorm", inner)),
    ]
    if not c.use_bottleneck:
        return Layer(sublayers=post_add_norm(*pairs), width=d)
    shared = c.key_query_shared_bottleneck
    down, queries = (_down(c, name, inner) for name in ("bottleneck.input", "bottleneck.attention"))
    body = Layer(role="inner layer", sublayers=post_add_norm(*pairs), width=inner, extras=(queries,) if shared else ())
    up = linear("output.bottleneck.dense", inner, d, True)
    outer = Sublayer(branches=(Branch(pre=down, body=body, post=up),), after=_norm(c, "output.bottleneck.LayerNorm", d))
    return Layer(sublayers=(outer,), width=d)


def _inner_attention(c: Config, inner: int) -> Attention:
    """Values are made from the layer's input unless use_bottleneck_attention is true."""
    made = dense_attention(c, hidden=inner)
    source = inner if c.use_bottleneck_attention else size(c, "hidden_size")
    q, k, v, o = made.parts
    return replace(made, parts=(q, k, linear(v.name, source, v.out_width or 0, True, role="v"), o))


def _down(c: Config, name: str, inner: int) -> Block:
    return group(name, linear("dense", size(c, "hidden_size"), inner, True), _norm(c, "LayerNorm", inner))


def _norm(c: Config, name: str, width: int) -> Norm:
    """A layer norm, or only its scale and shift where normalization_type is no_norm."""
    return replace(layer_norm(name, width), kind="none" if c.normalization_type == "no_norm" else "layer")


def _wide_table(c: Config) -> Block:
    """The token table with as many columns more as it lacks of the hidden size."""
    d, vocabulary, narrow = size(c, "hidden_size"), size(c, "vocab_size"), c.embedding_size
    plain = masked_head(c, "mobilebert.embeddings.word_embeddings.weight", width=narrow)
    _, _, decoder, *bias = plain.parts
    wide = WidenedTable(
        table=decoder, more=linear("dense", d - narrow, vocabulary, transposed=True, role="more"), role="logits"
    )
    transform = (linear("transform.dense", d, d, True), layer_norm("transform.LayerNorm", d, eps=c.layer_norm_eps))
    return replace(plain, parts=(*transform, wide, *bias))


@family("squeezebert")
def squeezebert(c: Config) -> Architecture:
    """BERT whose matrices are convolutions of width one, cut into groups.

    Source: transformers, models/squeezebert/modeling_squeezebert.py (SqueezeBertModule); every class has the pooler.
    """
    tower = encoder(
        c, summed_tables(c), lambda kind: _convolved(c), layers="encoder.layers", after=(pooler(c, without=()),)
    )
    words = masked_head(c, "transformer.embeddings.word_embeddings.weight")
    heads = label_heads(c) | language_heads(words, tasks=("masked_lm",))
    return with_head(c, tower, prefix="transformer", heads=heads)


def _convolved(c: Config) -> tuple[Sublayer, ...]:
    d, m = size(c, "hidden_size"), size(c, "intermediate_size")
    parts = (
        conv("attention.query", d, d, 1, groups=c.q_groups, role="q"),
        conv("attention.key", d, d, 1, groups=c.k_groups, role="k"),
        conv("attention.value", d, d, 1, groups=c.v_groups, role="v"),
        conv("post_attention.conv1d", d, d, 1, groups=c.post_attention_groups, role="o"),
    )
    attention = replace(dense_attention(c, ""), role="attention", parts=parts)
    ups = (
        conv("intermediate.conv1d", d, m, 1, groups=c.intermediate_groups, role="up"),
        conv("output.conv1d", m, d, 1, groups=c.output_groups, role="down"),
    )
    return post_add_norm(
        (attention, layer_norm("post_attention.layernorm", d)),
        (replace(dense_mlp(c), parts=ups), layer_norm("output.layernorm", d)),
    )


@family("distilbert")
def distilbert(c: Config) -> Architecture:
    """BERT's layer without segments and pooler; labels of a sequence in two matrices.

    Source: transformers, models/distilbert/modeling_distilbert.py.
    """
    d, vocabulary = size(c, "hidden_size"), size(c, "vocab_size")
    tower = encoder(c, summed_tables(c, segments=False), lambda kind: _plain_layer(c), layers="transformer.layer")
    table = "distilbert.embeddings.word_embeddings.weight" if c.tie_word_embeddings else ""
    words = (
        linear("vocab_transform", d, d, True),
        layer_norm("vocab_layer_norm", d, eps=1e-12),
        linear("vocab_projector", d, vocabulary, True, role="logits", tied_to=table),
    )
    classes = (linear("pre_classifier", d, d, True), linear("classifier", d, num_labels(c), True, role="logits"))
    heads = {
        **label_heads(c),
        **stepped_choice(c),
        **language_heads(*words, tasks=("masked_lm",)),
        "sequence_classification": (head("sequence_classification", *classes),),
    }
    return with_head(c, tower, prefix="distilbert", heads=heads)


def _plain_layer(c: Config) -> tuple[Sublayer, ...]:
    d, eps = size(c, "hidden_size"), 1e-12
    ffn = mlp(c, name="ffn", kind="plain", names=("lin1", "lin2"), bias=True, width=Size(c.hidden_dim, "m"))
    return post_add_norm(
        (dense_attention(c, names=("q_lin", "k_lin", "v_lin", "out_lin")), layer_norm("sa_layer_norm", d, eps=eps)),
        (ffn, layer_norm("output_layer_norm", d, eps=eps)),
    )
