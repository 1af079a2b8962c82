"""JetMoE: experts in the MLP and in the query and output matrices of attention."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.attention import Attention
from archscope.blocks.base import weight
from archscope.blocks.expert_projection import expert_projection
from archscope.blocks.factories import rope, size
from archscope.blocks.leaves import linear
from archscope.blocks.moe import Experts, Moe, Router
from archscope.blocks.size import Size
from archscope.blocks.skeletons import pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family

FIELDS = ("num_local_experts", "num_experts_per_tok")


@family("jetmoe")
def jetmoe(c: Config) -> Architecture:
    """A token's k experts make k sets of query heads over the same keys and values.

    Source: transformers, models/jetmoe/modeling_jetmoe.py (JetMoeMoA, JetMoeMoE); arXiv 2404.07413.
    """
    return with_head(c, pre_norm_decoder(c, lambda kind: _attention(c), lambda kind: _experts(c)))


def _router(c: Config, name: str) -> Router:
    d, e, k = size(c, "hidden_size"), Size(c.num_local_experts, "E"), c.num_experts_per_tok
    scores = linear("layer", d, e, role="scores")
    return Router(name=name, role="router", num_experts=e, top_k=k, hidden=d, parts=(scores,), normalised=True)


def _attention(c: Config) -> Attention:
    d, e, k = size(c, "hidden_size"), c.num_local_experts, c.num_experts_per_tok
    kv, width = size(c, "num_key_value_heads"), Size(c.kv_channels, "d_h")
    return Attention(
        name="self_attention",
        num_heads=kv * k,
        num_kv_heads=kv,
        head_dim=width,
        v_head_dim=width,
        rope=rope(c, width=int(width)),
        parts=(
            _router(c, "experts.router"),
            expert_projection("experts.input_linear", e, k, d, kv * width, role="q"),
            linear("kv_proj", d, 2 * kv * width, role="kv"),
            expert_projection("experts.output_linear", e, k, kv * width, d, role="o", outputs=d),
            weight("experts.bias", d),
        ),
        fields=("num_key_value_heads", "kv_channels", *FIELDS),
    )


def _experts(c: Config) -> Moe:
    """Stacked under names of their own, with a bias on the sum of what the experts give."""
    d, e, m = size(c, "hidden_size"), Size(c.num_local_experts, "E"), Size(c.intermediate_size, "m_e")
    return Moe(
        name="mlp",
        router=_router(c, "router"),
        experts=Experts(
            role="experts",
            count=e,
            active=c.num_experts_per_tok,
            hidden=d,
            width=m,
            gated=True,
            activation=c.activation_function,
            stacked=(weight("input_linear.weight", e, 2 * m, d), weight("output_linear.weight", e, d, m)),
        ),
        bias=weight("bias", d),
        fields=(*FIELDS, "intermediate_size"),
    )
