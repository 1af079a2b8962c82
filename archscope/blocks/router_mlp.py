"""Routers deeper than one matrix: a small network whose state goes on to the router of the next layer."""

from __future__ import annotations

from archscope.blocks.base import Flow, Port, present, weight
from archscope.blocks.leaves import linear, rms_norm
from archscope.blocks.moe import Router
from archscope.blocks.size import Size
from archscope.records import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class MlpRouter(Router):
    """Scores from a projection to `width`, the state of the router before, a norm and two layers.

    One class more than there are experts stands for skipping them. Parts carry the roles down, norm, fc1, fc2, scores.
    """

    width: int
    carries: bool = True

    def flows(self) -> tuple[Flow, ...]:
        """Down, the state of the layer before, then the network to the scores."""
        flows = [Flow(Port("in", self.hidden), Port("down", self.hidden))]
        if self.carries:
            flows.append(Flow(Port("#before", self.width), Port("#add", self.width)))
        at = Port("#add", self.width)
        flows.append(Flow(Port("down", self.width), at))
        for role in ("norm", "fc1", "fc2", "scores"):
            flows.append(Flow(at, Port(role, self.width)))
            at = Port(role)
        flows.append(Flow(at, Port("out")))
        return tuple(flows)


def mlp_router(hidden: int, width: int, *, num_experts: int, top_k: int, carries: bool, eps: float | None) -> MlpRouter:
    """A router named gate, with a saved bias on its choice. Source: transformers models/zaya (ZayaRouter)."""
    r = Size(width, "d_router")
    classes = Size(num_experts, "E") + 1
    return MlpRouter(
        name="gate",
        role="router",
        num_experts=num_experts,
        top_k=top_k,
        hidden=hidden,
        width=r,
        carries=carries,
        bias_corrected=True,
        parts=present(
            linear("down_proj", hidden, r, True, role="down"),
            weight("router_states_scale", r) if carries else None,
            rms_norm("router_mlp.norm", r, role="norm", eps=eps),
            linear("router_mlp.fc1", r, r, True, role="fc1"),
            linear("router_mlp.fc2", r, r, True, role="fc2"),
            linear("router_mlp.out_proj", r, classes, role="scores"),
            weight("balancing_biases", classes, parameter=False),
        ),
        fields=("num_experts", "num_experts_per_tok", "router_hidden_size"),
    )
