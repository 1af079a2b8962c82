"""GPT-NeoX: attention and MLP in parallel, each behind a norm of its own, with rotary positions on part of the head."""

from __future__ import annotations

from dataclasses import replace

from archscope.blocks.assembly import Architecture, Sublayer, parallel, pre_norm
from archscope.blocks.attention import Attention
from archscope.blocks.base import weight
from archscope.blocks.factories import mlp, named_norm, num_labels, rope, size
from archscope.blocks.leaves import linear
from archscope.blocks.size import Size
from archscope.blocks.skeletons import decoder, head, with_head
from archscope.blocks.towers import square_attention
from archscope.config import Config
from archscope.families.registry import family


@family("gpt_neox")
def gpt_neox(c: Config) -> Architecture:
    """x + attention(norm(x)) + mlp(norm'(x)) where use_parallel_residual is true, else one after the other.

    Source: transformers, models/gpt_neox/modeling_gpt_neox.py (GPTNeoXLayer); the head is saved as embed_out.
    """
    d, norm = size(c, "hidden_size"), named_norm(c, "layer")

    def layer(kind: object) -> tuple[Sublayer, ...]:
        feed_forward = mlp(c, kind="plain", names=("dense_h_to_4h", "dense_4h_to_h"), bias=True)
        mixer, norms = _attention(c, c.attention_bias), (norm("input_layernorm"), norm("post_attention_layernorm"))
        if c.use_parallel_residual:
            return parallel(mixer, feed_forward, norms=norms)
        return pre_norm((norms[0], mixer), (norms[1], feed_forward))

    tower = decoder(c, layer, embed="embed_in", final_norm=norm("final_layer_norm"))
    heads = {"token_classification": (head("token_classification", linear("classifier", d, num_labels(c), True)),)}
    return with_head(c, tower, prefix="gpt_neox", lm_head="embed_out", token_table="embed_in", heads=heads)


@family("gpt_neox_japanese")
def gpt_neox_japanese(c: Config) -> Architecture:
    """GPT-NeoX one after the other, without biases but for one on the output of the last layer's attention.

    Source: transformers, models/gpt_neox_japanese/modeling_gpt_neox_japanese.py (GPTNeoXJapaneseAttention).
    """
    d, norm = size(c, "hidden_size"), named_norm(c, "layer")
    width = Size(int(c.hidden_size * c.intermediate_multiple_size), "m")

    def layer(kind: object) -> tuple[Sublayer, ...]:
        mixer = _attention(c, False)
        if kind == "biased":
            mixer = replace(mixer, parts=(*mixer.parts, weight("dense_bias", d)))
        feed_forward = mlp(c, kind="plain", names=("dense_h_to_4h", "dense_4h_to_h"), width=width)
        return pre_norm((norm("input_layernorm"), mixer), (norm("post_attention_layernorm"), feed_forward))

    last = min(1, c.num_hidden_layers)
    plan = ("",) * (c.num_hidden_layers - last) + ("biased",) * last
    tower = decoder(c, layer, kinds=plan, embed="embed_in", final_norm=norm("final_layer_norm"))
    return with_head(c, tower, prefix="gpt_neox_japanese", lm_head="embed_out", token_table="embed_in")


def _attention(c: Config, bias: bool) -> Attention:
    d = size(c, "hidden_size")
    return square_attention(
        d,
        c.num_attention_heads,
        name="attention",
        names=("", "", "", "dense"),
        fused="query_key_value",
        bias=bias,
        causal=True,
        cache=True,
        position="rope",
        rotary=rope(c, width=d // c.num_attention_heads),
    )
