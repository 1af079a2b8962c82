"""Funnel Transformer: blocks of layers over ever shorter sequences, and a decoder that brings back the length."""

from __future__ import annotations

from dataclasses import replace

from archscope.blocks.assembly import Architecture, Layer, Stack, post_add_norm, stack
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, group, weight
from archscope.blocks.encoder_heads import Heads, label_heads, language_heads
from archscope.blocks.encoders import encoder
from archscope.blocks.factories import attention, mlp, num_labels, size
from archscope.blocks.leaves import embedding, layer_norm, linear
from archscope.blocks.size import Size
from archscope.blocks.skeletons import head, with_head
from archscope.config import Config
from archscope.config.limits import MOST_LAYERS
from archscope.families.registry import family

WITHOUT_DECODER = ("sequence_classification", "multiple_choice")


@family("funnel")
def funnel(c: Config) -> Architecture:
    """Each block after the first pools its queries by two; its layers may be passed several times.

    Source: transformers, models/funnel/modeling_funnel.py (FunnelEncoder, FunnelDecoder).
    """
    d = size(c, "hidden_size")
    if sum(c.block_sizes) > MOST_LAYERS:
        raise ValueError(f"block_sizes adds up to more than {MOST_LAYERS:,} layers")
    repeats = c.block_repeats
    blocks = [_layers(c, f"encoder.blocks.{i}", n, repeats[i]) for i, n in enumerate(c.block_sizes)]
    base = c.model_class == "FunnelBaseModel" or c.task in WITHOUT_DECODER
    decoder = () if base else (_layers(c, "decoder.layers", c.num_decoder_layers, 1),)
    words = embedding("embeddings.word_embeddings", size(c, "vocab_size"), d, role="embedding", fields=("vocab_size",))
    tables = (words, layer_norm("embeddings.layer_norm", d, eps=c.layer_norm_eps))
    whole = encoder(c, tables, lambda kind: _layer(c, 1), kinds=())
    tower = replace(whole, tower="encoder", parts=(*tables, *blocks, *decoder))
    return with_head(c, tower, prefix="funnel", heads=_heads(c))


def _layers(c: Config, name: str, count: int, passes: int) -> Stack:
    return stack(name, ("",) * count, lambda kind: _layer(c, passes), width=size(c, "hidden_size"))


def _layer(c: Config, passes: int) -> Layer:
    d = size(c, "hidden_size")
    names = ("ffn.linear_1", "ffn.linear_2")
    ffn = mlp(c, name="", role="ffn", kind="plain", names=names, bias=True, width=Size(c.d_inner, "m"))
    sublayers = post_add_norm(
        (_attention(c), layer_norm("attention.layer_norm", d, eps=c.layer_norm_eps)),
        (ffn, layer_norm("ffn.layer_norm", d, eps=c.layer_norm_eps)),
    )
    return Layer(sublayers=sublayers, width=d, passes=passes)


def _attention(c: Config) -> Attention:
    """Relative attention with biases per head on content, position and segment."""
    d, heads, width = size(c, "hidden_size"), size(c, "num_attention_heads"), Size(c.d_head, "d_h")
    per_head = [weight(name, heads, width, role=name) for name in ("r_w_bias", "r_r_bias", "r_s_bias")]
    extras: tuple[Block, ...] = (
        *per_head,
        weight("r_kernel", d, heads, width, role="position k"),
        weight("seg_embed", 2, heads, width, role="segment bias"),
    )
    made = attention(
        c,
        name="attention",
        names=("q_head", "k_head", "v_head", "post_proj"),
        bias=True,
        num_kv_heads=heads,
        head_dim=width,
        causal=False,
        cache=False,
        position="relative",
        extras=extras,
        fields=("n_head", "d_head", "d_model"),
    )
    return replace(made, parts=(linear("q_head", d, heads * width, role="q", fields=made.fields), *made.parts[1:]))


def _heads(c: Config) -> Heads:
    d, tied = size(c, "hidden_size"), bool(c.tie_word_embeddings)
    table = "funnel.embeddings.word_embeddings.weight" if tied else ""
    words = linear("lm_head", d, size(c, "vocab_size"), True, role="logits", tied_to=table)
    replaced = group("discriminator_predictions", linear("dense", d, d, True), linear("dense_prediction", d, 1, True))
    heads = label_heads(c) | language_heads(words, tasks=("masked_lm",))
    heads["pretraining"] = (head("pretraining", replaced),)
    for task, count in (("sequence_classification", num_labels(c)), ("multiple_choice", 1)):
        parts = (linear("linear_hidden", d, d, True), linear("linear_out", d, count, True, role="logits"))
        heads[task] = (head(task, group("classifier", *parts)),)
    return heads
