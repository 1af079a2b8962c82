"""Multi-head latent attention (MLA): keys and values are rebuilt from one small latent per token."""

from __future__ import annotations

from typing import ClassVar

from archscope.blocks.attention import Rope
from archscope.blocks.base import Block, Flow, Port
from archscope.blocks.indexer import SparseIndexer
from archscope.records import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class LatentAttention(Block):
    """Attention whose cache is a latent of kv_rank values and one shared rotary key.

    Shapes: queries (T, num_heads, nope_dim + rope_dim), values (T, num_heads, v_head_dim), latent
    (T, kv_rank + rope_dim).
    Parts carry the roles q (or q_a, q_a_norm, q_b), kv_a, kv_a_norm, kv_b, k_rope_norm, gate, indexer, o; q_b_gate is a
    q_b that gives a gate beside the queries. `top_k` is how many positions a query attends to at most, chosen by the
    indexer here or, where there is none, by that of a layer before; None is all that the window leaves.
    `rope` is None where no position enters; `reuses` says whose latent the layer attends to where it makes none itself.
    Source: DeepSeek-V2 (arXiv 2405.04434) section 2.1.
    """

    component: ClassVar[str] = "attention"

    num_heads: int
    nope_dim: int
    rope_dim: int
    v_head_dim: int
    kv_rank: int
    q_rank: int | None
    parts: tuple[Block, ...]
    causal: bool = True
    window: int | None = None
    rope: Rope | None = None
    scale: float | None = None
    reuses: str = ""
    top_k: int | None = None

    def children(self) -> tuple[Block, ...]:
        return self.parts

    @property
    def cache_width(self) -> int:
        """Elements that one layer keeps per token where the latent is cached."""
        return 0 if self.reuses else self.kv_rank + self.rope_dim

    @property
    def expanded_cache_width(self) -> int:
        """Elements that one layer keeps per token where whole keys and values are cached, as transformers does."""
        return 0 if self.reuses else self.num_heads * (self.nope_dim + self.rope_dim + self.v_head_dim)

    @property
    def indexer(self) -> SparseIndexer | None:
        """What chooses the positions that a query sees; None where it sees all of them (or a window)."""
        found = self.find("indexer")
        return found if isinstance(found, SparseIndexer) else None

    @property
    def in_width(self) -> int | None:
        first = self.find("kv_a") or self.find("q") or self.find("q_a")
        return first.in_width if first else None

    @property
    def out_width(self) -> int | None:
        out = self.find("o")
        return out.out_width if out else None

    def flows(self) -> tuple[Flow, ...]:
        """The query path, the latent with its shared rotary key, the product, the way out."""
        flows: list[Flow] = []
        at = Port("in")
        for role in ("q", "q_a", "q_a_norm", "q_b"):
            part = self.find(role)
            if part is not None:
                flows.append(Flow(at, Port(role, part.in_width)))
                at = Port(role, part.out_width)
        if (part := self.find("q_b_gate")) is not None:
            flows += [Flow(at, Port("q_b_gate")), Flow(Port("q_b_gate"), Port("#attend"))]
            at = Port("q_b_gate")
        query = self.num_heads * (self.nope_dim + self.rope_dim)
        product = "#attend" if self.rope is None else "#rope"
        flows.append(Flow(at, Port(product, query)))
        if self.rope is not None:
            flows.append(Flow(Port("#rope", query), Port("#attend", query)))
        for role in ("gate", "indexer"):
            if (part := self.find(role)) is not None:
                flows += [Flow(Port("in"), Port(role, part.in_width)), Flow(Port(role), Port("#attend"))]
        kv_a, norm, kv_b, out = (self.find(role) for role in ("kv_a", "kv_a_norm", "kv_b", "o"))
        if kv_b is not None:
            at = Port("#reused", self.kv_rank)
            if kv_a is not None:
                latent = None if kv_a.out_width is None else kv_a.out_width - self.rope_dim
                flows.append(Flow(Port("in"), Port("kv_a", kv_a.in_width)))
                flows.append(Flow(Port("kv_a", self.rope_dim), Port(product), "cache"))
                at = Port("kv_a", latent)
            if norm is not None:
                flows.append(Flow(at, Port("kv_a_norm", norm.in_width)))
                at = Port("kv_a_norm", norm.out_width)
            flows.append(Flow(at, Port("kv_b", kv_b.in_width), "cache"))
            expanded = self.num_heads * (self.nope_dim + self.v_head_dim)
            flows.append(Flow(Port("kv_b", kv_b.out_width), Port("#attend", expanded)))
        if out is not None:
            flows.append(Flow(Port("#attend", self.num_heads * self.v_head_dim), Port("o", out.in_width)))
            flows.append(Flow(Port("o", out.out_width), Port("out")))
        return tuple(flows)
