"""Mamba-1: a state-space scan whose step and matrices depend on the input."""

from __future__ import annotations

from archscope.blocks.base import Block, Flow, Port, weight
from archscope.blocks.leaves import Norm, conv, linear
from archscope.blocks.size import Size
from archscope.blocks.ssm import StateMixer


def selective_scan(
    name: str,
    hidden: int,
    *,
    inner: int,
    state_size: int,
    rank: int,
    kernel: int,
    bias: bool,
    conv_bias: bool,
    heads: int = 0,
    norms: tuple[Norm, ...] = (),
    fields: tuple[str, ...] = (),
) -> StateMixer:
    """Mamba-1: in_proj gives x and a gate z; x passes a convolution and then makes its own step, B and C.

    Shapes: in_proj (2·inner, d), conv1d (inner, 1, kernel), x_proj (rank + 2·state, inner), dt_proj (inner, rank), A_log
    (inner, state), D (inner,). With `heads` the last four are bare tensors with a leading dimension of heads. `norms`
    (roles dt_norm, b_norm, c_norm) stand after x_proj. State per layer inner x state.
    Source: Mamba (arXiv 2312.00752); transformers models/mamba/modeling_mamba.py (MambaMixer).
    """
    i, n, r = Size(inner, "d_inner"), Size(state_size, "n"), Size(rank, "r_dt")
    made: tuple[Block, ...]
    if heads:
        h, each = Size(heads, "h"), Size(inner // heads, "d_h")
        made = (
            weight("x_proj_weight", h, r + 2 * n, each, role="x_proj"),
            weight("dt_proj_weight", h, each, r, role="dt_proj"),
            weight("dt_proj_bias", h, each),
            weight("A_log", h, each, n),
            weight("D", h, each),
        )
    else:
        made = (
            linear("x_proj", i, r + 2 * n, role="x_proj"),
            *norms,
            linear("dt_proj", r, i, True, role="dt_proj"),
            weight("A_log", i, n),
            weight("D", i),
        )
    return StateMixer(
        name=name,
        mechanism="Mamba-1",
        inner=i,
        state_elements=inner * state_size,
        conv_elements=inner * kernel,
        conv_kernel=kernel,
        num_heads=heads,
        head_dim=inner // heads if heads else 0,
        state_size=n,
        split=(("x", inner), ("z", inner)),
        heads_width=inner,
        parts=(
            linear("in_proj", hidden, 2 * i, bias, role="in_proj"),
            conv("conv1d", i, i, kernel, groups=i, bias=conv_bias, role="conv"),
            *made,
            linear("out_proj", i, hidden, bias, role="out_proj"),
        ),
        wiring=_wiring(inner, tuple(norm.role for norm in norms)),
        fields=fields,
    )


def _wiring(inner: int, norms: tuple[str, ...]) -> tuple[Flow, ...]:
    flows = [
        Flow(Port("in"), Port("in_proj")),
        Flow(Port("in_proj", inner), Port("conv", inner)),
        Flow(Port("conv", inner), Port("x_proj")),
        Flow(Port("conv", inner), Port("#scan", inner), "cache"),
    ]
    for source, target in (("dt_norm", "dt_proj"), ("b_norm", "#scan"), ("c_norm", "#scan")):
        if source in norms:
            flows += [Flow(Port("x_proj"), Port(source)), Flow(Port(source), Port(target))]
    if not norms:
        flows += [Flow(Port("x_proj"), Port("dt_proj")), Flow(Port("x_proj"), Port("#scan"))]
    return (
        *flows,
        Flow(Port("dt_proj"), Port("#scan")),
        Flow(Port("in_proj", inner), Port("#gate", inner)),
        Flow(Port("#scan", inner), Port("#gate", inner)),
        Flow(Port("#gate", inner), Port("out_proj", inner)),
        Flow(Port("out_proj"), Port("out")),
    )
