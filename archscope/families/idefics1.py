"""IDEFICS: a Llama decoder between whose layers gated cross-attention layers read the images, after Flamingo."""

from __future__ import annotations

from dataclasses import replace

from archscope.blocks.assembly import Architecture, Branch, Layer, Stack, Sublayer, Tower, pre_norm, stack
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, group, weight
from archscope.blocks.factories import attention, mlp, size
from archscope.blocks.leaves import embedding, layer_norm, linear, rms_norm
from archscope.blocks.mlp import plain_mlp
from archscope.blocks.skeletons import GENERATIVE_TASKS, head, tied_names
from archscope.config import Config
from archscope.families.registry import family, tower


@family("idefics")
def idefics(c: Config) -> Architecture:
    """A cross-attention layer before every cross_layer_interval-th layer; tokens beyond the vocabulary in own tables.

    Source: transformers, models/idefics/modeling_idefics.py (IdeficsModel, IdeficsGatedCrossAttentionLayer).
    """
    bare = c.task == "model"
    at = "" if bare else "model."
    seeing = [tower(c.sub("vision_config"), f"{at}vision_model", "vision")]
    if c.use_resampler:
        seeing.append(_resampler(c, f"{at}perceiver_resampler"))
    parts = (*seeing, _text(c, "" if bare else "model"))
    if bare:
        return Architecture(parts=parts)
    if c.task not in GENERATIVE_TASKS:
        return Architecture(parts=parts, partial=f"the head of {c.model_class or 'this class'} is not known")
    logits = head("causal_lm", *_logits(c))
    return Architecture(parts=(*parts, logits), tied=tied_names(logits, ""))


def _text(c: Config, name: str) -> Tower:
    d, more = size(c, "hidden_size"), c.additional_vocab_size
    table = group(
        "embed_tokens",
        embedding("", size(c, "vocab_size"), d, fields=("vocab_size",)),
        embedding("additional_embedding", more, d, fields=("additional_vocab_size",)) if more > 0 else None,
        role="embedding",
    )
    layers = stack("layers", ("",) * c.num_hidden_layers, lambda kind: _layer(c), width=d)
    parts = (table, _crossing(c), layers, rms_norm("norm", d))
    return Tower(name=name, parts=parts, tower="text", model_type=c.model_type, pointer=c.pointer, width=d)


def _logits(c: Config) -> tuple[Block, ...]:
    d, more, tie = size(c, "hidden_size"), c.additional_vocab_size, c.tie_word_embeddings
    table = "model.embed_tokens"
    first = linear("lm_head", d, c.vocab_size, role="logits", tied_to=f"{table}.weight" if tie else "")
    if more <= 0:
        return (first,)
    tied_to = f"{table}.additional_embedding.weight" if tie else ""
    return first, linear("lm_head.additional_fc", d, more, role="more logits", tied_to=tied_to)


def _layer(c: Config) -> tuple[Sublayer, ...]:
    d = size(c, "hidden_size")
    return pre_norm(
        (rms_norm("input_layernorm", d), _attention(c, "self_attn")),
        (rms_norm("post_attention_layernorm", d), mlp(c)),
    )


def _crossing(c: Config) -> Stack:
    """The layers that stand between the others, numbered by themselves."""
    d, memory = size(c, "hidden_size"), c.sub("vision_config").embed_dim
    shape = (1, 1, int(d)) if c.alpha_type == "vector" else (1,)

    def layer(kind: object) -> Layer:
        sublayers = pre_norm(
            (rms_norm("input_layernorm", d), _attention(c, "cross_attn", memory)),
            (rms_norm("post_attention_layernorm", d), mlp(c)),
        )
        gates = (weight("alpha_cross_attn", *shape), weight("alpha_dense", *shape))
        return Layer(sublayers=sublayers, width=d, label="gated cross-attention", extras=gates)

    count = c.num_hidden_layers // c.cross_layer_interval
    return replace(stack("gated_cross_attn_layers", ("",) * count, layer, width=d), role="side layers")


def _attention(c: Config, name: str, memory: int | None = None) -> Attention:
    heads = c.num_attention_heads
    return attention(
        c,
        name=name,
        num_kv_heads=heads,
        head_dim=size(c, "hidden_size") // heads,
        memory=memory,
        qk_norm="head" if memory is not None and c.qk_layer_norms else "",
        norm_names=("q_layer_norm", "k_layer_norm"),
        causal=memory is None,
        position="rope" if memory is None else "none",
        fields=("num_attention_heads", "hidden_size"),
    )


def _resampler(c: Config, name: str) -> Tower:
    """Latents that read the context and themselves. Source: transformers, models/idefics/perceiver.py."""
    perceiver, width = c.sub("perceiver_config"), c.sub("vision_config").embed_dim
    blocks = stack("blocks", ("",) * perceiver.resampler_depth, lambda kind: _reading(perceiver, width), width=width)
    parts = (
        weight("latents", perceiver.resampler_n_latents, width, role="embedding"),
        blocks,
        layer_norm("layer_norm", width),
    )
    return Tower(
        name=name, parts=parts, tower="other", model_type=perceiver.model_type, pointer=perceiver.pointer, width=width
    )


def _reading(c: Config, width: int) -> Layer:
    context, latents = layer_norm("0.context_layer_norm", width), layer_norm("0.latents_layer_norm", width)
    reading = attention(
        c,
        name="0",
        names=("q_proj", "k_proj", "v_proj", "output_proj"),
        hidden=width,
        num_heads=c.resampler_n_heads,
        num_kv_heads=c.resampler_n_heads,
        head_dim=c.resampler_head_dim,
        memory=width,
        qk_norm="head" if c.qk_layer_norms_perceiver else "",
        norm_kind="layer",
        norm_names=("q_layer_norm", "k_layer_norm"),
        norm_bias=True,
        causal=False,
        cache=False,
        position="none",
        fields=("resampler_n_heads", "resampler_head_dim"),
    )
    feed_forward = plain_mlp(width, 4 * width, "relu", bias=False, name="1", names=("fc", "c_proj"), fields=())
    sublayers = (
        Sublayer(branches=(Branch(pre=latents, body=reading),)),
        Sublayer(branches=(Branch(pre=layer_norm("1.ln", width), body=feed_forward),)),
    )
    return Layer(sublayers=sublayers, width=width, extras=(context,))
