"""gpt-oss: sinks in the attention, alternating windows, experts stacked in biased tensors."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.base import weight
from archscope.blocks.factories import attention, moe, size, sliding_window
from archscope.blocks.moe import Moe
from archscope.blocks.size import Size
from archscope.blocks.skeletons import pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("gpt_oss")
def gpt_oss(c: Config) -> Architecture:
    """Grouped-query attention with a learned sink per head; every other layer slides.

    Source: transformers, models/gpt_oss/modeling_gpt_oss.py.
    """
    sinks = weight("sinks", size(c, "num_attention_heads"), role="sinks")
    tower = pre_norm_decoder(
        c,
        lambda kind: attention(c, bias=c.attention_bias, window=sliding_window(c, kind), extras=(sinks,)),
        lambda kind: _experts(c),
    )
    return with_head(c, tower)


def _experts(c: Config) -> Moe:
    """Gate and up interleaved in one tensor of all experts, biases everywhere (GptOssExperts)."""
    d, e, m = size(c, "hidden_size"), Size(c.num_local_experts, "E"), Size(c.intermediate_size, "m_e")
    return moe(
        c,
        num_experts=e,
        top_k=c.num_experts_per_tok,
        width=m,
        router="router",
        router_bias=True,
        normalised=True,
        stacked=(
            weight("gate_up_proj", e, d, 2 * m),
            weight("gate_up_proj_bias", e, 2 * m),
            weight("down_proj", e, m, d),
            weight("down_proj_bias", e, d),
        ),
        activation="clamped swiglu",
        fields=("num_local_experts", "num_experts_per_tok", "intermediate_size"),
    )
