"""GPT-2 and its kin: learned positions, LayerNorm with bias, one transposed matrix for q, k and v."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Sublayer, pre_norm
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block
from archscope.blocks.factories import attention, mlp, size
from archscope.blocks.leaves import embedding, layer_norm, linear
from archscope.blocks.size import Size
from archscope.blocks.skeletons import decoder, head, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("gpt2")
def gpt2(c: Config) -> Architecture:
    """Pre-norm decoder with learned positions; cross-attention where add_cross_attention is true.

    Source: transformers, models/gpt2/modeling_gpt2.py (GPT2Block, Conv1D weights are (in, out)).
    """
    d = size(c, "hidden_size")
    width = Size(4 * d if c.n_inner is None else c.n_inner, "m")

    def layer(kind: object) -> tuple[Sublayer, ...]:
        feed_forward = mlp(c, kind="plain", names=("c_fc", "c_proj"), bias=True, width=width, transposed=True)
        own = (layer_norm("ln_1", d), _attention(c))
        cross = (layer_norm("ln_cross_attn", d), _cross(c))
        ffn = (layer_norm("ln_2", d), feed_forward)
        return pre_norm(own, cross, ffn) if c.get("add_cross_attention") else pre_norm(own, ffn)

    tower = decoder(
        c,
        layer,
        embed="wte",
        layers="h",
        before=(embedding("wpe", size(c, "max_position_embeddings"), d, of="position", role="embedding"),),
        final_norm=layer_norm("ln_f", d),
    )
    labels = Size(c.get("num_labels", 2), "labels")
    heads: dict[str, tuple[Block, ...]] = {
        "token_classification": (head("token_classification", linear("classifier", d, labels, True)),)
    }
    return with_head(c, tower, prefix="transformer", token_table="wte", heads=heads)


def _attention(c: Config) -> Attention:
    names = ("", "", "", "c_proj")
    return attention(c, name="attn", names=names, fused="c_attn", bias=True, position="learned", transposed=True)


def _cross(c: Config) -> Attention:
    """Queries from the text, keys and values fused from the memory, which has the same width."""
    d = size(c, "hidden_size")
    heads = Size(c.num_attention_heads, "h_q")
    width = Size(d // heads, "d_h")
    return Attention(
        name="crossattention",
        num_heads=heads,
        num_kv_heads=heads,
        head_dim=width,
        v_head_dim=width,
        causal=False,
        position="none",
        memory_width=d,
        parts=(
            linear("q_attn", d, d, True, role="q", transposed=True),
            linear("c_attn", d, 2 * d, True, role="kv", transposed=True),
            linear("c_proj", d, d, True, role="o", transposed=True),
        ),
    )
