"""Gemma 3n's decoder: several residual streams, low-rank residuals, per-layer inputs, shared keys and values."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

from archscope.blocks.assembly import Architecture, Branch, Layer, Sublayer
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block
from archscope.blocks.factories import attention, mlp, named_norm, size, sliding_window
from archscope.blocks.leaves import Norm, embedding, linear
from archscope.blocks.mlp import Mlp
from archscope.blocks.plans import reusing_layers
from archscope.blocks.repeated import Repeated
from archscope.blocks.side_inputs import altup, low_rank_residual, per_layer_input
from archscope.blocks.size import Size
from archscope.blocks.skeletons import decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("gemma3n_text")
def gemma3n_text(c: Config) -> Architecture:
    """Sliding and full layers; the last num_kv_shared_layers use the keys and values of an earlier one of their type.

    Source: transformers, models/gemma3n/modeling_gemma3n.py (Gemma3nTextDecoderLayer, Gemma3nTextModel).
    """
    d, extra = size(c, "hidden_size"), max(c.altup_num_inputs - 1, 0)
    plan = zip(c.layer_types, reusing_layers(c), c.intermediate_size, c.activation_sparsity_pattern, strict=False)
    tower = decoder(
        c,
        lambda kind: _layer(c, *kind),
        kinds=tuple(plan)[: c.num_hidden_layers],
        embed_scale=sqrt(d),
        before=(*_per_layer(c), Repeated(name="altup_projections", role="side", part=linear("", d, d), count=extra)),
        after=(Repeated(name="altup_unembed_projections", role="side", part=linear("", d, d), count=extra),),
        final_norm=named_norm(c)("norm"),
    )
    return with_head(c, tower)


def _layer(c: Config, layer_type: str, reuses: str, width: int, sparsity: float) -> Layer:
    norm, d = named_norm(c), size(c, "hidden_size")
    laurel = low_rank_residual("laurel", c.laurel_rank, norm("post_laurel_norm"))
    mixer = Branch(body=_attention(c, layer_type, reuses), post=norm("post_attention_layernorm"))
    own = per_layer_input(d, c.hidden_size_per_layer_input, norm("post_per_layer_input_norm"))
    feed_forward = Branch(
        pre=norm("pre_feedforward_layernorm"),
        body=_mlp(c, width, sparsity),
        post=norm("post_feedforward_layernorm"),
    )
    sublayers = (
        Sublayer(shared=norm("input_layernorm"), branches=(mixer, Branch(body=laurel))),
        Sublayer(branches=(feed_forward,)),
        Sublayer(branches=(Branch(body=own),)),
    )
    streams = altup("altup", c.altup_num_inputs, replace(norm("router_norm"), role="norm"))
    label = layer_type.replace("_", " ") + (" · shared keys and values" if reuses else "")
    return Layer(sublayers=sublayers, width=d, label=label, extras=(streams,))


def _attention(c: Config, kind: str, reuses: str) -> Attention:
    made = attention(
        c,
        bias=c.attention_bias,
        qk_norm="head",
        extras=(Norm(name="v_norm", role="v_norm", size=c.head_dim, affine=False),),
        layer_type=kind,
        window=sliding_window(c, kind),
        scale=1.0,
        cache=not reuses,
    )
    own = ("k", "v", "k_norm", "v_norm") if reuses else ()
    return replace(made, reuses=reuses, parts=tuple(part for part in made.parts if part.role not in own))


def _mlp(c: Config, width: int, sparsity: float) -> Mlp:
    act = f"{c.hidden_activation}, {sparsity:.0%} off" if sparsity else c.hidden_activation
    return mlp(c, width=Size(width, "m"), activation=act)


def _per_layer(c: Config) -> tuple[Block, ...]:
    """The table of per-layer embeddings, and what makes the same of the token's embedding."""
    each = Size(c.hidden_size_per_layer_input, "d_ple")
    wide = c.num_hidden_layers * each
    return (
        embedding(
            "embed_tokens_per_layer",
            c.vocab_size_per_layer_input,
            wide,
            of="token, for each layer",
            role="side embedding",
            scale=sqrt(each),
        ),
        linear("per_layer_model_projection", size(c, "hidden_size"), wide, role="side projection"),
        replace(named_norm(c, size_of=each)("per_layer_projection_norm"), role="side norm"),
    )
