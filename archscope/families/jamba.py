"""Jamba: Mamba-1 mixers with norms inside, some attention without positions, experts in every second layer."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.base import Block
from archscope.blocks.factories import attention, epsilon, kinds, mlp, moe, size
from archscope.blocks.leaves import rms_norm
from archscope.blocks.selective_scan import selective_scan
from archscope.blocks.size import Size
from archscope.blocks.skeletons import pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("jamba")
def jamba(c: Config) -> Architecture:
    """Where attention and experts stand follows from periods and offsets.

    Source: transformers, models/jamba/modeling_jamba.py; arXiv 2403.19887.
    """

    def feed_forward(kind: tuple[str, int]) -> Block:
        if kind[1] <= 1:
            return mlp(c, name="feed_forward")
        return moe(
            c,
            name="feed_forward",
            num_experts=c.num_experts,
            top_k=c.num_experts_per_tok,
            width=c.intermediate_size,
            router="router",
            fields=("num_experts", "num_experts_per_tok", "intermediate_size"),
        )

    tower = pre_norm_decoder(
        c,
        lambda kind: attention(c, position="none") if kind[0] == "attention" else _mamba(c),
        feed_forward,
        norms=("input_layernorm", "pre_ff_layernorm"),
        final="final_layernorm",
        kinds=kinds(c, "layers_block_type", "layers_num_experts"),
    )
    return with_head(c, tower)


def _mamba(c: Config) -> Block:
    """RMSNorms on the step, B and C keep it stable."""
    rank, state, eps = Size(c.mamba_dt_rank, "r_dt"), Size(c.mamba_d_state, "n"), epsilon(c)
    return selective_scan(
        "mamba",
        size(c, "hidden_size"),
        inner=c.mamba_expand * c.hidden_size,
        state_size=state,
        rank=rank,
        kernel=c.mamba_d_conv,
        bias=c.mamba_proj_bias,
        conv_bias=c.mamba_conv_bias,
        norms=(
            rms_norm("dt_layernorm", rank, role="dt_norm", eps=eps),
            rms_norm("b_layernorm", state, role="b_norm", eps=eps),
            rms_norm("c_layernorm", state, role="c_norm", eps=eps),
        ),
        fields=("mamba_expand", "mamba_d_state", "mamba_dt_rank", "mamba_d_conv"),
    )
