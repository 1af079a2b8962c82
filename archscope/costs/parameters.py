"""Parameters: total, active per token, and by component, without spelling out a tensor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from archscope.blocks.assembly import Architecture, Tower
from archscope.blocks.base import Block, Repeating, Weight
from archscope.blocks.mlp import Mlp
from archscope.blocks.moe import Experts
from archscope.records import dataclass

COMPONENTS = (
    "embedding",
    "attention",
    "state",
    "ffn",
    "experts",
    "shared",
    "routing",
    "norms",
    "tower",
    "head",
    "other",
)
"""In the order of the figures."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """How many numbers are learned.

    Units: parameters, exact. A tensor that two modules share counts once; saved buffers and next-token-prediction layers
    are apart. `active` takes part in one token: all but the experts that the router leaves out; `embedding_lookup` of it
    are tables of which a token reads one row.
    """

    total: int
    active: int
    by_component: Mapping[str, int]
    active_by_component: Mapping[str, int]
    embedding_lookup: int
    buffers: int
    extra: int

    @property
    def trainable(self) -> int:
        """All of them: a config freezes nothing."""
        return self.total


class _Tally:
    def __init__(self) -> None:
        self.all: Counter[str] = Counter()
        self.active: Counter[str] = Counter()
        self.buffers = 0

    def add(self, block: Block, component: str, times: int, share: tuple[int, int]) -> None:
        component = component or _component(block)
        if block.tied_to:
            for own in block.weights():
                if own is not block and own.name == "bias":
                    self._weight(own, component, times, share)
            return
        if isinstance(block, Experts):
            share = (min(block.active, block.count), max(block.count, 1))
        for own in block.weights():
            self._weight(own, component, times, share)
        if isinstance(block, Repeating):
            for part, count in block.kinds():
                self._part(part, component, times * count, (0, 1) if part.role == "unused" else share)
        elif not isinstance(block, Weight):
            for part in block.children():
                self._part(part, component, times, share)

    def _part(self, part: Block, component: str, times: int, share: tuple[int, int]) -> None:
        shared = part.role == "shared" and isinstance(part, Mlp)
        self.add(part, component or ("shared" if shared else ""), times, share)

    def _weight(self, own: Weight, component: str, times: int, share: tuple[int, int]) -> None:
        number = own.numel * times
        if not own.parameter:
            self.buffers += number
            return
        self.all[component or "other"] += number
        self.active[component or "other"] += number * share[0] // share[1]


def count(architecture: Architecture) -> Parameters:
    """The parameters of an architecture.

    Source: parameters of one class as transformers builds it; active ones as publishers of MoE models count them.
    """
    tally = _sum(architecture.parts)
    extra = _sum(architecture.extra)
    ordered = {name: tally.all[name] for name in COMPONENTS if tally.all[name]}
    active = {name: tally.active[name] for name in COMPONENTS if tally.active[name]}
    return Parameters(
        total=sum(ordered.values()),
        active=sum(active.values()),
        by_component=MappingProxyType(ordered),
        active_by_component=MappingProxyType(active),
        embedding_lookup=ordered.get("embedding", 0),
        buffers=tally.buffers,
        extra=sum(extra.all.values()),
    )


def of_block(block: Block) -> int:
    """Parameters of one block with everything in it."""
    return sum(_sum((block,)).all.values())


def active_of_block(block: Block) -> int:
    """Parameters of one block that take part in one token."""
    return sum(_sum((block,)).active.values())


def _sum(parts: Sequence[Block]) -> _Tally:
    tally = _Tally()
    for part in parts:
        tally.add(part, "", 1, (1, 1))
    return tally


def _component(block: Block) -> str:
    if isinstance(block, Tower):
        return "" if block.is_main else "tower"
    return block.component
