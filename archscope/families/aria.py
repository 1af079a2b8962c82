"""Aria: routed experts in every layer of the text, and learned queries that read the image features."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.base import group, weight
from archscope.blocks.composites import FLAT, assemble
from archscope.blocks.factories import attention, mlp, moe, size
from archscope.blocks.leaves import layer_norm, linear
from archscope.blocks.mlp import Mlp
from archscope.blocks.moe import Moe
from archscope.blocks.projectors import Projector, plain_bridge, projector
from archscope.blocks.skeletons import pre_norm_decoder, with_head
from archscope.blocks.towers import packed_attention
from archscope.config import Config
from archscope.families.registry import family, tower


@family("aria_text")
def aria_text(c: Config) -> Architecture:
    """Llama's attention; experts stacked with inputs first, and shared experts as one block.

    Source: transformers, models/aria/modeling_aria.py (AriaTextDecoderLayer); names as its conversion saves them.
    """
    return with_head(
        c,
        pre_norm_decoder(c, lambda kind: attention(c, bias=c.attention_bias), lambda kind: _experts(c)),
    )


@family("aria")
def aria(c: Config) -> Architecture:
    """Aria's text behind a SigLIP tower, whose patches a set of learned queries attends to.

    Source: transformers, models/aria/modeling_aria.py (AriaProjector).
    """
    text, vision = c.sub("text_config"), c.sub("vision_config")
    seeing = tower(vision, "vision_tower", "vision")
    return assemble(c, FLAT, tower(text, FLAT.text), seeing, _projector(c), text_config=text)


def _experts(c: Config) -> Moe:
    d, m, count = size(c, "hidden_size"), size(c, "intermediate_size"), c.moe_num_experts
    return moe(
        c,
        num_experts=count,
        top_k=c.moe_topk,
        width=m,
        router="router",
        stacked=(weight("fc1.weight", count, d, 2 * m), weight("fc2.weight", count, m, d)),
        activation="silu",
        normalised=True,
        shared=_shared(c),
        num_shared=c.moe_num_shared_experts,
        fields=("moe_num_experts", "moe_topk", "intermediate_size"),
    )


def _shared(c: Config) -> Mlp:
    width = size(c, "intermediate_size") * c.moe_num_shared_experts
    return mlp(c, name="shared_experts", width=width, bias=c.mlp_bias, role="shared")


def _projector(c: Config) -> Projector:
    d, vision = size(c.sub("text_config"), "hidden_size"), c.sub("vision_config")
    d_v, queries = vision.hidden_size, c.max_value_projector_patch_to_query_dict
    reading = group(
        "cross_attn",
        layer_norm("layer_norm", d_v),
        layer_norm("layer_norm_kv", d_v),
        *(linear(name, d_v, d_v) for name in ("q_proj", "k_proj", "v_proj")),
        packed_attention("multihead_attn", d_v, vision.num_attention_heads, position="none"),
        linear("linear", d_v, d_v, True),
        role="cross attention",
    )
    return projector(
        "multi_modal_projector",
        d_v,
        d,
        weight("query", queries, d_v, role="queries"),
        reading,
        layer_norm("layer_norm", d_v),
        plain_bridge(
            d_v, d, d, name="feed_forward", bias=False, names=("linear_in", "linear_out"), activation="gelu_new"
        ),
        note=f"up to {queries} tokens an image",
    )
