"""The DeepSeek lineage: latent attention and fine-grained experts with shared ones."""

from __future__ import annotations

from collections.abc import Callable

from archscope.blocks.assembly import Architecture, Sublayer, pre_norm
from archscope.blocks.base import Block
from archscope.blocks.factories import kinds, latent_attention, mlp, moe, named_norm, size
from archscope.blocks.indexer import sparse_indexer
from archscope.blocks.moe import Moe
from archscope.blocks.prediction import prediction_layers
from archscope.blocks.routed import grouped_moe, sparse_layers
from archscope.blocks.size import Size
from archscope.blocks.skeletons import decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("deepseek_v2")
def deepseek_v2(c: Config) -> Architecture:
    """Dense layers first, then softmax-routed experts beside shared ones; mlp_bias is for the dense and shared blocks.

    Source: transformers, models/deepseek_v2/modeling_deepseek_v2.py; arXiv 2405.04434 section 2.
    """
    return _decoder(c, lambda: latent_attention(c, bias=c.attention_bias), lambda: _softmax_experts(c), c.mlp_bias)


@family("deepseek_v3", "sarvam_mla")
def deepseek_v3(c: Config) -> Architecture:
    """Dense layers first, then sigmoid-routed experts whose choice a saved bias corrects.

    Source: transformers, models/deepseek_v3/modeling_deepseek_v3.py; arXiv 2412.19437 section 2.1.
    """
    return _decoder(c, lambda: latent_attention(c, bias=c.attention_bias), lambda: grouped_moe(c))


@family("deepseek_v32")
def deepseek_v32(c: Config) -> Architecture:
    """DeepSeek-V3 with an indexer in every layer that picks the positions to attend to.

    Source: transformers, models/deepseek_v32/modeling_deepseek_v32.py (DeepseekV32Indexer); arXiv 2512.02556.
    """
    return _decoder(
        c,
        lambda: latent_attention(
            c,
            bias=c.attention_bias,
            extras=(
                sparse_indexer(
                    size(c, "hidden_size"),
                    size(c, "q_lora_rank"),
                    num_heads=c.index_n_heads,
                    head_dim=c.index_head_dim,
                    top_k=c.index_topk,
                ),
            ),
        ),
        lambda: grouped_moe(c),
    )


def _decoder(
    c: Config, mixer: Callable[[], Block], experts: Callable[[], Block], mlp_bias: bool = False
) -> Architecture:
    norm = named_norm(c)

    def layer(kind: object) -> tuple[Sublayer, ...]:
        feed_forward = experts() if kind in ("moe", "sparse") else mlp(c, bias=mlp_bias)
        return pre_norm((norm("input_layernorm"), mixer()), (norm("post_attention_layernorm"), feed_forward))

    if c.get("mlp_layer_types") is not None:
        plan, last = kinds(c, "mlp_layer_types"), "sparse"
    else:
        plan, last = sparse_layers(c, c.first_k_dense_replace), "moe"
    tower = decoder(c, layer, kinds=plan, final_norm=norm("norm"))
    return with_head(c, tower, extra=prediction_layers(c, layer, last))


def _softmax_experts(c: Config) -> Moe:
    """The router has no correction; group_limited_greedy limits the choice to the best groups."""
    limited = c.topk_method == "group_limited_greedy"
    width = Size(c.moe_intermediate_size, "m_e")
    return moe(
        c,
        num_experts=c.n_routed_experts,
        top_k=c.num_experts_per_tok or 0,
        width=width,
        scale=c.routed_scaling_factor,
        groups=c.n_group if limited and c.n_group else 1,
        top_groups=c.topk_group if limited and c.topk_group else 1,
        shared=mlp(
            c,
            name="shared_experts",
            role="shared",
            bias=c.mlp_bias,
            width=width * c.n_shared_experts,
            fields=("n_shared_experts", "moe_intermediate_size"),
        ),
        num_shared=c.n_shared_experts,
        fields=("n_routed_experts", "num_experts_per_tok", "moe_intermediate_size", "n_group", "topk_group"),
    )
