"""VaultGemma: Gemma 2's attention with one norm before each sublayer and none after."""

from __future__ import annotations

from math import sqrt

from archscope.blocks.assembly import Architecture
from archscope.blocks.factories import attention, mlp, size, sliding_window
from archscope.blocks.skeletons import pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("vaultgemma")
def vaultgemma(c: Config) -> Architecture:
    """Pre-norm decoder with soft caps on scores and logits; layer_types says which layers slide.

    Source: transformers, models/vaultgemma/modeling_vaultgemma.py.
    """
    tower = pre_norm_decoder(
        c,
        lambda kind: attention(
            c,
            bias=c.attention_bias,
            window=sliding_window(c, kind),
            scale=c.query_pre_attn_scalar**-0.5,
            softcap=c.attn_logit_softcapping,
        ),
        lambda kind: mlp(c, activation=c.hidden_activation),
        norms=("input_layernorm", "pre_feedforward_layernorm"),
        embed_scale=sqrt(size(c, "hidden_size")),
    )
    return with_head(c, tower)
