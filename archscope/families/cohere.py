"""The Cohere lineage: attention and MLP in parallel behind one bias-free LayerNorm."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, parallel
from archscope.blocks.base import Block, group, weight
from archscope.blocks.factories import attention, head_size, mlp, size
from archscope.blocks.leaves import layer_norm
from archscope.blocks.skeletons import decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("cohere")
def cohere(c: Config) -> Architecture:
    """x + attention(norm(x)) + mlp(norm(x)), norms per head on queries and keys where use_qk_norm is true.

    Source: transformers, models/cohere/modeling_cohere.py (CohereDecoderLayer, CohereLayerNorm).
    """
    d = size(c, "hidden_size")
    tower = decoder(
        c,
        lambda kind: parallel(
            attention(c, bias=c.attention_bias, extras=_head_norms(c)),
            mlp(c),
            norm=layer_norm("input_layernorm", d, bias=False),
        ),
        final_norm=layer_norm("norm", d, bias=False),
    )
    return with_head(c, tower)


def _head_norms(c: Config) -> tuple[Block, ...]:
    """A weight for each head: shape (heads, head_dim)."""
    if not c.use_qk_norm:
        return ()
    heads, kv, width = size(c, "num_attention_heads"), size(c, "num_key_value_heads"), head_size(c)
    return (
        group("q_norm", weight("weight", heads, width), role="q_norm"),
        group("k_norm", weight("weight", kv, width), role="k_norm"),
    )
