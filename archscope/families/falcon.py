"""Falcon: multi-query attention, parallel or not, with one or two norms before it."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Sublayer, parallel, pre_norm
from archscope.blocks.factories import attention, mlp, num_labels, size
from archscope.blocks.leaves import layer_norm, linear
from archscope.blocks.size import Size
from archscope.blocks.skeletons import decoder, head, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("falcon")
def falcon(c: Config) -> Architecture:
    """Which norms there are depends on parallel_attn, new_decoder_architecture and num_ln_in_parallel_attn.

    Source: transformers, models/falcon/modeling_falcon.py (FalconDecoderLayer, FalconAttention).
    """
    d = size(c, "hidden_size")
    width = Size(c.ffn_hidden_size, "m")

    def layer(kind: object) -> tuple[Sublayer, ...]:
        mixer = attention(
            c,
            name="self_attention",
            names=("", "", "", "dense"),
            fused="query_key_value",
            bias=c.bias,
            num_kv_heads=_kv_heads(c),
            head_dim=d // c.num_attention_heads,
            position="alibi" if c.alibi else "rope",
        )
        names = ("dense_h_to_4h", "dense_4h_to_h")
        feed_forward = mlp(c, kind="plain", names=names, bias=c.bias, width=width, activation=c.activation)
        first = layer_norm("input_layernorm", d)
        if not c.parallel_attn:
            return pre_norm((first, mixer), (layer_norm("post_attention_layernorm", d), feed_forward))
        default = 2 if c.new_decoder_architecture else 1
        if (default if c.num_ln_in_parallel_attn is None else c.num_ln_in_parallel_attn) == 2:
            return parallel(mixer, feed_forward, norms=(layer_norm("ln_attn", d), layer_norm("ln_mlp", d)))
        return parallel(mixer, feed_forward, norm=first)

    tower = decoder(c, layer, embed="word_embeddings", layers="h", final_norm=layer_norm("ln_f", d))
    labels = num_labels(c)
    heads = {"token_classification": (head("token_classification", linear("classifier", d, labels, True, role="logits")),)}
    return with_head(c, tower, prefix="transformer", token_table="word_embeddings", heads=heads)


def _kv_heads(c: Config) -> int:
    """One shared head with multi_query, unless the newer architecture says how many."""
    if c.new_decoder_architecture:
        return int(c.num_kv_heads)
    return 1 if c.multi_query else int(c.num_attention_heads)
