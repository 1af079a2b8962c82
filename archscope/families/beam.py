"""Beam: gated attention, rotary where it slides and without positions where it is full, sigmoid-routed experts."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Sublayer, sandwich_norm
from archscope.blocks.attention import Attention
from archscope.blocks.base import weight
from archscope.blocks.factories import attention, head_size, kinds, mlp, named_norm, rope, size, sliding_window
from archscope.blocks.leaves import linear
from archscope.blocks.routed import grouped_moe
from archscope.blocks.size import Size
from archscope.blocks.skeletons import decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("beam")
def beam(c: Config) -> Architecture:
    """Norms on both sides of each sublayer; what is added weighs less the more has been added before.

    Source: transformers, models/beam/modeling_beam.py (BeamDecoderLayer, depth_scaled_residual_add).
    """
    norm = named_norm(c)

    def layer(kind: tuple[str, str]) -> tuple[Sublayer, ...]:
        sparse = kind[1] == "sparse"
        feed_forward = grouped_moe(c, num_experts=c.num_experts, num_shared=0, shared_name="") if sparse else mlp(c)
        return sandwich_norm(
            (norm("input_layernorm"), _attention(c, kind[0]), norm("post_attention_layernorm")),
            (norm("pre_feedforward_layernorm"), feed_forward, norm("post_feedforward_layernorm")),
        )

    return with_head(c, decoder(c, layer, kinds=kinds(c, "layer_types", "mlp_layer_types"), final_norm=norm("norm")))


def _attention(c: Config, kind: str) -> Attention:
    d, heads = size(c, "hidden_size"), Size(c.num_attention_heads, "h_q")
    gate = linear("gate_proj", d, heads * head_size(c), role="gate")
    return attention(
        c,
        bias=c.attention_bias,
        qk_norm="head",
        extras=(gate, weight("gate_bias", heads)),
        layer_type=kind,
        window=sliding_window(c, kind),
        position="none" if rope(c, kind) is None else "rope",
    )
