"""Inkling: relative positions by content, short convolutions everywhere, one softmax over chosen and shared experts."""

from __future__ import annotations

from dataclasses import replace

from archscope.blocks.assembly import Architecture, Branch, Sublayer
from archscope.blocks.attention import Attention, head_norms
from archscope.blocks.base import Block, Weight, weight
from archscope.blocks.factories import epsilon, kinds, mlp, moe, named_norm, size, stacked_experts
from archscope.blocks.leaves import conv, linear
from archscope.blocks.mlp import Mlp
from archscope.blocks.moe import Moe
from archscope.blocks.size import Size
from archscope.blocks.skeletons import decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("inkling_text")
def inkling_text(c: Config) -> Architecture:
    """A convolution over keys, values, and what each sublayer gives; sliding layers have heads of their own.

    Source: transformers, models/inkling/modeling_inkling.py (InklingDecoderLayer, InklingAttention).
    """
    d, norm, kernel = size(c, "hidden_size"), named_norm(c), c.conv_kernel_size

    def convolved(pre: str, body: Block, post: str) -> Sublayer:
        mixed = conv(f"{post}.conv1d", d, d, kernel, groups=d, bias=False, role="conv")
        return Sublayer(branches=(Branch(pre=norm(pre), body=body, post=mixed),))

    tower = decoder(
        c,
        lambda kind: (
            convolved("input_layernorm", _attention(c, kind[0]), "attn_sconv"),
            convolved("post_attention_layernorm", _feed_forward(c, kind[1]), "mlp_sconv"),
        ),
        kinds=kinds(c, "layer_types", "mlp_layer_types"),
        before=(norm("embed_tokens.embed_norm"),),
        final_norm=norm("norm"),
    )
    return with_head(c, tower, tie=False)


def _attention(c: Config, kind: str) -> Attention:
    slides, d, kernel = kind == "hybrid_sliding", size(c, "hidden_size"), c.conv_kernel_size
    own = "swa_" if slides else ""
    heads, kv = Size(c.get(f"{own}num_attention_heads"), "h_q"), Size(c.get(f"{own}num_key_value_heads"), "h_kv")
    width = Size(c.get(f"{own}head_dim"), "d_h")
    reach = c.sliding_window_size if slides else c.rel_extent
    keys = kv * width
    q_norm, k_norm = head_norms("rms", width, eps=epsilon(c))
    return Attention(
        name="self_attn",
        num_heads=heads,
        num_kv_heads=kv,
        head_dim=width,
        v_head_dim=width,
        window=c.sliding_window_size if slides else None,
        position="relative",
        scale=1.0 / width,
        conv_elements=2 * int(keys) * kernel,
        parts=(
            linear("q_proj", d, heads * width, role="q"),
            linear("k_proj", d, keys, role="k"),
            linear("v_proj", d, keys, role="v"),
            linear("r_proj", d, heads * c.d_rel, role="relative"),
            conv("k_sconv.conv1d", keys, keys, kernel, groups=keys, bias=False, role="k_conv"),
            conv("v_sconv.conv1d", keys, keys, kernel, groups=keys, bias=False, role="v_conv"),
            q_norm,
            k_norm,
            weight("rel_logits_proj.proj", c.d_rel, reach, role="bias"),
            linear("o_proj", heads * width, d, role="o"),
        ),
        fields=(f"{own}num_attention_heads", f"{own}num_key_value_heads", f"{own}head_dim", "d_rel"),
    )


def _feed_forward(c: Config, kind: str) -> Block:
    if kind != "sparse":
        dense = mlp(c)
        return replace(dense, parts=(*dense.parts, weight("global_scale", 1)))
    return _experts(c)


def _experts(c: Config) -> Moe:
    """The router scores the shared experts, too: they share one softmax with the chosen ones."""
    d, e, m = size(c, "hidden_size"), Size(c.n_routed_experts, "E"), Size(c.moe_intermediate_size, "m_e")
    shared = c.n_shared_experts
    made = moe(
        c,
        num_experts=e,
        top_k=c.num_experts_per_tok,
        width=m,
        stacked=stacked_experts(e, d, m),
        scoring="sigmoid",
        normalised=True,
        scale=c.route_scale,
        shared=_shared(c, shared),
        num_shared=shared,
        fields=("n_routed_experts", "n_shared_experts", "num_experts_per_tok", "moe_intermediate_size"),
    )
    parts = (
        linear("", d, e + Size(shared, "n_shared"), role="scores"),
        weight("global_scale", 1),
        weight("e_score_correction_bias", e, parameter=False),
    )
    return replace(made, router=replace(made.router, parts=parts, bias_corrected=True))


def _shared(c: Config, count: int) -> Mlp:
    d, m, n = size(c, "hidden_size"), Size(c.moe_intermediate_size, "m_e"), Size(count, "n_shared")
    return Mlp(
        name="shared_experts",
        role="shared",
        width=n * m,
        hidden=d,
        gated=True,
        activation=c.hidden_act,
        parts=(
            Weight(name="gate_proj", role="gate", shape=(n, m, d)),
            Weight(name="up_proj", role="up", shape=(n, m, d)),
            Weight(name="down_proj", role="down", shape=(n, d, m)),
        ),
        fields=("n_shared_experts", "moe_intermediate_size"),
    )
