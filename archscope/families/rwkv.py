"""RWKV-4: attention-free layers of time mix and channel mix."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Branch, Sublayer, pre_norm
from archscope.blocks.factories import named_norm, size
from archscope.blocks.leaves import layer_norm
from archscope.blocks.skeletons import decoder, with_head
from archscope.blocks.token_shift import channel_mix, time_mix
from archscope.config import Config
from archscope.families.registry import family


@family("rwkv")
def rwkv(c: Config) -> Architecture:
    """Pre-norm layers; the first one norms the embeddings as well.

    Source: transformers, models/rwkv/modeling_rwkv.py (RwkvBlock); arXiv 2305.13048.
    """
    d, norm = size(c, "hidden_size"), named_norm(c, "layer")

    def layer(kind: str) -> tuple[Sublayer, ...]:
        mixer = time_mix("attention", d, c.attention_hidden_size, fields=("attention_hidden_size",))
        both = pre_norm((norm("ln1"), mixer), (norm("ln2"), channel_mix("feed_forward", d, c.intermediate_size)))
        if kind != "first":
            return both
        return (Sublayer(branches=(Branch(body=norm("pre_ln")),), residual=False), *both)

    count = c.num_hidden_layers
    kinds = ("first",) * min(count, 1) + ("",) * (count - 1)
    tower = decoder(c, layer, kinds=kinds, embed="embeddings", layers="blocks", final_norm=layer_norm("ln_out", d))
    return with_head(c, tower, prefix="rwkv", lm_head="head", token_table="embeddings")
