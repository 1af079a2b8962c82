"""The ERNIE 4.5 lineage: Llama's layer with biases by one switch, and experts with a saved correction."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.factories import attention, mlp
from archscope.blocks.moe import Moe
from archscope.blocks.routed import grouped_moe
from archscope.blocks.skeletons import pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("ernie4_5")
def ernie4_5(c: Config) -> Architecture:
    """Llama's layer; use_bias is for every projection.

    Source: transformers, models/ernie4_5/modeling_ernie4_5.py.
    """
    tower = pre_norm_decoder(c, lambda kind: attention(c, bias=c.use_bias), lambda kind: mlp(c, bias=c.use_bias))
    return with_head(c, tower)


@family("ernie4_5_moe")
def ernie4_5_moe(c: Config) -> Architecture:
    """Experts in every moe_layer_interval-th layer of a range; use_bias is for the head too.

    Source: transformers, models/ernie4_5_moe/modeling_ernie4_5_moe.py (Ernie4_5_MoeDecoderLayer).
    """
    tower = pre_norm_decoder(
        c,
        lambda kind: attention(c, bias=c.use_bias),
        lambda kind: _experts(c) if kind == "moe" else mlp(c, bias=c.use_bias),
        kinds=_plan(c),
    )
    return with_head(c, tower, bias=c.use_bias)


def _plan(c: Config) -> tuple[str, ...]:
    step, first, last = c.moe_layer_interval, c.moe_layer_start_index, c.moe_layer_end_index
    return tuple("moe" if (i + 1) % step == 0 and first <= i <= last else "dense" for i in range(c.num_hidden_layers))


def _experts(c: Config) -> Moe:
    shared = c.moe_num_shared_experts
    return grouped_moe(
        c,
        num_experts=c.num_experts,
        num_shared=max(shared, 0),
        shared_name="shared_experts" if shared > 0 else "",
        router="",
        scores="gate",
        correction="moe_statics.e_score_correction_bias",
        correction_shape=(1, c.num_experts),
        trained=True,
        bias=c.use_bias,
        scoring="softmax",
        normalised=True,
    )
