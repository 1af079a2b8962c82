"""Attention within buckets of similar positions, found by locality-sensitive hashing."""

from __future__ import annotations

from archscope.blocks.attention import Attention
from archscope.blocks.base import Flow, Port
from archscope.records import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class HashedAttention(Attention):
    """Queries are keys: one matrix makes both, and `num_hashes` rounds of hashing sort them into buckets.

    Parts carry the roles q (for queries and keys), v, o.
    Source: Reformer (arXiv 2001.04451) section 2.
    """

    num_hashes: int = 1
    num_buckets: int | None = None

    def flows(self) -> tuple[Flow, ...]:
        """Shared queries and keys to the buckets, values beside them."""
        width, v_width = self.num_heads * self.head_dim, self.num_heads * self.v_head_dim
        q, v, out = (self.find(role) for role in ("q", "v", "o"))
        return (
            Flow(Port("in"), Port("q", None if q is None else q.in_width)),
            Flow(Port("in"), Port("v", None if v is None else v.in_width)),
            Flow(Port("q", None if q is None else q.out_width), Port("#hash", width)),
            Flow(Port("#hash", width), Port("#attend", width), "cache"),
            Flow(Port("v", None if v is None else v.out_width), Port("#attend", v_width), "cache"),
            Flow(Port("#attend", v_width), Port("o", None if out is None else out.in_width)),
            Flow(Port("o"), Port("out")),
        )
