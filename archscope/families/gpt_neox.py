"""GPT-NeoX: attention and MLP in parallel, each behind a norm of its own, with rotary positions on part of the head."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Sublayer, parallel, pre_norm
from archscope.blocks.factories import attention, mlp, size
from archscope.blocks.leaves import layer_norm, linear
from archscope.blocks.size import Size
from archscope.blocks.skeletons import decoder, head, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("gpt_neox")
def gpt_neox(c: Config) -> Architecture:
    """x + attention(norm(x)) + mlp(norm'(x)) where use_parallel_residual is true, else one after the other.

    Source: transformers, models/gpt_neox/modeling_gpt_neox.py (GPTNeoXLayer); the head is saved as embed_out.
    """
    d = size(c, "hidden_size")

    def layer(kind: object) -> tuple[Sublayer, ...]:
        mixer = attention(
            c,
            name="attention",
            names=("", "", "", "dense"),
            fused="query_key_value",
            bias=c.attention_bias,
            num_kv_heads=c.num_attention_heads,
            head_dim=d // c.num_attention_heads,
        )
        feed_forward = mlp(c, kind="plain", names=("dense_h_to_4h", "dense_4h_to_h"), bias=True)
        norms = layer_norm("input_layernorm", d), layer_norm("post_attention_layernorm", d)
        if c.use_parallel_residual:
            return parallel(mixer, feed_forward, norms=norms)
        return pre_norm((norms[0], mixer), (norms[1], feed_forward))

    tower = decoder(c, layer, embed="embed_in", final_norm=layer_norm("final_layer_norm", d))
    labels = Size(c.get("num_labels", 2), "labels")
    heads = {"token_classification": (head("token_classification", linear("classifier", d, labels, True)),)}
    return with_head(c, tower, prefix="gpt_neox", lm_head="embed_out", token_table="embed_in", heads=heads)
