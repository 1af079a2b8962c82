"""nanochat: every norm without weights, queries and keys normalised after their rotation."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.attention import head_norms
from archscope.blocks.factories import attention, epsilon, head_size, mlp, size
from archscope.blocks.leaves import rms_norm
from archscope.blocks.skeletons import pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("nanochat")
def nanochat(c: Config) -> Architecture:
    """Pre-norm decoder whose RMSNorms have no scale; a squared-ReLU MLP; soft-capped logits.

    Source: transformers, models/nanochat/modeling_nanochat.py (NanoChatRMSNorm, NanoChatAttention).
    """
    d, eps = size(c, "hidden_size"), epsilon(c)
    norms = head_norms("rms", head_size(c), eps=eps, affine=False)
    tower = pre_norm_decoder(
        c,
        lambda kind: attention(c, bias=c.attention_bias, extras=norms, late_norm=True),
        lambda kind: mlp(c, kind="plain", bias=False),
        norm=lambda name: rms_norm(name, d, eps=eps, affine=False),
    )
    return with_head(c, tower)
