"""Streams beside the residual one: alternating updates, low-rank residuals, inputs of each layer's own."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from archscope.blocks.base import Block, Flow, Port, weight
from archscope.blocks.leaves import Norm, linear
from archscope.blocks.size import Size
from archscope.records import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class AltUp(Block):
    """Alternating updates: `streams` copies of the residual stream; a layer computes one and predicts the others.

    Shapes: streams (streams, T, hidden). Parts carry the roles router, norm, predict, correct.
    Source: AltUp (arXiv 2301.13310); transformers models/gemma3n/modeling_gemma3n.py (Gemma3nTextAltUp).
    """

    streams: int
    hidden: int
    parts: tuple[Block, ...]

    def children(self) -> tuple[Block, ...]:
        return self.parts

    @property
    def in_width(self) -> int | None:
        """None: it takes all streams at once."""
        return None

    @property
    def out_width(self) -> int | None:
        return self.hidden

    def flows(self) -> tuple[Flow, ...]:
        """The router's answer weighs the prediction of all streams, and their correction."""
        d = self.hidden
        return (
            Flow(Port("in"), Port("norm", d)),
            Flow(Port("norm", d), Port("router", d)),
            Flow(Port("router", self.streams), Port("predict", self.streams)),
            Flow(Port("router", self.streams), Port("correct", self.streams)),
            Flow(Port("predict"), Port("#mix")),
            Flow(Port("correct"), Port("#mix")),
            Flow(Port("#mix", d), Port("out", d)),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class LowRankResidual(Block):
    """x + norm(up(down(x))): a residual connection that learns (LAuReL).

    Source: LAuReL (arXiv 2411.07501).
    """

    component: ClassVar[str] = "ffn"

    rank: int
    parts: tuple[Block, ...]

    def children(self) -> tuple[Block, ...]:
        return self.parts


@dataclass(frozen=True, kw_only=True, slots=True)
class PerLayerInput(Block):
    """norm(up(act(down(x)) * e)): e is what this layer gets of the token's per-layer embedding.

    Parts carry the roles gate, up, norm; `width` is that of e.
    """

    component: ClassVar[str] = "ffn"

    width: int
    parts: tuple[Block, ...]

    def children(self) -> tuple[Block, ...]:
        return self.parts

    def flows(self) -> tuple[Flow, ...]:
        """Down, times the token's part, up, norm."""
        gate, up, norm = (Port(part.role, part.in_width) for part in self.parts)
        return (
            Flow(Port("in"), gate),
            Flow(Port("gate", self.width), Port("#mul", self.width)),
            Flow(Port("side", self.width), Port("#mul", self.width)),
            Flow(Port("#mul", self.width), up),
            Flow(Port("up", self.parts[1].out_width), norm),
            Flow(Port("norm", self.parts[2].out_width), Port("out")),
        )


def altup(name: str, streams: int, norm: Norm) -> AltUp:
    """Alternating updates over a stream of the norm's width."""
    n, d = Size(streams, "n_alt"), norm.size
    return AltUp(
        name=name,
        role="altup",
        streams=n,
        hidden=d,
        parts=(
            weight("correct_output_scale", d),
            linear("correction_coefs", n, n, role="correct"),
            linear("prediction_coefs", n, n * n, role="predict"),
            linear("modality_router", d, n, role="router"),
            norm,
        ),
        fields=("altup_num_inputs",),
    )


def low_rank_residual(name: str, rank: int, norm: Norm) -> LowRankResidual:
    """Two matrices through a rank, and a norm."""
    d, r = norm.size, Size(rank, "r_laurel")
    parts = (linear("linear_left", d, r, role="down"), linear("linear_right", r, d, role="up"), norm)
    return LowRankResidual(name=name, role="laurel", rank=r, parts=parts, fields=("laurel_rank",))


def per_layer_input(hidden: int, width: int, norm: Norm) -> PerLayerInput:
    """The three modules are the layer's own."""
    e = Size(width, "d_ple")
    return PerLayerInput(
        role="per-layer input",
        width=e,
        parts=(
            linear("per_layer_input_gate", hidden, e, role="gate"),
            linear("per_layer_projection", e, hidden, role="up"),
            replace(norm, role="norm"),
        ),
        fields=("hidden_size_per_layer_input",),
    )
