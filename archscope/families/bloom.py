"""BLOOM: ALiBi in place of positions, a norm right after the embedding, one matrix for q, k and v."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Branch, Sublayer, pre_norm
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block
from archscope.blocks.factories import mlp, named_norm, num_labels, size
from archscope.blocks.leaves import linear
from archscope.blocks.skeletons import decoder, head, with_head
from archscope.blocks.towers import square_attention
from archscope.config import Config
from archscope.families.registry import family


@family("bloom")
def bloom(c: Config) -> Architecture:
    """Pre-norm decoder; with apply_residual_connection_post_layernorm the residual starts after the norm.

    Source: transformers, models/bloom/modeling_bloom.py (BloomBlock, BloomAttention).
    """
    d, norm = size(c, "hidden_size"), named_norm(c, "layer")
    names = ("dense_h_to_4h", "dense_4h_to_h")

    def layer(kind: object) -> tuple[Sublayer, ...]:
        feed_forward = mlp(c, kind="plain", names=names, bias=True, width=4 * d, activation="gelu")
        pairs = ((norm("input_layernorm"), _attention(c)), (norm("post_attention_layernorm"), feed_forward))
        return _from_norm(*pairs) if c.apply_residual_connection_post_layernorm else pre_norm(*pairs)

    tower = decoder(
        c,
        layer,
        embed="word_embeddings",
        before=(norm("word_embeddings_layernorm"),),
        layers="h",
        final_norm=norm("ln_f"),
    )
    labels = linear("classifier", d, num_labels(c), True, role="logits")
    heads = {"token_classification": (head("token_classification", labels),)}
    return with_head(c, tower, prefix="transformer", token_table="word_embeddings", heads=heads)


def _attention(c: Config) -> Attention:
    """Matrices of the hidden size. Raises: ValueError where the heads do not divide it."""
    d, heads = size(c, "hidden_size"), c.num_attention_heads
    if d % heads:
        raise ValueError(f"{heads} heads do not divide a hidden size of {d}")
    return square_attention(
        d,
        heads,
        name="self_attention",
        names=("", "", "", "dense"),
        fused="query_key_value",
        causal=True,
        cache=True,
        position="alibi",
    )


def _from_norm(*pairs: tuple[Block, Block]) -> tuple[Sublayer, ...]:
    """y + body(y) with y = norm(x), for every (norm, body)."""
    return tuple(
        step
        for norm, body in pairs
        for step in (Sublayer(branches=(Branch(body=norm),), residual=False), Sublayer(branches=(Branch(body=body),)))
    )
