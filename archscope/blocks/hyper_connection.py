"""Hyper-connections: several residual streams, mixed into one before a sublayer and written back after it."""

from __future__ import annotations

from archscope.blocks.base import Block, Flow, Port, present, weight
from archscope.blocks.leaves import linear, rms_norm
from archscope.blocks.size import Size
from archscope.records import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class HyperConnection(Block):
    """Takes `streams` residual streams of width `hidden` to one, and weighs what the sublayer gives back to each.

    Shapes: in (T, streams, hidden), out (T, hidden). `writes` is False for the last one, which only reads.
    Source: hyper-connections (arXiv 2409.19606).
    """

    streams: int
    hidden: int
    parts: tuple[Block, ...]
    writes: bool = True

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
        """All streams are weighed and summed."""
        return (Flow(Port("in"), Port("#mix")), Flow(Port("#mix", self.hidden), Port("out", self.hidden)))


def mapped_hyper_connection(
    name: str,
    hidden: int,
    streams: int,
    *,
    maps: int,
    scales: int,
    names: tuple[str, str, str] = ("fn", "base", "scale"),
) -> HyperConnection:
    """All streams through one matrix to `maps` numbers: the weights of reading, of writing, and of mixing the streams.

    Shapes: matrix (maps, streams · d), base (maps,), scale (scales,).
    Source: transformers models/deepseek_v4/modeling_deepseek_v4.py (DeepseekV4HyperConnection).
    """
    fn, base, scale = names
    return HyperConnection(
        name=name,
        streams=streams,
        hidden=hidden,
        writes=maps > streams,
        parts=(
            weight(fn, maps, Size(streams, "n_hc") * hidden),
            weight(base, maps),
            weight(scale, scales),
        ),
        fields=("hc_mult",),
    )


def gated_residual(name: str, hidden: int, streams: int, rank: int, *, writes: bool = True) -> HyperConnection:
    """A gate of low rank over all streams for reading, one number a stream for writing.

    Source: transformers models/qwen4_exp/modeling_qwen4_exp.py (Qwen4ExpTextGatedResidual).
    """
    wide = Size(streams, "n_hc") * hidden
    return HyperConnection(
        name=name,
        streams=streams,
        hidden=hidden,
        writes=writes,
        parts=present(
            rms_norm("hc_norm", wide),
            linear("input_mix_weight_down", wide, Size(rank, "r_hc")),
            linear("input_mix_weight_up", Size(rank, "r_hc"), wide),
            linear("block_inject_weight", wide, streams) if writes else None,
        ),
        fields=("hc_count", "hc_lowrank"),
    )
