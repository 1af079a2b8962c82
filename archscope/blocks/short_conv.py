"""Short convolutions: mixers by themselves between two gates, or with weights made token by token."""

from __future__ import annotations

from archscope.blocks.base import Block, Flow, Port, weight
from archscope.blocks.leaves import conv, linear
from archscope.blocks.ssm import StateMixer
from archscope.records import dataclass


def short_convolution(
    name: str, hidden: int, *, kernel: int, bias: bool, fields: tuple[str, ...] = ("conv_L_cache", "conv_bias")
) -> StateMixer:
    """out(C * conv(B * x)): a causal depthwise convolution over a few positions, gated before and after.

    Shapes: in_proj (3·d, d) for B, C and x, conv (d, 1, kernel), out_proj (d, d); the last kernel inputs are kept.
    Source: transformers models/lfm2/modeling_lfm2.py (Lfm2ShortConv).
    """
    d = hidden
    return StateMixer(
        name=name,
        mechanism="short convolution",
        inner=d,
        state_elements=0,
        conv_elements=int(d) * kernel,
        conv_kernel=kernel,
        split=(("B", d), ("C", d), ("x", d)),
        parts=(
            linear("in_proj", d, 3 * d, bias, role="in_proj"),
            conv("conv", d, d, kernel, groups=d, bias=bias, role="conv"),
            linear("out_proj", d, d, bias, role="out_proj"),
        ),
        wiring=(
            Flow(Port("in", d), Port("in_proj", d)),
            Flow(Port("in_proj", d), Port("#gate_in", d)),
            Flow(Port("#gate_in", d), Port("conv", d), "cache"),
            Flow(Port("conv", d), Port("#gate_out", d)),
            Flow(Port("in_proj", d), Port("#gate_out", d)),
            Flow(Port("#gate_out", d), Port("out_proj", d)),
            Flow(Port("out_proj", d), Port("out", d)),
        ),
        fields=fields,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class DynamicConv(Block):
    """A causal depthwise convolution whose weights are fixed ones plus some that a token makes for itself, by head.

    Shapes: static (kernel, width), made (num_heads · kernel, inputs).
    """

    width: int
    kernel: int
    num_heads: int
    parts: tuple[Block, ...]

    def children(self) -> tuple[Block, ...]:
        return self.parts

    @property
    def in_width(self) -> int | None:
        return self.width

    @property
    def out_width(self) -> int | None:
        return self.width

    def flows(self) -> tuple[Flow, ...]:
        """The tokens make weights for the convolution."""
        return (
            Flow(Port("#tokens"), Port("made")),
            Flow(Port("made"), Port("#conv")),
            Flow(Port("in", self.width), Port("#conv", self.width), "cache"),
            Flow(Port("#conv", self.width), Port("out", self.width)),
        )


def dynamic_conv(
    name: str, width: int, inputs: int, *, num_heads: int, kernel: int, names: tuple[str, str], role: str
) -> DynamicConv:
    """`names` are those of the fixed weights and of the matrix that makes the others."""
    static, made = names
    return DynamicConv(
        name=name,
        role=role,
        width=width,
        kernel=kernel,
        num_heads=num_heads,
        parts=(weight(static, kernel, width), weight(made, num_heads * kernel, inputs, role="made")),
    )
