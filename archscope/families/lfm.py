"""The LFM lineage: short gated convolutions in most layers, attention with normed queries and keys in some."""

from __future__ import annotations

from collections.abc import Callable

from archscope.blocks.assembly import Architecture, Branch, Sublayer
from archscope.blocks.base import Block, weight
from archscope.blocks.factories import attention, kinds, mlp, moe, named_norm, size, sliding_window
from archscope.blocks.leaves import linear
from archscope.blocks.mlp import Mlp
from archscope.blocks.short_conv import short_convolution
from archscope.blocks.size import Size
from archscope.blocks.skeletons import decoder, pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family

NAMES = ("w1", "w3", "w2")


@family("lfm2")
def lfm2(c: Config) -> Architecture:
    """Convolution or attention by layer_types; the MLP's width is adjusted where block_auto_adjust_ff_dim is true.

    Source: transformers, models/lfm2/modeling_lfm2.py (Lfm2DecoderLayer, Lfm2MLP).
    """
    width = Size(_adjusted_width(c), "m")
    return _decoder(c, kinds(c, "layer_types"), lambda kind: _mixer(c, kind), lambda kind: _mlp(c, width))


@family("lfm2_moe")
def lfm2_moe(c: Config) -> Architecture:
    """LFM2 whose layers past num_dense_layers have sigmoid-routed experts.

    Source: transformers, models/lfm2_moe/modeling_lfm2_moe.py (Lfm2MoeSparseMoeBlock).
    """

    def feed_forward(kind: tuple[str, bool]) -> Block:
        if kind[1]:
            return _mlp(c)
        return moe(
            c,
            name="feed_forward",
            num_experts=c.num_experts,
            top_k=c.num_experts_per_tok,
            width=c.moe_intermediate_size,
            router="",
            scores="gate",
            names=NAMES,
            correction=weight("expert_bias", Size(c.num_experts, "E"), parameter=False) if c.use_expert_bias else None,
            activation="silu",
            scoring="sigmoid",
            normalised=c.norm_topk_prob,
            scale=c.routed_scaling_factor,
        )

    by_layer = tuple((kind, i < c.num_dense_layers) for i, kind in enumerate(kinds(c, "layer_types")))
    return _decoder(c, by_layer, lambda kind: _mixer(c, kind[0]), feed_forward)


@family("lfm3")
def lfm3(c: Config) -> Architecture:
    """Windows in some attention layers, a gate for each head, norms after the sublayers with use_sandwich_norm.

    Source: transformers, models/lfm3/modeling_lfm3.py (Lfm3DecoderLayer, Lfm3Attention).
    """
    norm = named_norm(c)
    gate = linear("gate_proj", size(c, "hidden_size"), size(c, "num_attention_heads"), role="gate")

    def mixer(kind: str) -> Block:
        if kind == "conv":
            return _convolution(c)
        gates = (gate,) if c.use_attention_gate else ()
        window = sliding_window(c, kind)
        return attention(c, bias=c.attention_bias, qk_norm="head", layer_type=kind, window=window, extras=gates)

    def around(pre: str, body: Block, post: str) -> Sublayer:
        return Sublayer(branches=(Branch(pre=norm(pre), body=body, post=norm(post) if c.use_sandwich_norm else None),))

    tower = decoder(
        c,
        lambda kind: (
            around("operator_norm", mixer(kind), "post_operator_norm"),
            around("ffn_norm", _mlp(c), "post_ffn_norm"),
        ),
        final_norm=norm("embedding_norm"),
    )
    return with_head(c, tower)


def _decoder(
    c: Config, by_layer: tuple[object, ...], mixer: Callable[..., Block], feed_forward: Callable[..., Block]
) -> Architecture:
    norms = ("operator_norm", "ffn_norm")
    return with_head(c, pre_norm_decoder(c, mixer, feed_forward, norms=norms, final="embedding_norm", kinds=by_layer))


def _mixer(c: Config, kind: str) -> Block:
    if kind == "conv":
        return _convolution(c)
    names = ("q_proj", "k_proj", "v_proj", "out_proj")
    return attention(c, names=names, qk_norm="head", norm_names=("q_layernorm", "k_layernorm"))


def _convolution(c: Config) -> Block:
    return short_convolution("conv", size(c, "hidden_size"), kernel=c.conv_L_cache, bias=c.conv_bias)


def _mlp(c: Config, width: int | None = None) -> Mlp:
    return mlp(c, name="feed_forward", names=NAMES, width=width, activation="silu")


def _adjusted_width(c: Config) -> int:
    """Two thirds, times a factor, rounded up to a multiple."""
    width: int = c.intermediate_size
    if not c.block_auto_adjust_ff_dim:
        return width
    width = int(2 * width / 3)
    if c.block_ffn_dim_multiplier is not None:
        width = int(c.block_ffn_dim_multiplier * width)
        width = c.block_multiple_of * -(-width // c.block_multiple_of)
    return width
