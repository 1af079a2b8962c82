"""StableLM: LayerNorms, part of each head rotated, parallel layers in some models."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Sublayer, parallel, pre_norm
from archscope.blocks.base import Block
from archscope.blocks.factories import attention, mlp, named_norm, size
from archscope.blocks.leaves import layer_norm
from archscope.blocks.repeated import repeated
from archscope.blocks.size import Size
from archscope.blocks.skeletons import decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("stablelm")
def stablelm(c: Config) -> Architecture:
    """Attention and MLP in parallel behind one norm where use_parallel_residual is true, else in turn.

    Source: transformers, models/stablelm/modeling_stablelm.py (StableLmDecoderLayer, StableLmAttention).
    """
    norm = named_norm(c, "layer")
    d, heads, kv = size(c, "hidden_size"), size(c, "num_attention_heads"), size(c, "num_key_value_heads")
    width = Size(d // heads, "d_h")
    norms = (_norm_per_head("q", heads, width), _norm_per_head("k", kv, width)) if c.qk_layernorm else ()

    def layer(kind: object) -> tuple[Sublayer, ...]:
        mixer = attention(c, bias=c.use_qkv_bias, out_bias=False, head_dim=width, extras=norms)
        first = norm("input_layernorm")
        if c.use_parallel_residual:
            return parallel(mixer, mlp(c), norm=first)
        return pre_norm((first, mixer), (norm("post_attention_layernorm"), mlp(c)))

    return with_head(c, decoder(c, layer, final_norm=norm("norm")))


def _norm_per_head(stream: str, heads: int, width: int) -> Block:
    """A LayerNorm of its own for each head (StableLmLayerNormPerHead)."""
    one = layer_norm("", width, bias=False)
    return repeated(f"{stream}_layernorm.norms", heads, one, role=f"{stream}_norm")
