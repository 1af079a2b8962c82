"""Plain experts behind a linear router, saved under labels with a number in them (expert_0, expert_1, ...)."""

from __future__ import annotations

from collections.abc import Iterator

from archscope.blocks.base import Block
from archscope.blocks.leaves import linear
from archscope.blocks.mlp import Mlp
from archscope.blocks.moe import Experts, Moe, Router
from archscope.blocks.size import Size
from archscope.records import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelledExperts(Experts):
    """Experts whose module names are a label and a number in one segment."""

    label: str = "expert_"

    def indexed(self) -> Iterator[tuple[str, Block]]:
        if self.expert is not None:
            for index in range(self.count):
                yield f"{self.label}{index}", self.expert


def labelled_moe(
    name: str,
    expert: Mlp,
    *,
    num_experts: int,
    top_k: int,
    router_bias: bool,
    normalised: bool = False,
    fields: tuple[str, ...] = (),
) -> Moe:
    """`num_experts` blocks like `expert`, of which a token uses `top_k`; softmax over the scores of router.classifier.

    Source: Switch Transformers (arXiv 2101.03961), NLLB (arXiv 2207.04672).
    """
    e = Size(num_experts, "E")
    return Moe(
        name=name,
        role="moe",
        fields=fields,
        router=Router(
            name="router",
            role="router",
            num_experts=e,
            top_k=top_k,
            hidden=expert.hidden,
            normalised=normalised,
            parts=(linear("classifier", expert.hidden, e, router_bias, role="scores"),),
            fields=fields,
        ),
        experts=LabelledExperts(
            name="experts",
            role="experts",
            count=e,
            active=top_k,
            hidden=expert.hidden,
            width=expert.width,
            gated=expert.gated,
            activation=expert.activation,
            expert=expert,
            fields=fields,
        ),
    )
