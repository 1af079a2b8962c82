"""Attention over a window of positions and a compressed memory of all earlier ones."""

from __future__ import annotations

from typing import ClassVar

from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, Flow, Port, weight
from archscope.blocks.leaves import linear, rms_norm
from archscope.blocks.size import Size
from archscope.records import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class CompressedAttention(Attention):
    """Many query heads over one vector per position that is both key and value, with a low-rank way in and out.

    Without a `rate` a layer sees the last `window` positions. With one it sees the last `local` positions, and an entry
    for each `rate` positions before them, of which an indexer picks `top_k` where it is set. Parts carry the roles q_a,
    q_a_norm, q_b, kv, k_norm, compressor, indexer, sinks, o_a, o.
    Shapes: queries (T, num_heads, head_dim), keys and values (T, head_dim); the output in `groups`, each of low rank.
    Source: transformers models/deepseek_v4/modeling_deepseek_v4.py (DeepseekV4Attention).
    """

    q_rank: int
    groups: int = 1
    local: int | None = None
    rate: int | None = None
    top_k: int | None = None
    index_width: int = 0

    @property
    def cache_width(self) -> int:
        """Elements that one layer keeps per token inside its window."""
        return self.head_dim

    @property
    def compressed_width(self) -> int:
        """Elements that one layer keeps for each `rate` tokens: an entry, and its index key."""
        return self.head_dim + self.index_width if self.rate else 0

    @property
    def in_width(self) -> int | None:
        first = self.find("q_a")
        return first.in_width if first else None

    def flows(self) -> tuple[Flow, ...]:
        """Queries through a rank, one key that is the value, the memory, and the way out through groups."""
        flows: list[Flow] = []
        at = Port("in")
        for role in ("q_a", "q_a_norm", "q_b"):
            if (part := self.find(role)) is not None:
                flows.append(Flow(at, Port(role, part.in_width)))
                at = Port(role, part.out_width)
        query = self.num_heads * self.head_dim
        flows += [Flow(at, Port("#rope", query)), Flow(Port("#rope", query), Port("#attend", query))]
        at = Port("in")
        for role in ("kv", "k_norm"):
            if (part := self.find(role)) is not None:
                flows.append(Flow(at, Port(role, part.in_width)))
                at = Port(role, part.out_width)
        flows.append(Flow(at, Port("#attend", self.head_dim), "cache"))
        for role in ("compressor", "indexer"):
            if self.find(role) is not None:
                flows += [Flow(Port("in"), Port(role)), Flow(Port(role), Port("#attend"), "cache")]
        flows.append(Flow(Port("#attend", query // self.groups), self._into("o_a")))
        out = self.find("o_a")
        flows.append(Flow(Port("o_a", None if out is None else out.out_width), self._into("o")))
        flows.append(Flow(Port("o", self.out_width), Port("out")))
        return tuple(flows)

    def _into(self, role: str) -> Port:
        part = self.find(role)
        return Port(role, None if part is None else part.in_width)


@dataclass(frozen=True, kw_only=True, slots=True)
class Compressor(Block):
    """Weighs and sums each `rate` positions to one entry of a memory.

    Parts carry the roles values, weights, bias (one for each position of a group), norm.
    """

    component: ClassVar[str] = "attention"

    rate: int
    width: int
    parts: tuple[Block, ...]

    def children(self) -> tuple[Block, ...]:
        return self.parts

    @property
    def out_width(self) -> int | None:
        return self.width

    def flows(self) -> tuple[Flow, ...]:
        """Values times weights, summed over a group, normed."""
        flows = [Flow(Port("in"), Port(role)) for role in ("values", "weights")]
        flows += [Flow(Port(role), Port("#pool")) for role in ("values", "weights", "bias")]
        pooled = Port("#pool", self.width)
        return (*flows, Flow(pooled, Port("norm", self.width)), Flow(Port("norm", self.width), Port("out", self.width)))


def compressor(hidden: int, width: int, rate: int, *, overlap: bool, name: str = "compressor") -> Compressor:
    """A compressor; with `overlap` it makes two vectors a position, for its own entry and the next.

    Shapes: matrices (width or 2·width, d), bias (rate, width or 2·width), norm (width,).
    """
    wide = 2 * Size(width, "d_c") if overlap else Size(width, "d_c")
    return Compressor(
        name=name,
        role="compressor",
        rate=rate,
        width=width,
        parts=(
            linear("wkv", hidden, wide, role="values"),
            linear("wgate", hidden, wide, role="weights"),
            weight("ape", rate, wide, role="bias"),
            rms_norm("norm", width, role="norm"),
        ),
    )
