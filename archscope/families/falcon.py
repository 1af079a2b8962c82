"""Falcon: multi-query attention, parallel or not, with one or two norms before it."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Sublayer, parallel, pre_norm
from archscope.blocks.attention import Attention
from archscope.blocks.factories import attention, mlp, named_norm, num_labels, size
from archscope.blocks.leaves import linear
from archscope.blocks.size import Size
from archscope.blocks.skeletons import decoder, head, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("falcon")
def falcon(c: Config) -> Architecture:
    """Which norms there are depends on parallel_attn, new_decoder_architecture and num_ln_in_parallel_attn.

    Source: transformers, models/falcon/modeling_falcon.py (FalconDecoderLayer, FalconAttention).
    """
    d, norm, width = size(c, "hidden_size"), named_norm(c, "layer"), Size(c.ffn_hidden_size, "m")
    names = ("dense_h_to_4h", "dense_4h_to_h")

    def layer(kind: object) -> tuple[Sublayer, ...]:
        mixer = _attention(c)
        feed_forward = mlp(c, kind="plain", names=names, bias=c.bias, width=width, activation=c.activation)
        if not c.parallel_attn:
            return pre_norm((norm("input_layernorm"), mixer), (norm("post_attention_layernorm"), feed_forward))
        default = 2 if c.new_decoder_architecture else 1
        if (default if c.num_ln_in_parallel_attn is None else c.num_ln_in_parallel_attn) == 2:
            return parallel(mixer, feed_forward, norms=(norm("ln_attn"), norm("ln_mlp")))
        return parallel(mixer, feed_forward, norm=norm("input_layernorm"))

    tower = decoder(c, layer, embed="word_embeddings", layers="h", final_norm=norm("ln_f"))
    labels = linear("classifier", d, num_labels(c), True, role="logits")
    heads = {"token_classification": (head("token_classification", labels),)}
    return with_head(c, tower, prefix="transformer", token_table="word_embeddings", heads=heads)


def _attention(c: Config) -> Attention:
    return attention(
        c,
        name="self_attention",
        names=("", "", "", "dense"),
        fused="query_key_value",
        bias=c.bias,
        num_kv_heads=_kv_heads(c),
        head_dim=c.hidden_size // c.num_attention_heads,
        position="alibi" if c.alibi else "rope",
    )


def _kv_heads(c: Config) -> int:
    """One shared head with multi_query, unless the newer architecture says how many."""
    if c.new_decoder_architecture:
        return int(c.num_kv_heads)
    return 1 if c.multi_query else int(c.num_attention_heads)
