"""Attention heads beside a dynamic convolution, and other ways to mix tokens that save on full attention."""

from __future__ import annotations

from dataclasses import fields
from typing import ClassVar

from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, Flow, Port, Weight, group, weight
from archscope.blocks.leaves import conv, linear
from archscope.records import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class MixedAttention(Attention):
    """Attention heads, and as many heads that convolve with a kernel made from the query and a span of keys.

    Shapes: kernels (T, num_heads, kernel); both halves are num_heads x head_dim wide and put side by side.
    Further parts carry the roles span (depthwise), span_out (pointwise), kernel, source.
    Source: ConvBERT (arXiv 2008.02496).
    """

    kernel: int

    def flows(self) -> tuple[Flow, ...]:
        """The heads, the kernels, the convolution, one join."""
        half = self.num_heads * self.head_dim
        memory = Port("memory", self.memory_width) if self.is_cross else Port("in")
        flows = []
        for role in ("q", "k", "v"):
            flows.append(Flow(memory if role != "q" else Port("in"), Port(role, self.in_width)))
            flows.append(Flow(Port(role, half), Port("#attend", half)))
        flows += [
            Flow(Port("in"), Port("span", self.in_width)),
            Flow(Port("span", self.in_width), Port("span_out", self.in_width)),
            Flow(Port("span_out", half), Port("#mul", half)),
            Flow(Port("q", half), Port("#mul", half)),
            Flow(Port("#mul", half), Port("kernel", half)),
            Flow(Port("kernel"), Port("#convolve")),
            Flow(Port("in"), Port("source", self.in_width)),
            Flow(Port("source", half), Port("#convolve", half)),
            Flow(Port("#attend", half), Port("#concat")),
            Flow(Port("#convolve", half), Port("#concat")),
        ]
        out = self.find("o")
        if out is not None:
            flows += [
                Flow(Port("#concat", 2 * half), Port("o", out.in_width)),
                Flow(Port("o", out.out_width), Port("out")),
            ]
        return tuple(flows)


@dataclass(frozen=True, kw_only=True, slots=True)
class MergedAttention(Attention):
    """Attention to the sequence itself and to a memory of width `merged_width`, by the same matrices in one product."""

    merged_width: int

    def flows(self) -> tuple[Flow, ...]:
        """The usual flow, and keys and values from the memory too."""
        extra = tuple(Flow(Port("memory", self.merged_width), Port(role, self.in_width)) for role in ("k", "v"))
        # Not super(): a dataclass with slots is not the class that a bare super() looks for.
        return (*Attention.flows(self), *extra)


def merged(attention: Attention, memory: int) -> MergedAttention:
    """The same attention over a memory besides."""
    values = {field.name: getattr(attention, field.name) for field in fields(attention)}
    return MergedAttention(**values, merged_width=memory)


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupedLinear(Block):
    """A matrix product cut into groups, each from its share of the inputs to its share of the outputs.

    Shapes: weight (groups, in_features / groups, out_features / groups), bias (out_features,).
    """

    in_features: int
    out_features: int
    groups: int

    def weights(self) -> tuple[Weight, ...]:
        shape = (self.groups, self.in_features // self.groups, self.out_features // self.groups)
        return (weight("weight", *shape), weight("bias", self.out_features))

    @property
    def in_width(self) -> int | None:
        return self.in_features

    @property
    def out_width(self) -> int | None:
        return self.out_features

    def flows(self) -> tuple[Flow, ...]:
        return ()


@dataclass(frozen=True, kw_only=True, slots=True)
class FourierMixer(Block):
    """A Fourier transform over positions and channels, real part kept: tokens mix without weights.

    Source: FNet (arXiv 2105.03824).
    """

    component: ClassVar[str] = "attention"

    hidden: int
    parts: tuple[Block, ...] = ()

    def children(self) -> tuple[Block, ...]:
        return self.parts

    @property
    def in_width(self) -> int | None:
        return self.hidden

    @property
    def out_width(self) -> int | None:
        return self.hidden

    def flows(self) -> tuple[Flow, ...]:
        """One operation."""
        return (Flow(Port("in", self.hidden), Port("#fourier")), Flow(Port("#fourier"), Port("out", self.hidden)))


def mixed_attention(
    name: str, hidden: int, num_heads: int, kernel: int, *, cross: bool = False, fields: tuple[str, ...] = ()
) -> MixedAttention:
    """`num_heads` heads of each sort, which share the hidden size."""
    head_dim = hidden // num_heads // 2
    half = num_heads * head_dim
    return MixedAttention(
        name=name,
        num_heads=num_heads,
        num_kv_heads=num_heads,
        head_dim=head_dim,
        v_head_dim=head_dim,
        causal=False,
        cache=False,
        position="none" if cross else "learned",
        memory_width=hidden if cross else None,
        kernel=kernel,
        parts=(
            linear("self.query", hidden, half, True, role="q"),
            linear("self.key", hidden, half, True, role="k"),
            linear("self.value", hidden, half, True, role="v"),
            conv("self.key_conv_attn_layer.depthwise", hidden, hidden, kernel, groups=hidden, bias=False, role="span"),
            conv("self.key_conv_attn_layer.pointwise", hidden, half, 1, bias=False, role="span_out"),
            group("self.key_conv_attn_layer", weight("bias", half, 1), role="span_bias"),
            linear("self.conv_kernel_layer", half, num_heads * kernel, True, role="kernel"),
            linear("self.conv_out_layer", hidden, half, True, role="source"),
            linear("output.dense", hidden, hidden, True, role="o"),
        ),
        fields=fields,
    )
