"""The MiniMax lineage: lightning attention first, then full attention with experts, then indexed attention."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Branch, Sublayer
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, weight
from archscope.blocks.factories import (
    attention,
    epsilon,
    head_size,
    kinds,
    mlp,
    moe,
    named_norm,
    size,
    stacked_experts,
)
from archscope.blocks.indexer import SparseIndexer
from archscope.blocks.leaves import linear, rms_norm
from archscope.blocks.lightning import lightning_attention
from archscope.blocks.moe import Moe
from archscope.blocks.size import Size
from archscope.blocks.skeletons import decoder, pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("minimax")
def minimax(c: Config) -> Architecture:
    """Lightning and softmax attention by layer_types; factors for the residual stream and for what is added to it.

    Source: transformers, models/minimax/modeling_minimax.py (MiniMaxDecoderLayer).
    """
    norm = named_norm(c)

    def weighed(name: str, body: Block, alpha: float, beta: float) -> Sublayer:
        return Sublayer(branches=(Branch(pre=norm(name), body=body, scale=beta),), residual_scale=alpha)

    def layer(kind: str) -> tuple[Sublayer, ...]:
        linear_kind = kind == "linear_attention"
        alpha = c.linear_attn_alpha_factor if linear_kind else c.full_attn_alpha_factor
        beta = c.linear_attn_beta_factor if linear_kind else c.full_attn_beta_factor
        mixer = _lightning(c) if linear_kind else attention(c, window=c.sliding_window)
        return (
            weighed("input_layernorm", mixer, alpha, beta),
            weighed("post_attention_layernorm", _experts(c), c.mlp_alpha_factor, c.mlp_beta_factor),
        )

    return with_head(c, decoder(c, layer, final_norm=norm("norm")))


@family("minimax_m2")
def minimax_m2(c: Config) -> Architecture:
    """Norms over all queries and all keys; sigmoid-routed experts whose choice a saved bias corrects.

    Source: transformers, models/minimax_m2/modeling_minimax_m2.py.
    """
    tower = pre_norm_decoder(c, lambda kind: attention(c, qk_norm="full"), lambda kind: _experts(c, corrected=True))
    return with_head(c, tower)


@family("minimax_m3_vl_text")
def minimax_m3_vl_text(c: Config) -> Architecture:
    """Sparse layers attend to blocks of positions that an indexer picks; experts or a dense MLP by mlp_layer_types.

    Source: transformers, models/minimax_m3_vl/modeling_minimax_m3_vl.py (MiniMaxM3VLDecoderLayer).
    """

    def feed_forward(kind: tuple[str, str]) -> Block:
        if kind[1] != "sparse":
            return mlp(c, kind="fused", width=size(c, "dense_intermediate_size"), activation="clamped swiglu")
        return _stacked(c)

    tower = pre_norm_decoder(
        c,
        lambda kind: _attention(c, kind[0] == "minimax_m3_sparse"),
        feed_forward,
        kinds=kinds(c, "layer_types", "mlp_layer_types"),
    )
    return with_head(c, tower)


def _lightning(c: Config) -> Block:
    width = head_size(c)
    return lightning_attention(
        "self_attn",
        size(c, "hidden_size"),
        num_heads=c.num_attention_heads,
        head_dim=width,
        block=c.block_size,
        eps=epsilon(c),
    )


def _experts(c: Config, *, corrected: bool = False) -> Moe:
    e = Size(c.num_local_experts, "E")
    bias = weight("e_score_correction_bias", e, parameter=False)
    return moe(
        c,
        name="block_sparse_moe",
        num_experts=e,
        top_k=c.num_experts_per_tok,
        width=c.intermediate_size,
        router="" if corrected else "gate",
        scores="gate" if corrected else "",
        names=("w1", "w3", "w2"),
        correction=bias if corrected else None,
        scoring="sigmoid" if corrected else "softmax",
        normalised=True,
        fields=("num_local_experts", "num_experts_per_tok", "intermediate_size"),
    )


def _stacked(c: Config) -> Moe:
    d, e = size(c, "hidden_size"), Size(c.num_local_experts, "E")
    return moe(
        c,
        num_experts=e,
        top_k=c.num_experts_per_tok,
        width=c.intermediate_size,
        stacked=stacked_experts(e, d, c.intermediate_size),
        activation="clamped swiglu",
        correction=weight("e_score_correction_bias", e, parameter=False),
        scoring="sigmoid",
        normalised=True,
        scale=c.routed_scaling_factor,
        shared=mlp(
            c,
            name="shared_experts",
            role="shared",
            kind="fused",
            width=size(c, "shared_intermediate_size"),
            activation="clamped swiglu",
            fields=("shared_intermediate_size",),
        ),
        num_shared=1,
        fields=("num_local_experts", "num_experts_per_tok", "intermediate_size"),
    )


def _attention(c: Config, indexed: bool) -> Attention:
    d, heads, width = size(c, "hidden_size"), Size(c.index_n_heads, "h_idx"), Size(c.index_head_dim, "d_idx")
    indexer = SparseIndexer(
        name="indexer",
        role="indexer",
        num_heads=heads,
        head_dim=width,
        top_k=c.index_topk_blocks,
        pool=c.index_block_size,
        parts=(
            linear("q_proj", d, heads * width, role="q"),
            linear("k_proj", d, width, role="k"),
            rms_norm("q_norm", width, role="q_norm"),
            rms_norm("k_norm", width, role="k_norm"),
        ),
        fields=("index_n_heads", "index_head_dim", "index_topk_blocks", "index_block_size"),
    )
    return attention(c, qk_norm="head", extras=(indexer,) if indexed else ())
