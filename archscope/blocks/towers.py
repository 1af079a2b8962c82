"""Towers that see or hear: attention both ways over square projections, equal layers, pooling."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Literal

from archscope.blocks.assembly import Architecture, Branch, Stack, Sublayer, Tower, TowerRole, stack
from archscope.blocks.attention import Attention, Position, Rope
from archscope.blocks.base import Block, Group, group, present, weight
from archscope.blocks.leaves import Norm, layer_norm, linear, rms_norm
from archscope.blocks.mlp import Mlp, plain_mlp
from archscope.blocks.size import Size
from archscope.config import Config

QUERY_KEY_VALUE_OUT = ("q_proj", "k_proj", "v_proj", "out_proj")


def square_attention(
    hidden: int,
    num_heads: int,
    *,
    name: str = "self_attn",
    names: tuple[str, str, str, str] = QUERY_KEY_VALUE_OUT,
    fused: str = "",
    inner: int | None = None,
    bias: bool = True,
    key_bias: bool | None = None,
    out_bias: bool | None = None,
    norms: tuple[Block, ...] = (),
    extras: tuple[Block, ...] = (),
    position: Position = "learned",
    rotary: Rope | None = None,
    chunk: int | None = None,
    window: int | None = None,
    causal: bool = False,
    cache: bool = False,
    memory: int | None = None,
    scale: float | None = None,
    fields: tuple[str, ...] = ("num_attention_heads", "hidden_size"),
) -> Attention:
    """Multi-head attention whose matrices are hidden by hidden, whatever the heads make up together.

    `fused` is the name of one matrix for queries, keys and values; `inner` the width of each where it is
    not the hidden size. `memory` is the width of the other sequence in
    cross-attention. The structure's edges show where the heads do not fill the hidden size.
    """
    width = Size(hidden // num_heads, "d_h")
    source = hidden if memory is None else memory
    each = hidden if inner is None else inner
    q, k, v, o = names
    if fused:
        inputs: tuple[Block, ...] = (linear(fused, hidden, 3 * each, bias, role="qkv", fields=fields),)
    else:
        inputs = (
            linear(q, hidden, each, bias, role="q", fields=fields),
            linear(k, source, each, bias if key_bias is None else key_bias, role="k", fields=fields),
            linear(v, source, each, bias, role="v", fields=fields),
        )
    out = linear(o, hidden, hidden, bias if out_bias is None else out_bias, role="o", fields=fields)
    heads = Size(num_heads, "h_q")
    return Attention(
        name=name,
        num_heads=heads,
        num_kv_heads=heads,
        head_dim=width,
        v_head_dim=width,
        parts=(*inputs, *norms, *extras, out),
        causal=causal,
        cache=cache,
        chunk=chunk,
        window=window,
        position=position,
        rope=rotary if position == "rope" else None,
        scale=scale,
        memory_width=memory,
        fields=fields,
    )


def layers(
    name: str,
    count: int,
    width: int,
    attention: Callable[[Hashable], Block] | Block,
    feed_forward: Block,
    *,
    norm: Callable[..., Norm] = layer_norm,
    norms: tuple[str, str] = ("layer_norm1", "layer_norm2"),
    eps: float | None = None,
    scales: tuple[Block | None, Block | None] = (None, None),
    kinds: Sequence[Hashable] | None = None,
) -> Stack:
    """Layers of x + attention(norm(x)), then x + feed_forward(norm(x)); attention may differ by kind of layer.

    `scales` multiply what the two add to the residual stream.
    """

    def layer(kind: Hashable) -> tuple[Sublayer, ...]:
        bodies = (attention if isinstance(attention, Block) else attention(kind), feed_forward)
        return tuple(
            Sublayer(branches=(Branch(pre=norm(name, width, eps=eps), body=body, post=scale),))
            for name, body, scale in zip(norms, bodies, scales, strict=True)
        )

    return stack(name, ("",) * count if kinds is None else kinds, layer, width=width)


def tower_model(
    c: Config,
    width: int,
    *parts: Block | None,
    tower: TowerRole = "vision",
    name: str = "",
    classes: tuple[str, ...] = (),
    partial: str = "",
) -> Architecture:
    """One tower as a model of its own: what a composite mounts. Parts that are None are left out.

    `classes` are those that build just this without being the base model of an auto table.
    """
    made = Tower(name=name, parts=present(*parts), tower=tower, model_type=c.model_type, pointer=c.pointer, width=width)
    known = c.task == "model" or c.model_class in classes or not (c.task or c.model_class)
    return Architecture(parts=(made,), partial=partial if known else f"what {c.model_class} builds is not known")


def is_mounted(c: Config) -> bool:
    """Whether the tower is part of another model, whose conversions may save it under names of their own.

    The composite's builder asks for the names of the tower's own class with `registry.tower(..., native=True)`.
    """
    return bool(c.pointer)


def packed_attention(
    name: str,
    hidden: int,
    num_heads: int,
    *,
    position: Position = "learned",
    rotary: Rope | None = None,
    role: str = "",
    fields: tuple[str, ...] = ("num_attention_heads", "hidden_size"),
) -> Attention:
    """Attention both ways as torch's own module saves it: queries, keys and values in one bare tensor.

    Source: torch.nn.MultiheadAttention.
    """
    width, heads = Size(hidden // num_heads, "d_h"), Size(num_heads, "h_q")
    return Attention(
        name=name,
        role=role,
        num_heads=heads,
        num_kv_heads=heads,
        head_dim=width,
        v_head_dim=width,
        parts=(
            weight("in_proj_weight", 3 * hidden, hidden, role="qkv"),
            weight("in_proj_bias", 3 * hidden),
            linear("out_proj", hidden, hidden, True, role="o"),
        ),
        causal=False,
        cache=False,
        position=position,
        rope=rotary if position == "rope" else None,
        fields=fields,
    )


def attention_pooling(hidden: int, num_heads: int, width: int, activation: str, *, name: str = "head") -> Group:
    """One learned query attends to all patches; its answer passes a norm and a feed-forward block.

    Source: Set Transformer (arXiv 1810.00825), pooling by multi-head attention.
    """
    return group(
        name,
        weight("probe", 1, 1, hidden, role="query"),
        packed_attention("attention", hidden, num_heads, position="none"),
        layer_norm("layernorm", hidden),
        plain_mlp(hidden, width, activation, bias=True),
        role="pooling",
    )


def feed_forward(
    c: Config,
    hidden: int,
    width: int,
    *,
    name: str = "mlp",
    names: tuple[str, str] = ("fc1", "fc2"),
    bias: bool = True,
    field: str = "hidden_act",
) -> Mlp:
    """The plain feed-forward block of a tower."""
    return plain_mlp(hidden, Size(width, "m"), str(c.get(field, "")), name=name, names=names, bias=bool(bias))


def norm_maker(kind: Literal["layer", "rms"]) -> Callable[..., Norm]:
    """The maker of norms of a kind."""
    return rms_norm if kind == "rms" else layer_norm
