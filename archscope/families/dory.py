"""Dory: a normalised transformer (vectors on a sphere, learned rates for weights of norms); its middle repeats."""

from __future__ import annotations

from dataclasses import replace

from archscope.blocks.assembly import Architecture, Branch, Layer, Sublayer
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, weight
from archscope.blocks.factories import attention, head_size, mlp, size, sliding_window
from archscope.blocks.leaves import Norm, linear
from archscope.blocks.mlp import Mlp
from archscope.blocks.skeletons import decoder, head, vocabulary_head, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("dory")
def dory(c: Config) -> Architecture:
    """h + rate * (norm(sublayer(h)) - h) on normalised h; the middle layers run n_recurrent_loops times.

    Source: transformers, models/dory/modeling_dory.py (DoryDecoderLayer, DoryModel, DoryLMHead); saved as it converts.
    """
    bare = c.task == "model"
    repeated = range(c.n_input_layers, c.num_hidden_layers - c.n_output_layers)
    plan = tuple((kind, i in repeated) for i, kind in enumerate(c.layer_types))
    tower = decoder(
        c,
        lambda kind: _layer(c, *kind),
        kinds=plan,
        embed="embed_tokens" if bare else "embeddings",
        final_norm=_sphere("norm", size(c, "hidden_size")),
    )
    tied_to = "backbone.embeddings.weight" if c.tie_word_embeddings else ""
    matrix = vocabulary_head(c, tower.width, tied_to=tied_to)
    logits = head("causal_lm", *matrix.parts, weight("lm_head.logit_scale", size(c, "vocab_size")))
    return with_head(c, tower, prefix="backbone", heads={"causal_lm": (logits,)})


def _layer(c: Config, layer_type: str, repeats: bool) -> Layer:
    d = size(c, "hidden_size")
    passes = c.n_recurrent_loops if repeats else 1
    kept = 1 if c.recurrent_kv_cache_mode == "last_loop" else None
    pairs = (
        ("input_layernorm", _attention(c, layer_type), "post_attention_layernorm"),
        ("pre_feedforward_layernorm", _mlp(c), "post_feedforward_layernorm"),
    )
    sublayers = tuple(step for before, body, after in pairs for step in _step(d, before, body, after))
    rates = (weight("lambda_1", d), weight("lambda_2", d))
    label = layer_type.replace("_", " ") + (f" · {passes} passes" if passes > 1 else "")
    return Layer(sublayers=sublayers, width=d, label=label, extras=rates, passes=passes, caches=kept)


def _step(d: int, before: str, body: Block, after: str) -> tuple[Sublayer, ...]:
    """The stream itself is normalised, then moved towards what the body gives."""
    return (
        Sublayer(branches=(Branch(body=_sphere(before, d)),), residual=False),
        Sublayer(branches=(Branch(body=body, post=_sphere(after, d)),)),
    )


def _sphere(name: str, width: int, role: str = "") -> Norm:
    return Norm(name=name, role=role, size=width, kind="l2", affine=False)


def _attention(c: Config, kind: str) -> Attention:
    d, width = size(c, "hidden_size"), head_size(c)
    inner = size(c, "num_attention_heads") * width
    made = attention(c, bias=c.attention_bias, layer_type=kind, window=sliding_window(c, kind))
    extras = (
        _sphere("q_norm", width, "q_norm"),
        _sphere("k_norm", width, "k_norm"),
        weight("sqk", inner),
        linear("g_proj", d, inner, role="gate"),
        weight("s_gate", inner),
        _sphere("attn_sub_norm", inner, "norm"),
    )
    return replace(made, parts=(*made.parts[:-1], *extras, made.parts[-1]))


def _mlp(c: Config) -> Mlp:
    made = mlp(c, bias=c.mlp_bias)
    scales = (weight("suv_gate", made.width), weight("suv_up", made.width))
    return replace(made, parts=(*made.parts[:-1], *scales, _sphere("ffn_sub_norm", made.width, "norm"), made.parts[-1]))
