"""The Granite lineage: Llama's layer with multipliers, sinks and windows, stacked experts, Mamba-2 layers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from archscope.blocks.assembly import Architecture
from archscope.blocks.attention import Attention, Rope
from archscope.blocks.base import Block, weight
from archscope.blocks.factories import attention, kinds, mlp, moe, rope, size, sliding_window, stacked_experts
from archscope.blocks.mlp import Mlp
from archscope.blocks.size import Size
from archscope.blocks.skeletons import pre_norm_decoder, with_head
from archscope.blocks.ssm import mamba2_mixer
from archscope.config import Config
from archscope.families.registry import family

MAMBA = ("mamba_expand", "mamba_n_heads", "mamba_d_head", "mamba_d_state", "mamba_n_groups", "mamba_d_conv")
EXPERTS = ("num_local_experts", "num_experts_per_tok", "intermediate_size")


@family("granite")
def granite(c: Config) -> Architecture:
    """Llama's layer; embeddings, scores, what is added to the residual stream, and logits have multipliers.

    Source: transformers, models/granite/modeling_granite.py.
    """
    return _decoder(c, lambda kind: _attention(c), lambda kind: mlp(c, bias=c.mlp_bias), ("",) * c.num_hidden_layers)


@family("granite_swa")
def granite_swa(c: Config) -> Architecture:
    """Granite with sinks, sliding layers, and a rotary base for each layer (none where it is 0).

    Source: transformers, models/granite_swa/modeling_granite_swa.py (GraniteSWAAttention).
    """
    plan = kinds(c, "layer_types", "layer_rope_theta")
    return _decoder(c, lambda kind: _sliding(c, *kind), lambda kind: mlp(c, bias=c.mlp_bias), plan)


@family("granitemoe")
def granitemoe(c: Config) -> Architecture:
    """Granite with softmax-routed experts, stacked in two tensors.

    Source: transformers, models/granitemoe/modeling_granitemoe.py; names as its conversion saves them.
    """
    return _decoder(c, lambda kind: _attention(c), lambda kind: _experts(c), ("",) * c.num_hidden_layers)


@family("granitemoeshared")
def granitemoeshared(c: Config) -> Architecture:
    """Granite MoE with one more block that every token passes, where shared_intermediate_size is not 0.

    Source: transformers, models/granitemoeshared/modeling_granitemoeshared.py (GraniteMoeSharedDecoderLayer).
    """
    shared = _shared(c) if c.shared_intermediate_size else None
    return _decoder(c, lambda kind: _attention(c), lambda kind: _experts(c, shared), ("",) * c.num_hidden_layers)


@family("granitemoe_swa")
def granitemoe_swa(c: Config) -> Architecture:
    """Granite MoE with sinks, sliding layers and a rotary base for each layer; saved as transformers holds it.

    Source: transformers, models/granitemoe_swa/modeling_granitemoe_swa.py (GraniteMoeSWADecoderLayer).
    """
    shared = _shared(c) if c.shared_intermediate_size else None
    stacked = stacked_experts(c.num_local_experts, size(c, "hidden_size"), c.intermediate_size)
    return _decoder(
        c,
        lambda kind: _sliding(c, *kind),
        lambda kind: _experts(c, shared, "block_sparse_moe.router", "block_sparse_moe.experts", stacked),
        kinds(c, "layer_types", "layer_rope_theta"),
    )


@family("granitemoehybrid")
def granitemoehybrid(c: Config) -> Architecture:
    """Mamba-2 in the layers that layer_types calls linear; experts beside the shared block where there are any.

    Source: transformers, models/granitemoehybrid/modeling_granitemoehybrid.py (GraniteMoeHybridDecoderLayer).
    """

    def mixer(kind: object) -> Block:
        if kind == "linear_attention":
            return _mamba(c)
        turns = c.position_embedding_type == "rope"
        return replace(_attention(c), position="rope" if turns else "none", rope=rope(c) if turns else None)

    def feed_forward(kind: object) -> Block:
        return _experts(c, _shared(c)) if c.num_local_experts > 0 else replace(_shared(c), role="")

    return _decoder(c, mixer, feed_forward, kinds(c, "layer_types"))


def _decoder(
    c: Config, mixer: Callable[[Any], Block], feed_forward: Callable[[Any], Block], plan: tuple[Any, ...]
) -> Architecture:
    scale, embed_scale = c.residual_multiplier, c.embedding_multiplier
    return with_head(c, pre_norm_decoder(c, mixer, feed_forward, kinds=plan, scale=scale, embed_scale=embed_scale))


def _attention(c: Config, **options: Any) -> Attention:
    return attention(c, bias=c.attention_bias, scale=c.attention_multiplier, **options)


def _sliding(c: Config, layer_type: str, theta: float) -> Attention:
    found = rope(c)
    return _attention(
        c,
        window=sliding_window(c, layer_type),
        position="rope" if theta else "none",
        rotary=replace(Rope() if found is None else found, theta=theta) if theta else None,
        extras=(weight("sinks", size(c, "num_attention_heads"), role="sinks"),),
    )


def _shared(c: Config) -> Mlp:
    """One fused gated block of shared_intermediate_size."""
    width = Size(c.shared_intermediate_size, "m_shared")
    names = ("input_linear", "output_linear")
    fields = ("shared_intermediate_size", "hidden_size")
    return mlp(c, kind="fused", name="shared_mlp", names=names, width=width, role="shared", fields=fields)


def _experts(
    c: Config,
    shared: Mlp | None = None,
    router: str = "block_sparse_moe.router.layer",
    experts: str = "block_sparse_moe",
    stacked: tuple[Any, ...] = (),
) -> Block:
    """Softmax over the chosen experts; the shared block, where there is one, is a module of the layer."""
    d, e, m = size(c, "hidden_size"), Size(c.num_local_experts, "E"), Size(c.intermediate_size, "m_e")
    saved = (weight("input_linear.weight", e, 2 * m, d), weight("output_linear.weight", e, d, m))
    made = moe(
        c,
        name="",
        num_experts=e,
        top_k=c.num_experts_per_tok,
        width=m,
        router=router,
        experts=experts,
        stacked=stacked or saved,
        normalised=True,
        shared=shared,
        num_shared=0 if shared is None else 1,
        fields=EXPERTS,
    )
    return replace(made, role="moe")


def _mamba(c: Config) -> Block:
    return mamba2_mixer(
        "mamba",
        size(c, "hidden_size"),
        inner=int(c.mamba_expand * c.hidden_size),
        num_heads=c.mamba_n_heads,
        head_dim=c.mamba_d_head,
        state_size=c.mamba_d_state,
        num_groups=c.mamba_n_groups,
        kernel=c.mamba_d_conv,
        bias=c.mamba_proj_bias,
        conv_bias=c.mamba_conv_bias,
        fields=MAMBA,
    )
