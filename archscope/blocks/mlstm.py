"""The matrix LSTM: a matrix of memory for each head, with exponential input gates and forget gates."""

from __future__ import annotations

from archscope.blocks.base import Block, Flow, Port
from archscope.blocks.leaves import Norm, linear
from archscope.blocks.size import Size
from archscope.blocks.ssm import StateMixer


def mlstm(
    name: str,
    hidden: int,
    *,
    num_heads: int,
    qk_width: int,
    v_width: int,
    bias: bool,
    fused: bool,
    eps: float | None = None,
    fields: tuple[str, ...] = (),
) -> StateMixer:
    """Queries and keys of one width, values and output gate of another; one input and one forget gate a head.

    Shapes: q and k (qk_width, d), v and output gate (v_width, d); `fused` has one matrix for these, one for the gates.
    State per layer: heads x (d_qk x d_v + d_qk + 1).
    Source: xLSTM (arXiv 2405.04517) section 2.3; transformers models/xlstm/modeling_xlstm.py (xLSTMLayer).
    """
    qk, v, h = Size(qk_width, "d_qk·h"), Size(v_width, "d_v·h"), Size(num_heads, "h")
    qk_each, v_each = qk_width // num_heads, v_width // num_heads
    made: tuple[Block, ...] = (
        linear("q", hidden, qk, bias, role="q"),
        linear("k", hidden, qk, bias, role="k"),
        linear("v", hidden, v, bias, role="v"),
        linear("ogate_preact", hidden, v, bias, role="gate"),
        linear("igate_preact", hidden, h, True, role="input gate"),
        linear("fgate_preact", hidden, h, True, role="forget gate"),
    )
    if fused:
        made = (
            linear("qkv_opreact", hidden, 2 * qk + 2 * v, bias, role="in_proj"),
            linear("ifgate_preact", hidden, 2 * h, True, role="gates"),
        )
    flows = [Flow(Port("in"), Port(part.role)) for part in made]
    flows += [Flow(Port(part.role), Port("#scan"), "cache") for part in made if part.role != "gate"]
    gate = Port("in_proj" if fused else "gate")
    return StateMixer(
        name=name,
        mechanism="mLSTM",
        inner=v,
        state_elements=num_heads * (qk_each * v_each + qk_each + 1),
        num_heads=h,
        head_dim=v_each,
        state_size=qk_each,
        heads_width=v_width,
        parts=(
            *made,
            Norm(
                name="multihead_norm",
                role="norm",
                size=Size(num_heads * v_each, "d_v·h"),
                kind="group",
                bias=bias,
                eps=eps,
            ),
            linear("out_proj", v, hidden, bias, role="out_proj"),
        ),
        wiring=(
            *flows,
            Flow(Port("#scan", v_width), Port("norm", num_heads * v_each)),
            Flow(Port("norm"), Port("#gate")),
            Flow(gate, Port("#gate")),
            Flow(Port("#gate", v_width), Port("out_proj", v_width)),
            Flow(Port("out_proj"), Port("out")),
        ),
        fields=fields,
    )
