"""Inkling 2: sublayers that attend to the blocks before them, gates and sinks in attention, layers in a loop."""

from __future__ import annotations

from dataclasses import replace

from archscope.blocks.assembly import Architecture, Branch, Head, Layer, Sublayer, Tower
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, Weight, group, weight
from archscope.blocks.depth_queries import DepthQueries
from archscope.blocks.factories import kinds, moe, named_norm, size
from archscope.blocks.leaves import conv, linear
from archscope.blocks.moe import Moe
from archscope.blocks.padded import PaddedLinear
from archscope.blocks.short_conv import dynamic_conv
from archscope.blocks.size import Size
from archscope.blocks.skeletons import decoder, head, with_head
from archscope.config import Config
from archscope.families.registry import family

STREAMS = ("attn", "k", "v", "mlp")


@family("inkling2_text")
def inkling2_text(c: Config) -> Architecture:
    """Full layers norm queries, keys and values apart and let each read its own mix of the blocks before.

    Source: transformers, models/inkling2/modeling_inkling2.py; names as its conversion saves them.
    """
    tower = _tower(c, kinds(c, "layer_types"))
    return with_head(c, tower, prefix="model.llm", heads={"causal_lm": (_head(c),)})


@family("inkling2_loop_text")
def inkling2_loop_text(c: Config) -> Architecture:
    """Inkling 2 whose middle layers run loop_num_passes times, each with a cache of its own, and gated messages between.

    Source: transformers, models/inkling2_loop/modeling_inkling2_loop.py; names as its conversion saves them.
    """
    first, last = c.loop_layer_index_start, c.loop_layer_index_end
    by_layer = tuple((kind, "loop") if first <= i < last else kind for i, kind in enumerate(kinds(c, "layer_types")))
    queries = 2 * Size(last - first, "L_loop")
    names = ("middle_cycle_cross_pass_queries", "middle_cycle_cross_pass_kv_queries")
    messages = (Weight(name=n, role="side messages", shape=(queries, size(c, "hidden_size"))) for n in names)
    tower = _tower(c, by_layer, *messages)
    return with_head(c, tower, prefix="model.llm", heads={"causal_lm": (_head(c),)})


def _tower(c: Config, by_layer: tuple[object, ...], *beside: Block) -> Tower:
    """The queries over depth are saved beside the layers; those of attention start at the second layer."""
    d, norm = size(c, "hidden_size"), named_norm(c)
    order = tuple(0 if kind == "hybrid_sliding" else 1 for kind in kinds(c, "layer_types"))
    queries = (
        DepthQueries(
            name="attn_res.attn_queries",
            role="side attention queries",
            queries=(weight("", d), weight("", 3, d)),
            order=order[1:],
        ),
        DepthQueries(
            name="attn_res.mlp_queries", role="side mlp queries", queries=(weight("", d),), order=(0,) * len(order)
        ),
        Weight(name="attn_res.output_query", role="side output query", shape=(d,)),
    )
    base = decoder(
        c,
        lambda kind: _layer(c, kind),
        kinds=by_layer,
        embed="embed",
        before=(norm("embed_norm"),),
        final_norm=norm("norm"),
    )
    return replace(base, parts=(*base.parts, *queries, *beside))


def _layer(c: Config, kind: object) -> Layer:
    d, norm, kernel = size(c, "hidden_size"), named_norm(c), c.conv_kernel_size
    loops = isinstance(kind, tuple)
    slides = (kind[0] if isinstance(kind, tuple) else kind) == "hybrid_sliding"
    passes: int = c.loop_num_passes if loops else 1
    gates = tuple(_message_gate(c, f"controllers.{stream}") for stream in STREAMS) if loops else ()
    others = () if slides else (norm("k_input_norm"), norm("v_input_norm"))

    def convolved(pre: str, body: Block, post: str) -> Sublayer:
        mixed = conv(post, d, d, kernel, groups=d, bias=False, role="conv")
        return Sublayer(branches=(Branch(pre=norm(pre), body=body, post=mixed),))

    return Layer(
        sublayers=(
            convolved("attn_norm" if slides else "q_input_norm", _attention(c, slides), "attn_sconv"),
            convolved("mlp_norm", _experts(c), "mlp_sconv"),
        ),
        width=d,
        label=("sliding" if slides else "full") + (f" · {passes} passes" if passes > 1 else ""),
        extras=(*others, *gates),
        passes=passes,
    )


def _attention(c: Config, slides: bool) -> Attention:
    d, own = size(c, "hidden_size"), "swa_" if slides else ""
    heads, kv = Size(c.get(f"{own}num_attention_heads"), "h_q"), Size(c.get(f"{own}num_key_value_heads"), "h_kv")
    width, kernel = Size(c.get(f"{own}head_dim"), "d_h"), c.conv_kernel_size
    reach = c.sliding_window_size if slides else c.rel_extent
    keys = kv * width
    return Attention(
        name="attn",
        num_heads=heads,
        num_kv_heads=kv,
        head_dim=width,
        v_head_dim=width,
        window=c.sliding_window_size if slides else None,
        position="relative",
        conv_elements=2 * int(keys) * kernel,
        parts=(
            linear("wq_du", d, heads * width, role="q"),
            linear("wk_dv", d, keys, role="k"),
            linear("wv_dv", d, keys, role="v"),
            *(_stream_conv(c, stream, kv, width, slides) for stream in "kv"),
            weight("q_l2_clip.scale", heads, width),
            linear("wr_du", d, heads * c.d_rel, role="relative"),
            weight("rel_l2_clip.scale", heads, c.d_rel),
            weight("rel_logits_proj.proj", c.d_rel, reach, role="bias"),
            linear("attn_sink_proj", d, heads, role="sinks"),
            linear("gate_attn", d, heads * width, role="gate"),
            linear("wo_ud", heads * width, d, role="o"),
        ),
        fields=(f"{own}num_attention_heads", f"{own}num_key_value_heads", f"{own}head_dim", "d_rel"),
    )


def _stream_conv(c: Config, stream: str, kv: Size, width: Size, slides: bool) -> Block:
    """Fixed weights in sliding layers; in full ones every token adds its own."""
    keys, kernel, name, role = kv * width, c.conv_kernel_size, f"{stream}_sconv", f"{stream}_conv"
    if slides:
        return conv(name, keys, keys, kernel, groups=keys, bias=False, role=role)
    names = ("static_w", "weight_proj")
    return dynamic_conv(name, keys, size(c, "hidden_size"), num_heads=kv, kernel=kernel, names=names, role=role)


def _message_gate(c: Config, name: str) -> Block:
    """What of the state to forget and of the message to take, from both through a low rank."""
    d, rank = size(c, "hidden_size"), Size(c.loop_gate_rank, "r_gate")
    matrices = (weight("down_weight", rank, 2 * d), weight("forget_weight", d, rank), weight("gain_weight", d, rank))
    return group(name, *matrices, role="message gate")


def _experts(c: Config) -> Moe:
    d, e, m = size(c, "hidden_size"), Size(c.n_routed_experts, "E"), Size(c.moe_intermediate_size, "m_e")
    return moe(
        c,
        num_experts=e,
        top_k=c.num_experts_per_tok,
        width=m,
        stacked=(weight("w13_weight", e, 2 * m, d), weight("w2_weight", e, d, m)),
        activation="soft-capped swiglu",
        correction=weight("bias", e, parameter=False),
        scoring="softmax" if c.scoring_func == "softmax" else "sigmoid",
        normalised=True,
        scale=c.route_scale,
        fields=("n_routed_experts", "num_experts_per_tok", "moe_intermediate_size"),
    )


def _head(c: Config) -> Head:
    """unpadded_vocab_size rows, saved with as many as the token table has."""
    matrix = PaddedLinear(
        name="model.llm.unembed",
        role="logits",
        in_features=size(c, "hidden_size"),
        out_features=size(c, "unpadded_vocab_size"),
        saved_features=size(c, "vocab_size"),
        fields=("vocab_size", "unpadded_vocab_size"),
    )
    return replace(head("causal_lm", matrix), softcap=c.final_logit_softcapping)
