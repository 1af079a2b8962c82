"""The OLMo lineage: norms after the sublayer, inside the residual branch."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, post_norm
from archscope.blocks.factories import attention, mlp, size
from archscope.blocks.leaves import rms_norm
from archscope.blocks.skeletons import decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("olmo2")
def olmo2(c: Config) -> Architecture:
    """x + norm(sublayer(x)), with RMSNorms over all of the queries and keys.

    Source: transformers, models/olmo2/modeling_olmo2.py (Olmo2DecoderLayer).
    """
    d = size(c, "hidden_size")
    tower = decoder(
        c,
        lambda kind: post_norm(
            (attention(c, bias=c.attention_bias, qk_norm="full"), rms_norm("post_attention_layernorm", d)),
            (mlp(c), rms_norm("post_feedforward_layernorm", d)),
        ),
        final_norm=rms_norm("norm", d),
    )
    return with_head(c, tower)
