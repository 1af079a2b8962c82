"""The Nemotron lineage: a decoder with LayerNorms, and hybrids of Mamba-2, attention, MLPs and experts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from archscope.blocks.assembly import Architecture, Sublayer, pre_norm, stack
from archscope.blocks.base import Block, weight
from archscope.blocks.factories import attention, mlp, moe, named_norm, size
from archscope.blocks.leaves import linear
from archscope.blocks.mlp import Mlp
from archscope.blocks.prediction import PredictionLayer
from archscope.blocks.size import Size
from archscope.blocks.skeletons import QA_PREFIX, decoder, pre_norm_decoder, with_head
from archscope.blocks.ssm import mamba2_mixer
from archscope.config import Config
from archscope.families.registry import family

NAMES = ("up_proj", "down_proj")


@family("nemotron")
def nemotron(c: Config) -> Architecture:
    """Pre-norm decoder with LayerNorms of 1 + weight, part of each head rotated, a plain MLP of squared ReLU.

    Source: transformers, models/nemotron/modeling_nemotron.py.
    """
    tower = pre_norm_decoder(
        c,
        lambda kind: attention(c, bias=c.attention_bias),
        lambda kind: mlp(c, kind="plain", names=NAMES, bias=c.mlp_bias),
        norm=named_norm(c, "layer"),
    )
    return with_head(c, tower, prefixes=QA_PREFIX)


@family("nemotron_h")
def nemotron_h(c: Config) -> Architecture:
    """One sublayer a layer, of the kind that layers_block_type says; attention has no positions.

    Source: transformers, models/nemotron_h/modeling_nemotron_h.py (NemotronHBlock); arXiv 2504.03624.
    """
    norm = named_norm(c)

    def mixer(kind: str) -> Block:
        if kind == "linear_attention":
            return _mamba(c)
        if kind == "full_attention":
            return attention(c, name="mixer", position="none")
        return _experts(c) if kind == "moe" else _mlp(c, "mixer", c.intermediate_size)

    def layer(kind: str) -> tuple[Sublayer, ...]:
        return pre_norm((norm("norm"), mixer(kind)))

    tower = decoder(
        c,
        layer,
        kinds=tuple(c.layers_block_type),
        embed="embeddings",
        final_norm=norm("norm_f"),
    )
    return with_head(c, tower, prefix="backbone", tie=False, extra=_prediction(c, layer))


def _prediction(c: Config, layer: Callable[[str], tuple[Sublayer, ...]]) -> tuple[Block, ...]:
    """The layers of mtp_layers_block_type, joined by their first; checkpoints have one such step.

    Source: names of Nemotron 3's checkpoints, as vLLM reads them (nemotron_h_mtp.py).
    """
    steps = tuple(c.mtp_layers_block_type or ())
    if c.num_nextn_predict_layers != 1 or not steps:
        return ()
    d, norm = size(c, "hidden_size"), named_norm(c)
    last = f"layers.{len(steps) - 1}.final_layernorm"
    return (
        PredictionLayer(
            name="mtp",
            role="prediction",
            width=d,
            parts=(
                replace(norm("layers.0.enorm"), role="embed_norm"),
                replace(norm("layers.0.hnorm"), role="hidden_norm"),
                linear("layers.0.eh_proj", 2 * d, d, role="join"),
                replace(stack("layers", steps, layer, width=d), role="layer"),
                replace(norm(last), role="norm"),
            ),
        ),
    )


def _mamba(c: Config) -> Block:
    return mamba2_mixer(
        "mixer",
        size(c, "hidden_size"),
        inner=c.mamba_num_heads * c.mamba_head_dim,
        num_heads=c.mamba_num_heads,
        head_dim=c.mamba_head_dim,
        state_size=c.ssm_state_size,
        num_groups=c.n_groups,
        kernel=c.conv_kernel,
        bias=c.use_bias,
        conv_bias=c.use_conv_bias,
        fields=("mamba_num_heads", "mamba_head_dim", "ssm_state_size", "n_groups", "conv_kernel"),
    )


def _mlp(c: Config, name: str, width: int, role: str = "") -> Mlp:
    act = c.mlp_hidden_act
    return mlp(
        c, name=name, kind="plain", names=NAMES, bias=c.mlp_bias, width=Size(width, "m"), activation=act, role=role
    )


def _experts(c: Config) -> Block:
    """Ungated experts, in a narrower width of their own where moe_latent_size is set."""
    d, e, latent = size(c, "hidden_size"), Size(c.n_routed_experts, "E"), c.moe_latent_size
    shared = c.moe_shared_expert_intermediate_size or c.intermediate_size
    made = moe(
        c,
        name="mixer",
        num_experts=e,
        top_k=c.num_experts_per_tok,
        width=c.moe_intermediate_size,
        hidden=d if latent is None else Size(latent, "d_latent"),
        names=NAMES,
        gated=False,
        activation=c.mlp_hidden_act,
        scoring="sigmoid",
        normalised=c.norm_topk_prob,
        scale=c.routed_scaling_factor,
        groups=c.n_group,
        top_groups=c.topk_group,
        fields=("n_routed_experts", "num_experts_per_tok", "moe_intermediate_size", "moe_latent_size"),
    )
    scores = linear("", d, e, role="scores")
    correction = weight("e_score_correction_bias", e, parameter=False)
    router = replace(made.router, hidden=d, parts=(scores, correction), bias_corrected=True)
    made = replace(
        made, router=router, shared=_mlp(c, "shared_experts", shared, "shared"), num_shared=c.n_shared_experts
    )
    if latent is None:
        return made
    inner, bias = Size(latent, "d_latent"), c.mlp_bias
    return replace(
        made,
        narrow=linear("fc1_latent_proj", d, inner, bias, role="narrow"),
        widen=linear("fc2_latent_proj", inner, d, bias, role="widen"),
    )
