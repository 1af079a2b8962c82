"""Matrix products chosen token by token: one of several matrices, picked by a router."""

from __future__ import annotations

from archscope.blocks.base import weight
from archscope.blocks.moe import Experts
from archscope.blocks.size import Size
from archscope.records import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class ExpertProjection(Experts):
    """`count` matrices in one tensor, of which a token uses `active`; together those give `outputs` features.

    Where it `gathers`, every active matrix has an input of its own, and what they give is summed.

    Shapes: weight (count, out of one, in). Source: JetMoE (arXiv 2404.07413) section 2.3, mixture of attention heads.
    """

    outputs: int
    gathers: bool = False

    @property
    def in_width(self) -> int | None:
        return self.active * self.hidden if self.gathers else self.hidden

    @property
    def out_width(self) -> int | None:
        return self.outputs


def expert_projection(
    name: str, count: int, active: int, inputs: int, each: int, *, role: str, outputs: int | None = None
) -> ExpertProjection:
    """Matrices from `inputs` to `each` features; those of the active ones side by side, or summed to `outputs`."""
    return ExpertProjection(
        name=name,
        role=role,
        count=Size(count, "E"),
        active=active,
        hidden=inputs,
        width=each,
        gated=False,
        activation="",
        stacked=(weight("weight", Size(count, "E"), each, inputs),),
        outputs=active * each if outputs is None else outputs,
        gathers=outputs is not None,
    )
