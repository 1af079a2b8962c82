"""Bamba and Falcon-H1: Mamba-2 heads between layers of attention, or beside them in the same layer."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Branch, Sublayer
from archscope.blocks.base import Block
from archscope.blocks.factories import attention, mlp, named_norm, size
from archscope.blocks.skeletons import decoder, pre_norm_decoder, with_head
from archscope.blocks.ssm import StateMixer, mamba2_mixer
from archscope.config import Config
from archscope.families.registry import family

FIELDS = ("mamba_expand", "mamba_n_heads", "mamba_d_head", "mamba_d_state", "mamba_n_groups", "mamba_d_conv")


@family("bamba")
def bamba(c: Config) -> Architecture:
    """Attention in the layers of attn_layer_indices, Mamba-2 in the others, an MLP in all.

    Source: transformers, models/bamba/modeling_bamba.py (BambaDecoderLayer, BambaMixer).
    """

    def mixer(kind: str) -> Block:
        if kind == "full_attention":
            return attention(c, bias=c.attention_bias)
        return _mamba(c, int(c.mamba_expand * c.hidden_size), c.mamba_proj_bias)

    full = set(c.attn_layer_indices or ())
    tower = pre_norm_decoder(
        c,
        mixer,
        lambda kind: mlp(c, name="feed_forward", bias=c.mlp_bias),
        norms=("input_layernorm", "pre_ff_layernorm"),
        final="final_layernorm",
        kinds=tuple("full_attention" if i in full else "linear_attention" for i in range(c.num_hidden_layers)),
    )
    return with_head(c, tower)


@family("falcon_h1")
def falcon_h1(c: Config) -> Architecture:
    """Attention and Mamba-2 in parallel behind one norm, then an MLP; every stream has a multiplier.

    Source: transformers, models/falcon_h1/modeling_falcon_h1.py (FalconH1DecoderLayer, FalconH1Mixer).
    """
    norm = named_norm(c)
    inner = int(c.mamba_expand * c.hidden_size) if c.mamba_d_ssm is None else c.mamba_d_ssm

    def layer(kind: object) -> tuple[Sublayer, ...]:
        heads = (
            Branch(body=_mamba(c, inner, c.projectors_bias, c.mamba_rms_norm), scale=c.ssm_out_multiplier),
            Branch(body=attention(c, bias=c.attention_bias), scale=c.attention_out_multiplier),
        )
        feed_forward = Branch(pre=norm("pre_ff_layernorm"), body=mlp(c, name="feed_forward", bias=c.mlp_bias))
        return (Sublayer(shared=norm("input_layernorm"), branches=heads), Sublayer(branches=(feed_forward,)))

    tower = decoder(
        c,
        layer,
        kinds=("",) * c.num_hidden_layers,
        embed_scale=c.embedding_multiplier,
        final_norm=norm("final_layernorm"),
    )
    return with_head(c, tower)


def _mamba(c: Config, inner: int, out_bias: bool, gated_norm: bool = True) -> StateMixer:
    return mamba2_mixer(
        "mamba",
        size(c, "hidden_size"),
        inner=inner,
        num_heads=c.mamba_n_heads,
        head_dim=c.mamba_d_head,
        state_size=c.mamba_d_state,
        num_groups=c.mamba_n_groups,
        kernel=c.mamba_d_conv,
        bias=c.mamba_proj_bias,
        conv_bias=c.mamba_conv_bias,
        out_bias=out_bias,
        gated_norm=gated_norm,
        fields=FIELDS,
    )
