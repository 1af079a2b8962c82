"""The Muse lineage: gated attention with four norms a layer; later with experts and gates on the residual stream."""

from __future__ import annotations

from dataclasses import replace

from archscope.blocks.assembly import Architecture, Branch, Layer, Sublayer
from archscope.blocks.attention import Attention, head_norms
from archscope.blocks.base import Block, group, weight
from archscope.blocks.composites import Mount, assemble, nested
from archscope.blocks.factories import (
    attention,
    head_size,
    kinds,
    mlp,
    moe,
    named_norm,
    size,
    sliding_window,
    stacked_experts,
)
from archscope.blocks.leaves import Norm, linear, rms_norm
from archscope.blocks.projectors import Projector, mlp_projector
from archscope.blocks.size import Size
from archscope.blocks.skeletons import decoder, with_head
from archscope.config import Config
from archscope.families.registry import family, tower


@family("muse_glimmer_text")
def muse_glimmer_text(c: Config) -> Architecture:
    """Sliding and full layers; a layer whose layer_rope_theta is zero has no positions.

    Source: transformers, models/muse_glimmer/modeling_muse_glimmer.py (MuseGlimmerTextDecoderLayer).
    """
    return _text(c, kinds(c, "layer_types", "layer_rope_theta"))


@family("muse_spark_text")
def muse_spark_text(c: Config) -> Architecture:
    """Experts in a width of their own, and gates that weigh the residual stream against each sublayer.

    Source: transformers, models/muse_spark/modeling_muse_spark.py (MuseSparkTextDecoderLayer, MuseSparkMoE).
    """
    return _text(c, kinds(c, "layer_types", "layer_rope_theta", "mlp_layer_types"), gates=True)


@family("muse_glimmer")
def muse_glimmer(c: Config) -> Architecture:
    """The text model with a vision tower behind two matrices and a projection.

    Source: transformers, models/muse_glimmer/modeling_muse_glimmer.py (MuseGlimmerModel).
    """
    text, at = c.sub("text_config"), nested(c)
    seeing = tower(c.sub("vision_config"), at("vision_tower"), "vision")
    return assemble(c, at, tower(text, at.text), seeing, *_adapter(c, at), text_config=text)


@family("muse_spark")
def muse_spark(c: Config) -> Architecture:
    """Muse Glimmer with an audio tower, whose output is as wide as the text; the head is never tied.

    Source: transformers, models/muse_spark/modeling_muse_spark.py (MuseSparkModel).
    """
    text, at = c.sub("text_config"), nested(c)
    seeing = tower(c.sub("vision_config"), at("vision_tower"), "vision")
    hearing = tower(c.sub("audio_config"), at("audio_tower"), "audio")
    return assemble(c, at, tower(text, at.text), seeing, *_adapter(c, at), hearing, text_config=text, tie=False)


def _adapter(c: Config, at: Mount) -> tuple[Projector, ...]:
    source, middle, d = c.out_hidden_size, c.projector_hidden_size, size(c.sub("text_config"), "hidden_size")
    activation = c.projector_hidden_act
    first = mlp_projector(at("vision_adapter"), source, middle, bias=False, names=("fc1", "fc2"), activation=activation)
    last = Projector(
        parts=(linear(at("vision_projection"), middle, d),), source_width=middle, target_width=d, note="then normed"
    )
    return (first, last)


def _text(c: Config, by_layer: tuple[tuple[str, ...], ...], *, gates: bool = False) -> Architecture:
    norm, d = named_norm(c), size(c, "hidden_size")

    def late(name: str) -> Norm:
        return replace(norm(name), eps=c.post_norm_eps, affine=not (gates and name == "post_attention_layernorm"))

    def layer(kind: tuple[str, ...]) -> Layer:
        body = _experts(c) if kind[2:] == ("sparse",) else mlp(c)
        triples = (
            ("input_layernorm", _attention(c, kind), "post_attention_layernorm"),
            ("pre_feedforward_layernorm", body, "post_feedforward_layernorm"),
        )
        names = ("post_attention_residual_gate", "post_feedforward_residual_gate")
        return Layer(
            sublayers=tuple(
                Sublayer(branches=(Branch(pre=norm(pre), body=inner, post=late(post)),)) for pre, inner, post in triples
            ),
            width=d,
            label=kind[0].replace("_", " "),
            extras=tuple(group(name, weight("gate", d), role="residual gate") for name in names) if gates else (),
        )

    tower_ = decoder(
        c,
        layer,
        kinds=by_layer,
        before=(rms_norm("embed_tokens.embed_norm", d, eps=c.rms_norm_eps, affine=False),),
        final_norm=norm("norm"),
    )
    return with_head(c, tower_)


def _attention(c: Config, kind: tuple[str, ...]) -> Attention:
    """Queries and keys normed without weights; a sigmoid gate on every element of the heads."""
    d, width, heads = size(c, "hidden_size"), head_size(c), size(c, "num_attention_heads")
    norms = head_norms("rms", width, eps=c.rms_norm_eps, names=("q_norm", "k_norm"), affine=False)
    return attention(
        c,
        bias=c.attention_bias,
        window=sliding_window(c, kind[0]),
        position="rope" if kind[1] else "none",
        extras=(*norms, linear("gate_proj", d, heads * width, role="gate")),
    )


def _experts(c: Config) -> Block:
    """Into the experts' width and a norm; a norm on what they give, and back."""
    d, inner, e = size(c, "hidden_size"), Size(c.moe_hidden_size, "d_moe"), Size(c.num_local_experts, "E")
    m, eps = c.moe_intermediate_size, c.rms_norm_eps
    made = moe(
        c,
        num_experts=e,
        top_k=c.num_experts_per_tok,
        width=m,
        hidden=inner,
        stacked=stacked_experts(e, inner, m),
        scoring="sigmoid",
        normalised=True,
        scale=c.routed_scaling_factor,
        fields=("num_local_experts", "num_experts_per_tok", "moe_intermediate_size", "moe_hidden_size"),
    )
    scores = (linear("", d, e, role="scores"), weight("e_score_correction_bias", e, parameter=False))
    narrow = (linear("pre_expert_proj", d, inner), rms_norm("pre_expert_norm", inner, eps=eps))
    widen = (rms_norm("experts.post_expert_norm", inner, eps=c.post_norm_eps), linear("post_expert_proj", inner, d))
    return replace(
        made,
        router=replace(made.router, hidden=d, parts=scores, bias_corrected=True),
        narrow=group("", *narrow, role="narrow"),
        widen=group("", *widen, role="widen"),
    )
