"""Mixtures of experts as most recent decoders have them: sigmoid scores, a bias that only steers, shared experts."""

from __future__ import annotations

from typing import Literal

from archscope.blocks.base import weight
from archscope.blocks.factories import mlp, moe, size, stacked_experts
from archscope.blocks.moe import Moe
from archscope.blocks.size import Size
from archscope.config import Config

Scoring = Literal["softmax", "sigmoid", "sqrtsoftplus", "none"]


def grouped_moe(
    c: Config,
    *,
    name: str = "mlp",
    num_experts: int | None = None,
    num_shared: int | None = None,
    width: int | None = None,
    shared_width: int | None = None,
    shared_name: str = "shared_experts",
    router: str = "gate",
    scores: str = "",
    correction: str = "e_score_correction_bias",
    correction_shape: tuple[int, ...] = (),
    trained: bool = False,
    names: tuple[str, str, str] = ("gate_proj", "up_proj", "down_proj"),
    bias: bool = False,
    scoring: Scoring = "sigmoid",
    normalised: bool | None = None,
    scale: float | None = None,
    activation: str | None = None,
    together: bool = False,
) -> Moe:
    """Routed experts chosen by groups, and shared ones that are one block of several times an expert's width.

    Numbers not given come from n_routed_experts, n_shared_experts, moe_intermediate_size and their kin. `correction`
    names the saved bias on the scores, "" for none; it is a parameter where `trained`, else a buffer. `shared_width` is
    the width of one shared expert; `bias` is that of the shared block. `together` where the experts are saved as two
    tensors, gate and up in one.
    """
    e = Size(c.n_routed_experts if num_experts is None else num_experts, "E")
    shared = c.n_shared_experts if num_shared is None else num_shared
    m = c.moe_intermediate_size if width is None else width
    one = m if shared_width is None else shared_width
    fields = ("n_routed_experts", "num_experts_per_tok", "moe_intermediate_size", "n_group", "topk_group")
    return moe(
        c,
        name=name,
        num_experts=e,
        top_k=c.num_experts_per_tok or 0,
        width=m,
        router=router,
        scores=scores,
        names=names,
        stacked=stacked_experts(e, size(c, "hidden_size"), Size(m, "m_e")) if together else (),
        activation=activation,
        correction=weight(correction, *(correction_shape or (e,)), parameter=trained) if correction else None,
        scoring=scoring,
        normalised=bool(c.get("norm_topk_prob", True)) if normalised is None else normalised,
        scale=c.get("routed_scaling_factor", 1.0) if scale is None else scale,
        groups=c.get("n_group") or 1,
        top_groups=c.get("topk_group") or 1,
        shared=mlp(
            c,
            name=shared_name,
            role="shared",
            names=names,
            bias=bias,
            activation=activation,
            width=Size(one * shared, "m_e·n_shared"),
            hidden=size(c, "hidden_size"),
            fields=("n_shared_experts", "moe_intermediate_size"),
        )
        if shared_name
        else None,
        num_shared=shared,
        fields=tuple(field for field in fields if field in c),
    )


def scoring(name: object) -> Scoring:
    """The function over a router's scores that a config names; "none" for one that is not known."""
    for known in ("softmax", "sigmoid", "sqrtsoftplus"):
        if name == known:
            return known
    return "none"


def sparse_layers(c: Config, first_dense: int) -> tuple[str, ...]:
    """Which feed-forward each layer has: "dense" for the first ones, "moe" for the rest."""
    count: int = c.num_hidden_layers
    dense = max(0, min(first_dense, count))
    return ("dense",) * dense + ("moe",) * (count - dense)
