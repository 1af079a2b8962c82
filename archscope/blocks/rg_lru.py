"""The real-gated linear recurrent unit: one number of state a channel, behind a short convolution."""

from __future__ import annotations

from archscope.blocks.base import Flow, Port, weight
from archscope.blocks.leaves import conv, linear
from archscope.blocks.size import Size
from archscope.blocks.ssm import StateMixer


def rg_lru_mixer(
    name: str, hidden: int, *, width: int, num_heads: int, kernel: int, fields: tuple[str, ...] = ()
) -> StateMixer:
    """Griffin's recurrent block: out(gelu(y) * recurrence(conv(x))).

    Shapes: linear_x and linear_y (width, d), block-diagonal gates (heads, width / heads, width / heads); state a layer
    width, and kernel - 1 inputs of the convolution.
    Source: Griffin (arXiv 2402.19427); transformers models/recurrent_gemma/modeling_recurrent_gemma.py.
    """
    w, h, each = Size(width, "d_rnn"), Size(num_heads, "h_q"), Size(width // num_heads, "d_block")
    return StateMixer(
        name=name,
        mechanism="RG-LRU",
        inner=w,
        state_elements=width,
        conv_elements=width * (kernel - 1),
        conv_kernel=kernel,
        num_heads=h,
        head_dim=each,
        state_size=1,
        heads_width=width,
        parts=(
            linear("linear_y", hidden, w, True, role="gate"),
            linear("linear_x", hidden, w, True, role="in_proj"),
            conv("conv_1d", w, w, kernel, groups=w, role="conv"),
            weight("rg_lru.recurrent_param", w),
            weight("rg_lru.input_gate_weight", h, each, each),
            weight("rg_lru.input_gate_bias", h, each),
            weight("rg_lru.recurrent_gate_weight", h, each, each),
            weight("rg_lru.recurrent_gate_bias", h, each),
            linear("linear_out", w, hidden, True, role="out_proj"),
        ),
        wiring=(
            Flow(Port("in"), Port("in_proj")),
            Flow(Port("in"), Port("gate")),
            Flow(Port("in_proj", width), Port("conv", width)),
            Flow(Port("conv", width), Port("#scan", width), "cache"),
            Flow(Port("#scan", width), Port("#gate", width)),
            Flow(Port("gate", width), Port("#gate", width)),
            Flow(Port("#gate", width), Port("out_proj", width)),
            Flow(Port("out_proj"), Port("out")),
        ),
        fields=fields,
    )
