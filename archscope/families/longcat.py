"""LongCat-Flash: two latent attentions and two MLPs a layer, with experts that run beside them on a shortcut."""

from __future__ import annotations

from dataclasses import replace

from archscope.blocks.assembly import Architecture, Branch, Sublayer
from archscope.blocks.base import Block, weight
from archscope.blocks.factories import latent_attention, mlp, moe, named_norm, size
from archscope.blocks.joined import side_by_side
from archscope.blocks.leaves import linear
from archscope.blocks.size import Size
from archscope.blocks.skeletons import decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("longcat_flash")
def longcat_flash(c: Config) -> Architecture:
    """The experts read what the first MLP reads, and are added after the second.

    Source: transformers, models/longcat_flash/modeling_longcat_flash.py (LongcatFlashDecoderLayer).
    """
    norm = named_norm(c)

    def layer(kind: object) -> tuple[Sublayer, ...]:
        first, second = (mlp(c, name=f"mlps.{i}", width=size(c, "ffn_hidden_size")) for i in range(2))
        return (
            _attend(c, 0),
            Sublayer(
                shared=norm("post_attention_layernorm.0"),
                branches=(Branch(body=first), Branch(body=_experts(c), joins=3)),
            ),
            _attend(c, 1),
            Sublayer(branches=(Branch(pre=norm("post_attention_layernorm.1"), body=second),)),
        )

    return with_head(c, decoder(c, layer, kinds=("",) * c.num_layers, final_norm=norm("norm")))


def _attend(c: Config, number: int) -> Sublayer:
    mixer = latent_attention(c, name=f"self_attn.{number}", bias=c.attention_bias)
    # The query matrix is as wide as qk_head_dim says, which a file may set apart from its two shares.
    wide = linear("q_b_proj", size(c, "q_lora_rank"), mixer.num_heads * Size(c.qk_head_dim, "d_qk"), role="q_b")
    mixer = replace(mixer, parts=tuple(wide if part.role == "q_b" else part for part in mixer.parts))
    return Sublayer(branches=(Branch(pre=named_norm(c)(f"input_layernorm.{number}"), body=mixer),))


def _experts(c: Config) -> Block:
    """The router also knows experts that give back their input; gate and up are saved for those, too."""
    d, e, m = size(c, "hidden_size"), c.n_routed_experts, Size(c.expert_ffn_hidden_size, "m_e")
    zero = c.zero_expert_num or 0
    unused = side_by_side(2 * m, linear("gate_proj", d, m), linear("up_proj", d, m), role="unused")
    made = moe(
        c,
        num_experts=e + zero,
        top_k=c.moe_topk,
        width=m,
        router="router",
        scores="classifier",
        router_bias=c.get("router_bias", False),
        correction=weight("e_score_correction_bias", Size(e + zero, "E"), parameter=False),
        scale=c.routed_scaling_factor,
        fields=("n_routed_experts", "zero_expert_num", "moe_topk", "expert_ffn_hidden_size"),
    )
    experts = replace(made.experts, count=Size(e, "E"), num_zero=zero, zero=unused if e > 0 and zero > 0 else None)
    return replace(made, experts=experts)
