"""The indexer of sparse attention: small heads that pick which earlier positions a query attends to."""

from __future__ import annotations

from typing import ClassVar

from archscope.blocks.base import Block, Flow, Port
from archscope.blocks.leaves import layer_norm, linear
from archscope.blocks.size import Size
from archscope.records import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class SparseIndexer(Block):
    """Scores every earlier position with cheap heads and keeps the best `top_k` for the attention proper.

    Shapes: queries (T, num_heads, head_dim) from the query latent, one shared key (T, head_dim), a weight per head.
    `pool` is how many positions one index entry stands for. Parts carry the roles q, k, k_norm, weights, compressor.
    Source: DeepSeek-V3.2 (arXiv 2512.02556) section 2.1, lightning indexer.
    """

    component: ClassVar[str] = "attention"

    num_heads: int
    head_dim: int
    top_k: int
    parts: tuple[Block, ...]
    pool: int = 1

    def children(self) -> tuple[Block, ...]:
        return self.parts

    @property
    def cache_width(self) -> int:
        """Elements of index keys that one layer keeps per entry."""
        return self.head_dim

    @property
    def in_width(self) -> int | None:
        """None: it reads both the layer's input and the query latent."""
        return None

    @property
    def out_width(self) -> int | None:
        """None: it gives positions, not features."""
        return None

    def flows(self) -> tuple[Flow, ...]:
        """Queries and keys to the scores, which choose positions."""
        flows = []
        for part in self.parts:
            if part.role == "k_norm":
                flows.append(Flow(Port("k", part.in_width), Port("k_norm", part.in_width)))
                flows.append(Flow(Port("k_norm", part.in_width), Port("#topk"), "cache"))
            elif part.role in ("q", "k", "weights"):
                flows.append(Flow(Port("in"), Port(part.role, part.in_width)))
                if part.role != "k":
                    flows.append(Flow(Port(part.role), Port("#topk")))
            elif part.role == "compressor":
                flows += [Flow(Port("in"), Port(part.role)), Flow(Port(part.role), Port("#topk"), "cache")]
        flows.append(Flow(Port("#topk"), Port("out")))
        return tuple(flows)


def sparse_indexer(
    hidden: int,
    query_rank: int,
    *,
    num_heads: int,
    head_dim: int,
    top_k: int,
    name: str = "indexer",
    pool: int = 1,
    extras: tuple[Block, ...] = (),
) -> SparseIndexer:
    """Queries from the query latent, keys and head weights from the hidden states; a LayerNorm on the keys."""
    h, width = Size(num_heads, "h_idx"), Size(head_dim, "d_idx")
    return SparseIndexer(
        name=name,
        role="indexer",
        num_heads=h,
        head_dim=width,
        top_k=top_k,
        pool=pool,
        parts=(
            linear("wq_b", query_rank, h * width, role="q"),
            linear("wk", hidden, width, role="k"),
            layer_norm("k_norm", width, role="k_norm"),
            linear("weights_proj", hidden, h, role="weights"),
            *extras,
        ),
        fields=("index_n_heads", "index_head_dim", "index_topk"),
    )
