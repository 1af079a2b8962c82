"""HRM: two stacks of equal layers, a fast and a slow one, that a token passes many times."""

from __future__ import annotations

from dataclasses import replace

from archscope.blocks.assembly import Architecture, Layer, Stack, Tower, pre_norm, stack
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, weight
from archscope.blocks.factories import attention, head_size, mlp, named_norm, size
from archscope.blocks.leaves import Norm, embedding, linear
from archscope.blocks.mlp import Mlp
from archscope.blocks.skeletons import with_head
from archscope.config import Config
from archscope.families.registry import family


@family("hrm_text")
def hrm_text(c: Config) -> Architecture:
    """H_cycles of L_cycles passes through the fast stack and one through the slow one; every pass has its own cache.

    Source: transformers, models/hrm_text/modeling_hrm_text.py (HrmTextModel, HrmTextStack); saved as it converts.
    """
    d = size(c, "hidden_size")
    table = embedding("embed_tokens", size(c, "vocab_size"), d, role="embedding", scale=c.embedding_scale)
    parts: tuple[Block, ...] = (
        table,
        replace(weight("z_L_init", d), role="side"),
        _stack(c, "L_module", c.H_cycles * c.L_cycles),
        _norm(c, "L_module.final_norm"),
        _stack(c, "H_module", c.H_cycles),
        _norm(c, "H_module.final_norm"),
    )
    tower = Tower(parts=parts, tower="text", model_type=c.model_type, pointer=c.pointer, width=d)
    return with_head(c, tower)


def _stack(c: Config, name: str, passes: int) -> Stack:
    def layer(kind: object) -> Layer:
        sublayers = pre_norm(
            (_norm(c, "input_layernorm"), _attention(c)), (_norm(c, "post_attention_layernorm"), _mlp(c))
        )
        return Layer(sublayers=sublayers, width=size(c, "hidden_size"), passes=passes)

    return stack(f"{name}.layers", ("",) * c.num_layers_per_stack, layer, width=size(c, "hidden_size"))


def _norm(c: Config, name: str) -> Norm:
    """A norm without weights."""
    return replace(named_norm(c)(name), affine=False)


def _attention(c: Config) -> Attention:
    """Gate, queries, keys and values in one matrix; their biases are saved apart."""
    d, heads = size(c, "hidden_size"), size(c, "num_attention_heads")
    inner = heads * head_size(c)
    made = attention(c, name="", num_kv_heads=heads)
    biases = tuple(weight(f"self_attn.{part}_proj.bias", inner) for part in ("gate", "q", "k", "v"))
    parts = (
        linear("attn.gqkv_proj", d, 4 * inner, role="gqkv", fields=made.fields),
        *(biases if c.attention_bias else ()),
        linear("attn.o_proj", inner, d, c.attention_bias, role="o", fields=made.fields),
    )
    return replace(made, role="attention", parts=parts)


def _mlp(c: Config) -> Mlp:
    """Gate and up in one matrix; their biases are saved apart."""
    made = mlp(c, kind="fused", names=("gate_up_proj", "down_proj"))
    if not c.mlp_bias:
        return made
    d, m = size(c, "hidden_size"), size(c, "intermediate_size")
    biases = (weight("gate_proj.bias", m), weight("up_proj.bias", m))
    return replace(made, parts=(made.parts[0], *biases, linear("down_proj", m, d, True, role="down")))
