"""MPT: ALiBi in place of position embeddings, LayerNorms without bias, one matrix for q, k and v."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.factories import mlp, named_norm, num_labels, size
from archscope.blocks.leaves import linear
from archscope.blocks.size import Size
from archscope.blocks.skeletons import head, pre_norm_decoder, with_head
from archscope.blocks.towers import square_attention
from archscope.config import Config
from archscope.families.registry import family


@family("mpt")
def mpt(c: Config) -> Architecture:
    """Pre-norm decoder without biases; the MLP is four times as wide, whatever expansion_ratio says.

    Source: transformers, models/mpt/modeling_mpt.py (MptAttention, MptMLP).
    """
    d = size(c, "hidden_size")
    mixer = square_attention(
        d,
        c.num_attention_heads,
        name="attn",
        names=("", "", "", "out_proj"),
        fused="Wqkv",
        bias=False,
        position="alibi",
        causal=True,
        cache=True,
    )
    wide, names = Size(4 * d, "4·d"), ("up_proj", "down_proj")
    tower = pre_norm_decoder(
        c,
        lambda kind: mixer,
        lambda kind: mlp(c, name="ffn", kind="plain", names=names, bias=False, width=wide, activation="gelu"),
        norm=named_norm(c, "layer", bias=False),
        norms=("norm_1", "norm_2"),
        final="norm_f",
        embed="wte",
        layers="blocks",
        kinds=("",) * c.num_hidden_layers,
    )
    classifier = head("token_classification", linear("classifier", d, num_labels(c), True, role="logits"))
    heads_of = {"token_classification": (classifier,)}
    return with_head(c, tower, prefix="transformer", token_table="wte", heads=heads_of)
