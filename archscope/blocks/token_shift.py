"""RWKV's two halves of a layer: a recurrence over keys and values, and a feed-forward that sees the last token, too."""

from __future__ import annotations

from archscope.blocks.base import Flow, Port, weight
from archscope.blocks.leaves import linear
from archscope.blocks.mlp import Mlp
from archscope.blocks.size import Size
from archscope.blocks.ssm import StateMixer
from archscope.records import dataclass


def time_mix(name: str, hidden: int, width: int, *, fields: tuple[str, ...] = ()) -> StateMixer:
    """out(sigmoid(r) * wkv(k, v)), each made from a mix of this token and the last.

    Shapes: key, value, receptance (width, d); state per layer three numbers a channel (numerator, denominator, maximum)
    and the last token.
    Source: RWKV-4 (arXiv 2305.13048); transformers models/rwkv/modeling_rwkv.py (RwkvSelfAttention).
    """
    w = Size(width, "d_att")
    streams = ("key", "value", "receptance")
    return StateMixer(
        name=name,
        mechanism="RWKV-4 time mix",
        inner=w,
        state_elements=3 * width,
        conv_elements=int(hidden),
        conv_kernel=2,
        heads_width=width,
        parts=(
            weight("time_decay", w),
            weight("time_first", w),
            *(weight(f"time_mix_{stream}", 1, 1, hidden) for stream in streams),
            *(linear(stream, hidden, w, role=stream) for stream in streams),
            linear("output", w, hidden, role="out_proj"),
        ),
        wiring=(
            Flow(Port("in"), Port("#shift"), "cache"),
            *(Flow(Port("#shift"), Port(stream)) for stream in streams),
            Flow(Port("key", width), Port("#scan", width), "cache"),
            Flow(Port("value", width), Port("#scan", width), "cache"),
            Flow(Port("#scan", width), Port("#gate", width)),
            Flow(Port("receptance", width), Port("#gate", width)),
            Flow(Port("#gate", width), Port("out_proj", width)),
            Flow(Port("out_proj"), Port("out")),
        ),
        fields=fields,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class ChannelMix(Mlp):
    """down(relu(up(x))^2) under a sigmoid gate of the model's width; x is a mix of this token and the last.

    Parts carry the roles up, gate, down.
    """

    @property
    def in_width(self) -> int | None:
        return self.hidden

    def flows(self) -> tuple[Flow, ...]:
        """Shift, the two matrices, the gate on what comes out."""
        return (
            Flow(Port("in"), Port("#shift"), "cache"),
            Flow(Port("#shift", self.hidden), Port("up", self.hidden)),
            Flow(Port("up", self.width), Port("#act", self.width)),
            Flow(Port("#act", self.width), Port("down", self.width)),
            Flow(Port("#shift", self.hidden), Port("gate", self.hidden)),
            Flow(Port("down", self.hidden), Port("#mul", self.hidden)),
            Flow(Port("gate", self.hidden), Port("#mul", self.hidden)),
            Flow(Port("#mul", self.hidden), Port("out")),
        )


def channel_mix(name: str, hidden: int, width: int) -> ChannelMix:
    """RWKV-4's feed-forward. Source: transformers models/rwkv/modeling_rwkv.py (RwkvFeedForward)."""
    m = Size(width, "m")
    return ChannelMix(
        name=name,
        width=m,
        hidden=hidden,
        gated=True,
        activation="relu2",
        parts=(
            weight("time_mix_key", 1, 1, hidden),
            weight("time_mix_receptance", 1, 1, hidden),
            linear("key", hidden, m, role="up"),
            linear("receptance", hidden, hidden, role="gate"),
            linear("value", m, hidden, role="down"),
        ),
        fields=("intermediate_size", "hidden_size"),
    )
