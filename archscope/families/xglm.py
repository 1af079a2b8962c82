"""XGLM: a pre-norm decoder with sinusoidal positions and scaled embeddings."""

from __future__ import annotations

from math import sqrt

from archscope.blocks.assembly import Architecture, Sublayer, pre_norm
from archscope.blocks.attention import Attention
from archscope.blocks.factories import attention, mlp, size
from archscope.blocks.leaves import layer_norm
from archscope.blocks.size import Size
from archscope.blocks.skeletons import decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("xglm")
def xglm(c: Config) -> Architecture:
    """LayerNorms and biases everywhere; cross-attention where add_cross_attention is true.

    Source: transformers, models/xglm/modeling_xglm.py (XGLMDecoderLayer).
    """
    d = size(c, "hidden_size")

    def layer(kind: object) -> tuple[Sublayer, ...]:
        own = (layer_norm("self_attn_layer_norm", d), _attention(c, "self_attn", None))
        cross = (layer_norm("encoder_attn_layer_norm", d), _attention(c, "encoder_attn", d))
        ffn = mlp(c, name="", kind="plain", bias=True, width=Size(c.ffn_dim, "m"))
        last = (layer_norm("final_layer_norm", d), ffn)
        return pre_norm(own, cross, last) if c.add_cross_attention else pre_norm(own, last)

    tower = decoder(
        c,
        layer,
        kinds=("",) * c.num_hidden_layers,
        final_norm=layer_norm("layer_norm", d),
        embed_scale=sqrt(d) if c.scale_embedding else None,
    )
    return with_head(c, tower)


def _attention(c: Config, name: str, memory: int | None) -> Attention:
    heads = c.num_attention_heads
    return attention(
        c,
        name=name,
        names=("q_proj", "k_proj", "v_proj", "out_proj"),
        bias=True,
        num_kv_heads=heads,
        head_dim=c.hidden_size // heads,
        causal=memory is None,
        position="none" if memory else "sinusoidal",
        memory=memory,
    )
