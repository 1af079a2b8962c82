"""Solar Open: sigmoid-routed experts by groups beside shared ones, in every layer."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.base import weight
from archscope.blocks.factories import attention, mlp, moe
from archscope.blocks.moe import Moe
from archscope.blocks.size import Size
from archscope.blocks.skeletons import pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("solar_open")
def solar_open(c: Config) -> Architecture:
    """Pre-norm decoder; a saved bias corrects the choice of experts.

    Source: transformers, models/solar_open/modeling_solar_open.py (SolarOpenMoE).
    """
    tower = pre_norm_decoder(
        c, lambda kind: attention(c, bias=c.attention_bias, out_bias=False), lambda kind: _experts(c)
    )
    return with_head(c, tower)


def _experts(c: Config) -> Moe:
    e, m = Size(c.n_routed_experts, "E"), c.moe_intermediate_size
    return moe(
        c,
        num_experts=e,
        top_k=c.num_experts_per_tok,
        width=m,
        correction=weight("e_score_correction_bias", e, parameter=False),
        scoring="sigmoid",
        normalised=c.norm_topk_prob,
        scale=c.routed_scaling_factor,
        groups=c.n_group,
        top_groups=c.topk_group,
        shared=mlp(
            c,
            name="shared_experts",
            role="shared",
            width=Size(m * c.n_shared_experts, "m_e·n_shared"),
            fields=("n_shared_experts", "moe_intermediate_size"),
        ),
        num_shared=c.n_shared_experts,
        fields=("n_routed_experts", "num_experts_per_tok", "moe_intermediate_size", "n_group", "topk_group"),
    )
