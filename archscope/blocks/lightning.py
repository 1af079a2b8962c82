"""Lightning attention: linear attention with a fixed decay for each head, worked off in blocks."""

from __future__ import annotations

from archscope.blocks.base import Flow, Port, weight
from archscope.blocks.leaves import linear, rms_norm
from archscope.blocks.size import Size
from archscope.blocks.ssm import StateMixer


def lightning_attention(
    name: str, hidden: int, *, num_heads: int, head_dim: int, block: int, eps: float | None = None
) -> StateMixer:
    """Queries, keys and values from one matrix; a state of head_dim x head_dim a head; a norm and a sigmoid gate.

    Shapes: qkv_proj (3·h·d_h, d); the decays are saved buffers for blocks of `block` positions.
    Source: Lightning Attention-2 (arXiv 2401.04658); transformers models/minimax/modeling_minimax.py.
    """
    h, width = Size(num_heads, "h_q"), Size(head_dim, "d_h")
    inner = h * width
    return StateMixer(
        name=name,
        mechanism="lightning attention",
        inner=inner,
        state_elements=num_heads * head_dim * head_dim,
        num_heads=h,
        head_dim=width,
        state_size=width,
        heads_width=int(inner),
        split=tuple((stream, int(inner)) for stream in "qkv"),
        parts=(
            linear("qkv_proj", hidden, 3 * inner, role="in_proj"),
            rms_norm("norm", inner, role="norm", eps=eps),
            linear("output_gate", hidden, inner, role="gate"),
            linear("out_proj", inner, hidden, role="out_proj"),
            weight("slope_rate", h, 1, 1, parameter=False),
            weight("query_decay", h, block, 1, parameter=False),
            weight("key_decay", h, block, 1, parameter=False),
            weight("diagonal_decay", 1, h, block, block, parameter=False),
        ),
        wiring=(
            Flow(Port("in"), Port("in_proj")),
            Flow(Port("in_proj"), Port("#scan"), "cache"),
            Flow(Port("#scan", inner), Port("norm", inner)),
            Flow(Port("in"), Port("gate")),
            Flow(Port("norm", inner), Port("#gate", inner)),
            Flow(Port("gate", inner), Port("#gate", inner)),
            Flow(Port("#gate", inner), Port("out_proj", inner)),
            Flow(Port("out_proj"), Port("out")),
        ),
        fields=("num_attention_heads", "head_dim", "block_size"),
    )
