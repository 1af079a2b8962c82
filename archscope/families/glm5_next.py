"""GLM-5-Next: hyper-connected streams, Kimi delta attention between layers of indexed latent attention, and vision."""

from __future__ import annotations

from dataclasses import replace

from archscope.blocks.assembly import Architecture, Branch, Layer, Sublayer
from archscope.blocks.base import Block, weight
from archscope.blocks.composites import assemble, nested
from archscope.blocks.delta import kimi_delta_attention
from archscope.blocks.factories import kinds, latent_attention, mlp, named_norm, size
from archscope.blocks.hyper_connection import HyperConnection, mapped_hyper_connection
from archscope.blocks.indexer import SparseIndexer, sparse_indexer
from archscope.blocks.routed import grouped_moe
from archscope.blocks.skeletons import decoder, with_head
from archscope.config import Config
from archscope.families.registry import family, tower

Kind = tuple[str, str, str]
DELTA = ("linear_num_heads", "linear_head_dim", "linear_conv_kernel_dim")


@family("glm5_next")
def glm5_next(c: Config) -> Architecture:
    """Vision tower and text tower below `model`.

    Source: transformers, models/glm5_next/modeling_glm5_next.py (Glm5NextModel).
    """
    at, text = nested(c), c.sub("text_config")
    seeing = tower(c.sub("vision_config"), at("visual"), "vision")
    return assemble(c, at, tower(text, at.text), seeing, text_config=text)


@family("glm5_next_text")
def glm5_next_text(c: Config) -> Architecture:
    """No positions anywhere; the streams are averaged at the end, without weights.

    Source: transformers, models/glm5_next/modeling_glm5_next.py (Glm5NextTextDecoderLayer); saved as it converts.
    """
    plan = tuple(
        (mixer, feed_forward, "" if mixer == "linear_attention" else index)
        for mixer, feed_forward, index in kinds(c, "layer_types", "mlp_layer_types", "indexer_types")
    )
    tower_ = decoder(c, lambda kind: _layer(c, kind), kinds=plan, final_norm=named_norm(c)("norm"))
    return with_head(c, tower_)


def _layer(c: Config, kind: Kind) -> Layer:
    norm, d = named_norm(c), size(c, "hidden_size")
    mixer = _delta(c) if kind[0] == "linear_attention" else _latent(c, kind[2] != "shared")
    feed_forward = grouped_moe(c, activation="clamped swiglu") if kind[1] == "sparse" else mlp(c)
    sublayers = (
        Sublayer(shared=_mix(c, "hc_attn"), branches=(Branch(pre=norm("input_layernorm"), body=mixer),)),
        Sublayer(shared=_mix(c, "hc_ffn"), branches=(Branch(pre=norm("post_attention_layernorm"), body=feed_forward),)),
    )
    label = " · ".join(filter(None, kind)).replace("_", " ")
    return Layer(sublayers=sublayers, width=d, label=label)


def _mix(c: Config, at: str) -> HyperConnection:
    maps = (2 + c.hc_mult) * c.hc_mult
    names = (f"{at}_fn", f"{at}_base", f"{at}_scale")
    made = mapped_hyper_connection("", size(c, "hidden_size"), c.hc_mult, maps=maps, scales=3, names=names)
    return replace(made, role=at)


def _delta(c: Config) -> Block:
    return kimi_delta_attention(
        "self_attn",
        size(c, "hidden_size"),
        num_heads=c.linear_num_heads,
        head_dim=c.linear_head_dim,
        kernel=c.linear_conv_kernel_dim,
        decay_shape=(c.linear_num_heads,),
        fields=DELTA,
    )


def _latent(c: Config, indexed: bool) -> Block:
    extras = (_indexer(c),) if indexed else ()
    return latent_attention(c, bias=c.attention_bias, extras=extras, top_k=c.index_topk)


def _indexer(c: Config) -> SparseIndexer:
    """Keys are pooled: one entry for index_kpool positions, weighed by a learned gate and bias."""
    d, width = size(c, "hidden_size"), c.index_head_dim
    pooling = (
        weight("index_kpool_compress_ape", c.index_kpool, width),
        weight("index_kpool_compress_gate", width, d),
    )
    return sparse_indexer(
        d,
        size(c, "q_lora_rank"),
        num_heads=c.index_n_heads,
        head_dim=width,
        top_k=c.index_topk,
        pool=c.index_kpool,
        extras=pooling,
    )
