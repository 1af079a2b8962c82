"""CTRL: a pre-norm decoder with fixed sinusoidal positions."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.factories import mlp, named_norm, num_labels, size
from archscope.blocks.leaves import linear
from archscope.blocks.size import Size
from archscope.blocks.skeletons import head, pre_norm_decoder, with_head
from archscope.blocks.towers import square_attention
from archscope.config import Config
from archscope.families.registry import family


@family("ctrl")
def ctrl(c: Config) -> Architecture:
    """Biases everywhere, the head's too; the feed-forward block is a sequence of numbered modules.

    Source: transformers, models/ctrl/modeling_ctrl.py (EncoderLayer, MultiHeadAttention).
    """
    d = size(c, "hidden_size")
    tower = pre_norm_decoder(
        c,
        lambda kind: square_attention(
            d,
            c.num_attention_heads,
            name="multi_head_attention",
            names=("Wq", "Wk", "Wv", "dense"),
            causal=True,
            cache=True,
            position="sinusoidal",
        ),
        lambda kind: mlp(
            c, kind="plain", name="ffn", names=("0", "2"), bias=True, width=Size(c.dff, "m"), activation="relu"
        ),
        norm=named_norm(c, "layer"),
        norms=("layernorm1", "layernorm2"),
        final="layernorm",
        embed="w",
        layers="h",
        embed_scale=float(d) ** 0.5,
    )
    labels = linear("classifier", d, num_labels(c), role="logits")
    heads = {"sequence_classification": (head("sequence_classification", labels),)}
    return with_head(c, tower, prefix="transformer", token_table="w", bias=True, heads=heads)
