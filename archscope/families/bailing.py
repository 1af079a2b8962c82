"""The Ling (Bailing) hybrid: Kimi delta attention between layers of latent attention, DeepSeek-V3's experts."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Sublayer, pre_norm
from archscope.blocks.base import Block
from archscope.blocks.delta import kimi_delta_attention
from archscope.blocks.factories import kinds, latent_attention, mlp, named_norm, size
from archscope.blocks.leaves import linear
from archscope.blocks.prediction import prediction_layers
from archscope.blocks.routed import grouped_moe
from archscope.blocks.skeletons import decoder, with_head
from archscope.config import Config
from archscope.families.registry import family

DELTA = ("linear_num_heads", "linear_head_dim", "linear_conv_kernel_dim")


@family("bailing_hybrid")
def bailing_hybrid(c: Config) -> Architecture:
    """A gate per head on latent attention; head and embedding are never tied.

    Source: transformers, models/bailing_hybrid/modeling_bailing_hybrid.py; saved as its conversion names it.
    """
    norm = named_norm(c)

    def layer(kind: tuple[str, str]) -> tuple[Sublayer, ...]:
        experts = grouped_moe(c, num_experts=c.num_local_experts, correction="expert_bias")
        feed_forward = experts if kind[1] == "sparse" else mlp(c)
        return pre_norm((norm("input_layernorm"), _mixer(c, kind[0])), (norm("post_attention_layernorm"), feed_forward))

    tower = decoder(
        c,
        layer,
        kinds=kinds(c, "layer_types", "mlp_layer_types"),
        embed="embed_tokens" if c.task == "model" else "word_embeddings",
        final_norm=norm("norm"),
    )
    last = ("full_attention", "sparse")
    extra = prediction_layers(c, layer, last, own_tables=False, norm="final_layernorm")
    return with_head(c, tower, tie=False, extra=extra)


def _mixer(c: Config, kind: str) -> Block:
    d = size(c, "hidden_size")
    if kind == "full_attention":
        gate = linear("g_proj", d, size(c, "num_attention_heads"), role="gate")
        return latent_attention(c, name="attention", bias=c.attention_bias, out="dense", extras=(gate,))
    return kimi_delta_attention(
        "attention",
        d,
        num_heads=c.linear_num_heads,
        head_dim=c.linear_head_dim,
        kernel=c.linear_conv_kernel_dim,
        low_rank=False,
        decay_shape=(c.linear_num_heads,),
        out="dense",
        fields=DELTA,
    )
