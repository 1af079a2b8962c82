"""Resamplers: a fixed number of learned vectors that read what a vision tower gives."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Branch, Layer, Sublayer, stack
from archscope.blocks.attention import Attention
from archscope.blocks.base import weight
from archscope.blocks.factories import attention, size
from archscope.blocks.leaves import Norm, rms_norm
from archscope.blocks.mlp import gated_mlp
from archscope.blocks.towers import tower_model
from archscope.config import Config
from archscope.families.registry import family


@family("idefics2_perceiver")
def idefics2_perceiver(c: Config) -> Architecture:
    """Latents attend to themselves and to the patches at once, with grouped keys and values.

    Source: Perceiver (arXiv 2103.03206); transformers, models/idefics2/modeling_idefics2.py
    (Idefics2PerceiverResampler).
    """
    d = size(c, "hidden_size")
    latents = weight("latents", c.resampler_n_latents, d, role="side latents")
    return tower_model(
        c,
        d,
        latents,
        stack("layers", ("",) * c.resampler_depth, lambda kind: _layer(c), width=d),
        _norm(c, "norm"),
        tower="other",
        classes=("Idefics2PerceiverResampler",),
    )


def _norm(c: Config, name: str) -> Norm:
    return rms_norm(name, size(c, "hidden_size"), eps=c.rms_norm_eps)


def _layer(c: Config) -> Layer:
    d = size(c, "hidden_size")
    reads = Branch(pre=_norm(c, "input_latents_norm"), body=_attention(c))
    ffn = gated_mlp(d, 4 * d, c.hidden_act, fields=("hidden_size",))
    return Layer(
        width=d,
        sublayers=(
            Sublayer(branches=(reads,)),
            Sublayer(branches=(Branch(pre=_norm(c, "post_attention_layernorm"), body=ffn),)),
        ),
        extras=(_norm(c, "input_context_norm"),),
    )


def _attention(c: Config) -> Attention:
    return attention(
        c,
        num_heads=c.resampler_n_heads,
        num_kv_heads=c.num_key_value_heads,
        head_dim=c.resampler_head_dim,
        causal=False,
        cache=False,
        position="none",
        fields=("resampler_n_heads", "num_key_value_heads", "resampler_head_dim", "hidden_size"),
    )
