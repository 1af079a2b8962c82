"""The Ministral lineage: Mistral's decoder with layers that slide and others that do not, and its successors."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.base import Block
from archscope.blocks.factories import attention, latent_attention, mlp, moe, size, sliding_window, stacked_experts
from archscope.blocks.moe import Moe
from archscope.blocks.size import Size
from archscope.blocks.skeletons import QA_PREFIX, pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("ministral")
def ministral(c: Config) -> Architecture:
    """Pre-norm decoder without biases; layer_types says which layers slide.

    Source: transformers, models/ministral/modeling_ministral.py (MinistralAttention).
    """
    tower = pre_norm_decoder(
        c,
        lambda kind: attention(c, layer_type=str(kind), window=sliding_window(c, kind)),
        lambda kind: mlp(c),
    )
    return with_head(c, tower, prefixes=QA_PREFIX)


@family("ministral3")
def ministral3(c: Config) -> Architecture:
    """Queries grow with their position (Llama 4's scaling); every layer slides where sliding_window is set.

    Source: transformers, models/ministral3/modeling_ministral3.py (Ministral3Attention).
    """
    tower = pre_norm_decoder(
        c, lambda kind: attention(c, window=c.sliding_window), lambda kind: mlp(c), kinds=("",) * c.num_hidden_layers
    )
    return with_head(c, tower)


@family("mistral4")
def mistral4(c: Config) -> Architecture:
    """Latent attention, dense layers first, then softmax-routed experts in stacked tensors beside shared ones.

    Source: transformers, models/mistral4/modeling_mistral4.py (Mistral4DecoderLayer, Mistral4MoE).
    """

    def feed_forward(kind: object) -> Block:
        return _experts(c) if kind == "moe" else mlp(c)

    dense = min(max(c.first_k_dense_replace, 0), c.num_hidden_layers)
    kinds = ("dense",) * dense + ("moe",) * (c.num_hidden_layers - dense)
    tower = pre_norm_decoder(c, lambda kind: latent_attention(c, bias=c.attention_bias), feed_forward, kinds=kinds)
    return with_head(c, tower)


def _experts(c: Config) -> Moe:
    e, m = Size(c.n_routed_experts, "E"), c.moe_intermediate_size
    return moe(
        c,
        num_experts=e,
        top_k=c.num_experts_per_tok,
        width=m,
        stacked=stacked_experts(e, size(c, "hidden_size"), m),
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
