"""Evolla: a decoder of text that reads a protein through an ESM-like encoder and a resampler."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from archscope.blocks.assembly import Architecture, Branch, Layer, Sublayer, Tower, pre_norm, stack
from archscope.blocks.attention import Attention
from archscope.blocks.base import weight
from archscope.blocks.encoders import position_typed_encoder
from archscope.blocks.factories import attention, mlp, size
from archscope.blocks.leaves import layer_norm, linear, rms_norm
from archscope.blocks.mlp import plain_mlp
from archscope.blocks.projectors import Projector
from archscope.blocks.size import Size
from archscope.blocks.skeletons import decoder, vocabulary_head
from archscope.blocks.towers import square_attention
from archscope.config import Config
from archscope.families.registry import family


@family("evolla", "EvollaModel")
def evolla(c: Config) -> Architecture:
    """Llama's layers, some of which end in gated cross-attention to the protein; the head is never tied.

    Source: transformers, models/evolla/modeling_evolla.py (EvollaSequenceAlignerCrossAttention).
    """
    at = "" if c.task == "model" else "model."
    d, eps = size(c, "hidden_size"), c.rms_norm_eps
    every = max(c.num_hidden_layers // c.aligner_num_add_layers, 1)
    kinds = ["aligned" if (i + 1) % every == 0 else "" for i in range(c.num_hidden_layers)]
    text = decoder(c, lambda kind: _layer(c, kind), kinds=kinds, final_norm=rms_norm("norm", d, eps=eps))
    parts = (_protein(c, f"{at}protein_encoder.model"), _resampler(c, f"{at}protein_encoder"))
    whole = (*parts, replace(text, name=at.rstrip(".")))
    known = c.task in ("model", "image_text_to_text", "multimodal_lm")
    heads = () if c.task == "model" or not known else (vocabulary_head(c, d),)
    return Architecture(parts=(*whole, *heads), partial="" if known else f"the head of {c.model_class} is not known")


def _layer(c: Config, kind: Any) -> Layer:
    d, eps = size(c, "hidden_size"), c.rms_norm_eps
    sublayers = pre_norm(
        (rms_norm("input_layernorm", d, eps=eps), attention(c, bias=c.attention_bias)),
        (rms_norm("post_attention_layernorm", d, eps=eps), mlp(c, bias=c.mlp_bias)),
    )
    if kind != "aligned":
        return Layer(sublayers=sublayers, width=d)
    gates = (weight("adapter.gate_attention", 1, role="gate"), weight("adapter.gate_ffw", 1, role="gate"))
    ffn = plain_mlp(
        d, Size(int(d * c.aligner_ffn_mult), "m"), "gelu", bias=False, name="adapter.ff", fields=("aligner_ffn_mult",)
    )
    added = (
        Sublayer(branches=(Branch(pre=rms_norm("adapter.attention_norm", d), body=_aligner(c)),)),
        Sublayer(branches=(Branch(pre=layer_norm("adapter.ff.norm", d), body=ffn),)),
    )
    return Layer(sublayers=(*sublayers, *added), width=d, label=str(kind), extras=gates)


def _aligner(c: Config) -> Attention:
    """Queries from the text, keys and values from the resampled protein."""
    d = size(c, "hidden_size")
    return square_attention(
        d,
        c.num_attention_heads,
        name="adapter",
        names=("query", "key_protein", "value_protein", "out_proj"),
        out_bias=c.aligner_enable_bias,
        position="none",
        memory=d,
        cache=True,
    )


def _protein(c: Config, name: str) -> Tower:
    """An encoder of the structure-aware sequence with a saved buffer of rotary frequencies."""
    made = position_typed_encoder(c.sub("protein_encoder_config"), frequencies="rotary_embeddings.inv_freq")
    return replace(made, name=name, tower="other")


def _resampler(c: Config, name: str) -> Projector:
    """Learned queries that read the protein layer by layer, then a matrix to the width of the text."""
    p, d = c.sub("protein_encoder_config"), size(c, "hidden_size")
    width, heads, head_dim = size(p, "hidden_size"), c.resampler_heads, c.resampler_dim_head
    inner = heads * head_dim
    attend = Attention(
        name="0",
        num_heads=heads,
        num_kv_heads=heads,
        head_dim=head_dim,
        v_head_dim=head_dim,
        causal=False,
        cache=False,
        position="none",
        memory_width=width,
        parts=(
            linear("to_q", width, inner, role="q"),
            layer_norm("norm_media", width, role="memory norm"),
            linear("to_kv", width, 2 * inner, role="kv"),
            linear("to_out", inner, width, role="o"),
        ),
        fields=("resampler_heads", "resampler_dim_head"),
    )
    hidden = Size(int(width * c.resampler_ff_mult), "m")
    ffn = plain_mlp(width, hidden, "gelu", bias=False, name="1", fields=("resampler_ff_mult",))
    layer = pre_norm((layer_norm("0.norm_latents", width), attend), (layer_norm("1.norm", width), ffn))
    return Projector(
        name=f"{name}.sequence_compressor_resampler",
        parts=(
            weight("latents", c.resampler_num_latents, width, role="queries"),
            stack("layers", ("",) * c.resampler_depth, lambda kind: layer, width=width),
            linear("protein_projector", width, d, True, role="projection"),
            layer_norm("norm", d),
        ),
        source_width=width,
        target_width=d,
        note=f"resampled to {c.resampler_num_latents} tokens",
    )
