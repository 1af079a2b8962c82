"""The GLM lineage: fused gate and up, norms around sublayers (4), DeepSeek-V3's experts and latent attention."""

from __future__ import annotations

from collections.abc import Callable

from archscope.blocks.assembly import Architecture, Sublayer, pre_norm, sandwich_norm
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block
from archscope.blocks.factories import attention, kinds, latent_attention, mlp, named_norm, size
from archscope.blocks.indexer import sparse_indexer
from archscope.blocks.latent_attention import LatentAttention
from archscope.blocks.prediction import prediction_layers
from archscope.blocks.routed import grouped_moe, sparse_layers
from archscope.blocks.skeletons import decoder, pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("glm")
def glm(c: Config) -> Architecture:
    """Llama's layer with gate and up in one matrix, and an output matrix that never has a bias.

    Source: transformers, models/glm/modeling_glm.py.
    """
    return with_head(c, pre_norm_decoder(c, lambda kind: _attention(c), lambda kind: mlp(c, kind="fused")))


@family("glm4")
def glm4(c: Config) -> Architecture:
    """GLM with one more norm after each sublayer.

    Source: transformers, models/glm4/modeling_glm4.py (Glm4DecoderLayer).
    """
    norm = named_norm(c)
    tower = decoder(
        c,
        lambda kind: sandwich_norm(
            (norm("input_layernorm"), _attention(c), norm("post_self_attn_layernorm")),
            (norm("post_attention_layernorm"), mlp(c, kind="fused"), norm("post_mlp_layernorm")),
        ),
        final_norm=norm("norm"),
    )
    return with_head(c, tower)


@family("glm4_moe")
def glm4_moe(c: Config) -> Architecture:
    """Dense layers first, then sigmoid-routed experts; norms on queries and keys where use_qk_norm is true.

    Source: transformers, models/glm4_moe/modeling_glm4_moe.py.
    """
    plan = tuple((kind,) for kind in sparse_layers(c, c.first_k_dense_replace))
    return _sparse(c, lambda kind: _attention(c, qk_norm=c.use_qk_norm), plan, ("moe",))


@family("glm4_moe_lite")
def glm4_moe_lite(c: Config) -> Architecture:
    """Latent attention and sigmoid-routed experts where mlp_layer_types says sparse.

    Source: transformers, models/glm4_moe_lite/modeling_glm4_moe_lite.py.
    """
    plan = tuple((kind,) for kind in kinds(c, "mlp_layer_types"))
    return _sparse(c, lambda kind: latent_attention(c, bias=c.attention_bias), plan, ("sparse",))


@family("glm_moe_dsa")
def glm_moe_dsa(c: Config) -> Architecture:
    """Latent attention over the positions that an indexer picks; layers called shared use the choice of the one before.

    Source: transformers, models/glm_moe_dsa/modeling_glm_moe_dsa.py (GlmMoeDsaAttention).
    """
    plan = kinds(c, "mlp_layer_types", "indexer_types")
    return _sparse(c, lambda kind: _indexed(c, kind[1] != "shared"), plan, ("sparse", "full"), own_tables=False)


def _sparse(
    c: Config,
    mixer: Callable[[tuple[str, ...]], Block],
    plan: tuple[tuple[str, ...], ...],
    last: tuple[str, ...],
    own_tables: bool = True,
) -> Architecture:
    """Pre-norm layers with experts where the plan says so; `last` is the kind of the next-token-prediction layers."""
    norm = named_norm(c)

    def layer(kind: tuple[str, ...]) -> tuple[Sublayer, ...]:
        body = grouped_moe(c) if kind[0] in ("moe", "sparse") else mlp(c)
        return pre_norm((norm("input_layernorm"), mixer(kind)), (norm("post_attention_layernorm"), body))

    tower = decoder(c, layer, kinds=plan, final_norm=norm("norm"))
    return with_head(c, tower, extra=prediction_layers(c, layer, last, own_tables=own_tables))


def _attention(c: Config, qk_norm: bool = False) -> Attention:
    return attention(c, bias=c.attention_bias, out_bias=False, qk_norm="head" if qk_norm else "")


def _indexed(c: Config, own: bool) -> LatentAttention:
    chosen = sparse_indexer(
        size(c, "hidden_size"),
        size(c, "q_lora_rank"),
        num_heads=c.index_n_heads,
        head_dim=c.index_head_dim,
        top_k=c.index_topk,
    )
    return latent_attention(c, bias=c.attention_bias, extras=(chosen,) if own else (), top_k=c.index_topk)
