"""Zaya: attention over convolved queries and keys, experts behind a small network, scales on the residual stream."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Branch, Sublayer
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, group, weight
from archscope.blocks.factories import epsilon, head_size, named_norm, rope, size, stacked_experts
from archscope.blocks.joined import side_by_side
from archscope.blocks.leaves import conv, linear
from archscope.blocks.moe import Experts, Moe
from archscope.blocks.router_mlp import mlp_router
from archscope.blocks.size import Size
from archscope.blocks.skeletons import decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("zaya")
def zaya(c: Config) -> Architecture:
    """Scale and bias on what each sublayer gives and on the stream it is added to; routers pass their state on.

    Source: transformers, models/zaya/modeling_zaya.py (ZayaDecoderLayer, ZayaResidualScaling).
    """
    d, norm = size(c, "hidden_size"), named_norm(c)

    def scaled(pre: str, body: Block, post: str) -> Sublayer:
        names = ("hidden_states_scale", "hidden_states_bias", "residual_scale", "residual_bias")
        scales = group(post, *(weight(name, d) for name in names), role="scale")
        return Sublayer(branches=(Branch(pre=norm(pre), body=body, post=scales),))

    def layer(kind: tuple[str, bool]) -> tuple[Sublayer, ...]:
        return (
            scaled("input_layernorm", _attention(c, kind[0]), "post_attention_residual_scale"),
            scaled("post_attention_layernorm", _experts(c, kind[1]), "post_mlp_residual_scale"),
        )

    tower = decoder(
        c,
        layer,
        kinds=tuple((kind, i > 0) for i, kind in enumerate(c.layer_types[: c.num_hidden_layers])),
        before=(weight("input_hidden_states_scale", d), weight("input_hidden_states_bias", d)),
        final_norm=norm("norm"),
    )
    return with_head(c, tower, bias=c.lm_head_bias)


def _attention(c: Config, kind: str) -> Attention:
    """Half of the values come from the token before; queries and keys pass a depthwise and a grouped convolution."""
    d, bias = size(c, "hidden_size"), c.attention_bias
    heads, kv, width = size(c, "num_attention_heads"), size(c, "num_key_value_heads"), head_size(c)
    channels, half = heads * width + kv * width, Size(kv * width // 2, "h_kv·d_h/2")
    first = conv("qkv_proj.conv_qk_depthwise", channels, channels, c.cca_time0, groups=channels)
    second = conv("qkv_proj.conv_qk_grouped", channels, channels, c.cca_time1, groups=heads + kv)
    values = (linear(f"qkv_proj.v_proj_{which}", d, half, bias) for which in ("current", "delayed"))
    return Attention(
        name="self_attn",
        num_heads=heads,
        num_kv_heads=kv,
        head_dim=width,
        v_head_dim=width,
        window=c.sliding_window if kind == "hybrid_sliding" else None,
        rope=rope(c, kind, width=int(width)),
        conv_elements=int(channels) * (c.cca_time0 - 1 + c.cca_time1 - 1) + int(d),
        parts=(
            linear("qkv_proj.q_proj", d, heads * width, bias, role="q"),
            linear("qkv_proj.k_proj", d, kv * width, bias, role="k"),
            side_by_side(2 * half, *values, role="v"),
            group("", first, second, role="qk_conv"),
            weight("qk_norm.temp", kv),
            linear("o_proj", heads * width, d, bias, role="o"),
        ),
        fields=("num_attention_heads", "num_key_value_heads", "head_dim", "cca_time0", "cca_time1"),
    )


def _experts(c: Config, carries: bool) -> Moe:
    d, e, m = size(c, "hidden_size"), Size(c.num_experts, "E"), Size(c.moe_intermediate_size, "m_e")
    fields = ("num_experts", "num_experts_per_tok", "moe_intermediate_size")
    top_k = c.num_experts_per_tok
    return Moe(
        name="mlp",
        router=mlp_router(
            d, c.router_hidden_size, num_experts=c.num_experts, top_k=top_k, carries=carries, eps=epsilon(c)
        ),
        experts=Experts(
            name="experts",
            role="experts",
            count=e,
            active=top_k,
            hidden=d,
            width=m,
            gated=True,
            activation=c.hidden_act,
            stacked=stacked_experts(e, d, m),
            fields=fields,
        ),
        fields=fields,
    )
