"""StarCoder 2: grouped-query attention with a window, LayerNorms and a plain MLP."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.factories import attention, mlp, named_norm
from archscope.blocks.skeletons import pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("starcoder2")
def starcoder2(c: Config) -> Architecture:
    """Pre-norm decoder; use_bias puts a bias on every matrix; every layer slides where sliding_window is set.

    Source: transformers, models/starcoder2/modeling_starcoder2.py.
    """
    tower = pre_norm_decoder(
        c,
        lambda kind: attention(c, bias=c.use_bias, window=c.sliding_window),
        lambda kind: mlp(c, kind="plain", names=("c_fc", "c_proj"), bias=c.use_bias),
        norm=named_norm(c, "layer"),
        kinds=("",) * c.num_hidden_layers,
    )
    return with_head(c, tower)
