"""The DeepSeek lineage: latent attention and fine-grained experts with a shared one."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Sublayer, pre_norm
from archscope.blocks.base import Block, weight
from archscope.blocks.factories import latent_attention, mlp, moe, size
from archscope.blocks.leaves import rms_norm
from archscope.blocks.moe import Moe
from archscope.blocks.size import Size
from archscope.blocks.skeletons import decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("deepseek_v3")
def deepseek_v3(c: Config) -> Architecture:
    """Dense layers first, then sigmoid-routed experts whose choice a saved bias corrects.

    Source: transformers, models/deepseek_v3/modeling_deepseek_v3.py; arXiv 2412.19437 section 2.1.
    """
    d = size(c, "hidden_size")

    def layer(kind: object) -> tuple[Sublayer, ...]:
        feed_forward: Block = experts(c) if kind == "moe" else mlp(c)
        return pre_norm(
            (rms_norm("input_layernorm", d), latent_attention(c, bias=c.attention_bias)),
            (rms_norm("post_attention_layernorm", d), feed_forward),
        )

    dense = min(c.first_k_dense_replace, c.num_hidden_layers)
    kinds = ("dense",) * dense + ("moe",) * (c.num_hidden_layers - dense)
    return with_head(c, decoder(c, layer, kinds=kinds, final_norm=rms_norm("norm", d)))


def experts(c: Config) -> Moe:
    """Routed experts by groups, and shared ones in one block of n_shared_experts times the width."""
    d, e = size(c, "hidden_size"), Size(c.n_routed_experts, "E")
    fields = ("n_routed_experts", "num_experts_per_tok", "moe_intermediate_size", "n_group", "topk_group")
    return moe(
        c,
        num_experts=e,
        top_k=c.num_experts_per_tok,
        width=c.moe_intermediate_size,
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
            width=Size(c.moe_intermediate_size * c.n_shared_experts, "m_e·n_shared"),
            hidden=d,
            fields=("n_shared_experts", "moe_intermediate_size"),
        ),
        num_shared=c.n_shared_experts,
        fields=fields,
    )
