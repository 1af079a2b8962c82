"""ELECTRA and the encoders with narrow tables: a projection to the hidden size, heads that undo it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from archscope.blocks.assembly import Architecture
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, group, present
from archscope.blocks.encoder_heads import (
    label_heads,
    language_heads,
    masked_head,
    summarised_choice,
)
from archscope.blocks.encoders import dense_attention, dense_layer, dense_mlp, encoder, projected, summed_tables
from archscope.blocks.factories import size
from archscope.blocks.leaves import embedding, layer_norm, linear
from archscope.blocks.mixed_attention import GroupedLinear, mixed_attention
from archscope.blocks.mlp import Mlp
from archscope.blocks.skeletons import head, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("electra")
def electra(c: Config) -> Architecture:
    """BERT's layer over narrow tables; a discriminator that tells replaced words, or a generator that fills masks.

    Source: transformers, models/electra/modeling_electra.py.
    """
    d, narrow = size(c, "hidden_size"), c.embedding_size
    before = present(*summed_tables(c, width=narrow), projected(c, narrow))
    tower = encoder(c, before, lambda kind: dense_layer(c))
    replaced = group("discriminator_predictions", linear("dense", d, d, True), linear("dense_prediction", d, 1, True))
    heads = {
        **label_heads(c, dense=True),
        **summarised_choice(c),
        **language_heads(*_generator(c, "electra")),
        "pretraining": (head("pretraining", replaced),),
    }
    return with_head(c, tower, prefix="electra", heads=heads)


@family("convbert")
def convbert(c: Config) -> Architecture:
    """Half of the heads attend, half convolve with kernels made on the spot; feed-forward matrices may be grouped.

    Source: transformers, models/convbert/modeling_convbert.py (ConvBertSelfAttention, GroupedLinearLayer).
    """
    d, narrow = size(c, "hidden_size"), c.embedding_size
    heads = max(c.num_attention_heads // c.head_ratio, 1)
    fields = ("num_attention_heads", "head_ratio", "conv_kernel_size", "hidden_size")

    def attend(c: Config, name: str, cross: bool = False) -> Attention:
        return mixed_attention(name, d, heads, c.conv_kernel_size, cross=cross, fields=fields)

    before = present(*summed_tables(c, width=narrow), projected(c, narrow))
    layer = partial(dense_layer, c, attend=attend, feed_forward=_grouped_mlp(c))
    tower = encoder(c, before, lambda kind: layer())
    found = label_heads(c, dense=True) | summarised_choice(c) | language_heads(*_generator(c, "convbert"))
    return with_head(c, tower, prefix="convbert", heads=found)


def _grouped_mlp(c: Config) -> Mlp:
    plain, groups = dense_mlp(c), c.num_groups
    if groups == 1:
        return plain
    if groups < 1:
        raise ValueError(f"matrices cannot have {groups} groups")
    d, m = size(c, "hidden_size"), size(c, "intermediate_size")
    parts = (
        GroupedLinear(name="intermediate.dense", role="up", in_features=d, out_features=m, groups=groups),
        GroupedLinear(name="output.dense", role="down", in_features=m, out_features=d, groups=groups),
    )
    return replace(plain, parts=parts)


@family("roformer")
def roformer(c: Config) -> Architecture:
    """BERT with rotary positions, whose sines are a saved table; narrow tables as ELECTRA's.

    Source: transformers, models/roformer/modeling_roformer.py; span heads have two outputs whatever the labels.
    """
    narrow, width = c.embedding_size, size(c, "hidden_size") // c.num_attention_heads
    sines = embedding(
        "encoder.embed_positions", size(c, "max_position_embeddings"), width, of="position", role="side table"
    )
    before = present(*summed_tables(c, width=narrow, positions=0), projected(c, narrow), sines)
    attend = partial(dense_attention, position="rope")
    tower = encoder(c, before, lambda kind: dense_layer(c, attend=attend))
    words = masked_head(c, "roformer.embeddings.word_embeddings.weight", width=narrow)
    heads = label_heads(c, dense=True, span_labels=2) | summarised_choice(c) | language_heads(words)
    return with_head(c, tower, prefix="roformer", heads=heads)


def _generator(c: Config, prefix: str) -> tuple[Block, ...]:
    """Down to the width of the tables, then the table itself with a bias."""
    narrow, tied = c.embedding_size, bool(c.tie_word_embeddings)
    return (
        linear("generator_predictions.dense", size(c, "hidden_size"), narrow, True),
        layer_norm("generator_predictions.LayerNorm", narrow, eps=c.layer_norm_eps),
        linear(
            "generator_lm_head",
            narrow,
            size(c, "vocab_size"),
            True,
            role="logits",
            tied_to=f"{prefix}.embeddings.word_embeddings.weight" if tied else "",
        ),
    )
