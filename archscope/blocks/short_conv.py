"""Short convolutions that mix positions by themselves, between two gates."""

from __future__ import annotations

from archscope.blocks.base import Flow, Port
from archscope.blocks.leaves import conv, linear
from archscope.blocks.ssm import StateMixer


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
