"""FlexOlmo: OLMo 2's norms after the sublayers, with routed experts in every layer."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, post_norm
from archscope.blocks.factories import attention, moe, named_norm
from archscope.blocks.skeletons import decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("flex_olmo")
def flex_olmo(c: Config) -> Architecture:
    """x + norm(sublayer(x)), norms over all of the queries and keys, experts of the width of an MLP.

    Source: transformers, models/flex_olmo/modeling_flex_olmo.py (FlexOlmoDecoderLayer).
    """
    norm = named_norm(c)
    mixer = attention(c, bias=c.attention_bias, qk_norm="full")
    experts = moe(
        c,
        num_experts=c.num_experts,
        top_k=c.num_experts_per_tok,
        width=c.intermediate_size,
        normalised=c.norm_topk_prob,
        fields=("num_experts", "num_experts_per_tok", "intermediate_size"),
    )
    tower = decoder(
        c,
        lambda kind: post_norm(
            (mixer, norm("post_attention_layernorm")), (experts, norm("post_feedforward_layernorm"))
        ),
        kinds=("",) * c.num_hidden_layers,
        final_norm=norm("norm"),
    )
    return with_head(c, tower)
