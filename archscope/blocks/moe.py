"""Mixture of experts: a router, many small feed-forward blocks, and shared ones that always run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from archscope.blocks.base import Block, Flow, Port, Repeating, Weight
from archscope.blocks.mlp import Mlp
from archscope.records import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Experts(Repeating, Block):
    """Equal feed-forward blocks, of which a token uses a few.

    Either saved one by one under numbers (`expert` carries the tensors) or stacked in tensors with a leading dimension of
    `count` (`stacked` carries them). Past them a router may choose `num_zero` experts that give back their input; what
    is saved for one of those is `zero`, with the role "unused". Numbers begin at `first`, where other experts stand
    before. Units: count and active are experts, width is m_e.
    """

    component: ClassVar[str] = "experts"

    count: int
    active: int
    hidden: int
    width: int
    gated: bool
    activation: str
    expert: Block | None = None
    stacked: tuple[Weight, ...] = ()
    num_zero: int = 0
    zero: Block | None = None
    first: int = 0

    def children(self) -> tuple[Block, ...]:
        if self.expert is None:
            return self.stacked
        return (self.expert,) if self.zero is None else (self.expert, self.zero)

    def indexed(self) -> Iterator[tuple[str, Block]]:
        if self.expert is None:
            for part in self.stacked:
                yield "", part
            return
        end = self.first + self.count
        for index in range(self.first, end):
            yield str(index), self.expert
        if self.zero is not None:
            for index in range(end, end + self.num_zero):
                yield str(index), self.zero

    def kinds(self) -> tuple[tuple[Block, int], ...]:
        if self.expert is None:
            return tuple((part, 1) for part in self.stacked)
        own = ((self.expert, self.count),)
        return own if self.zero is None else (*own, (self.zero, self.num_zero))

    @property
    def in_width(self) -> int | None:
        return self.hidden

    @property
    def out_width(self) -> int | None:
        return self.hidden

    def flows(self) -> tuple[Flow, ...]:
        return ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Router(Block):
    """Scores the experts for a token and picks some.

    `groups` and `top_groups` limit the choice to the best groups of experts; `scoring` is the function over the scores.
    `by_token` is True where a table says which experts a token's id gets; scores then only weigh them.
    """

    component: ClassVar[str] = "routing"

    num_experts: int
    top_k: int
    hidden: int
    parts: tuple[Block, ...]
    scoring: Literal["softmax", "sigmoid", "sqrtsoftplus", "none"] = "softmax"
    normalised: bool = False
    scale: float = 1.0
    groups: int = 1
    top_groups: int = 1
    bias_corrected: bool = False
    by_token: bool = False

    def children(self) -> tuple[Block, ...]:
        return self.parts

    @property
    def in_width(self) -> int | None:
        return self.hidden

    @property
    def out_width(self) -> int | None:
        return None

    def flows(self) -> tuple[Flow, ...]:
        return ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Moe(Block):
    """Routed experts, with shared ones beside them where `shared` is set.

    The output is the weighted sum of the active experts plus the shared block (times its gate where there is one) and
    the `bias`. Where experts work in a width of their own, `narrow` leads into it and `widen` back.
    """

    router: Router
    experts: Experts
    shared: Mlp | None = None
    num_shared: int = 0
    shared_gate: Block | None = None
    bias: Weight | None = None
    narrow: Block | None = None
    widen: Block | None = None

    def children(self) -> tuple[Block, ...]:
        parts = (self.router, self.narrow, self.experts, self.widen, self.shared, self.shared_gate, self.bias)
        return tuple(part for part in parts if part is not None)

    @property
    def in_width(self) -> int | None:
        return self.experts.hidden if self.narrow is None else self.narrow.in_width

    @property
    def out_width(self) -> int | None:
        return self.experts.hidden if self.widen is None else self.widen.out_width

    def flows(self) -> tuple[Flow, ...]:
        """Router to experts, shared beside them, one sum."""
        router, experts = self.router.role or "router", self.experts.role or "experts"
        flows = [
            Flow(Port("in"), Port(router, self.router.in_width)),
            Flow(Port(router), Port(experts)),
        ]
        at = Port("in")
        for part in (self.narrow, self.experts, self.widen):
            if part is not None:
                flows.append(Flow(at, Port(part.role or experts, part.in_width)))
                at = Port(part.role or experts, part.out_width)
        flows.append(Flow(at, Port("#sum", self.out_width)))
        if self.shared is not None:
            flows.append(Flow(Port("in"), Port("shared", self.shared.in_width)))
            flows.append(Flow(Port("shared", self.shared.out_width), Port("#sum", self.out_width)))
        if self.shared_gate is not None:
            flows.append(Flow(Port("in"), Port("shared_gate", self.shared_gate.in_width)))
            flows.append(Flow(Port("shared_gate"), Port("#sum")))
        flows.append(Flow(Port("#sum", self.out_width), Port("out")))
        return tuple(flows)
