"""Kosmos-2 and 2.5: a decoder with norms inside its branches, fed with what learned queries read from an image."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Stack, Sublayer, Tower, pre_norm, stack
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, weight
from archscope.blocks.leaves import embedding, layer_norm, linear
from archscope.blocks.mlp import plain_mlp
from archscope.blocks.projectors import projector
from archscope.blocks.size import Size
from archscope.blocks.skeletons import tied_names, vocabulary_head
from archscope.blocks.towers import square_attention
from archscope.config import Config
from archscope.families.registry import family, tower

FIELDS = ("attention_heads", "embed_dim")


@family("kosmos-2")
def kosmos2(c: Config) -> Architecture:
    """A norm before the output of attention and one inside the feed-forward block.

    Source: Kosmos-2 (arXiv 2306.14824); transformers, models/kosmos2/modeling_kosmos2.py.
    """
    text = c.sub("text_config")
    return _whole(c, _decoder(text, inner_norm=True), bool(c.tie_word_embeddings or text.tie_word_embeddings))


@family("kosmos-2.5")
def kosmos25(c: Config) -> Architecture:
    """Kosmos-2's decoder without the norm in attention, and a table that tells image from text.

    Source: Kosmos-2.5 (arXiv 2309.11419); transformers, models/kosmos2_5/modeling_kosmos2_5.py.
    """
    text = c.sub("text_config")
    segments = embedding("segment_emb", 2, Size(text.embed_dim, "d"), of="segment", role="embedding")
    return _whole(c, _decoder(text, segments), bool(text.tie_word_embeddings))


def _whole(c: Config, text: Tower, tied: bool) -> Architecture:
    """Both towers, the resampler between them, a head over words in the class that has one."""
    parts: tuple[Block, ...] = (tower(c.sub("vision_config"), "vision_model", "vision"), _resampler(c), text)
    if c.task == "model":
        return Architecture(parts=parts)
    table = "text_model.model.embed_tokens.weight" if tied else ""
    words = vocabulary_head(c.sub("text_config"), text.width, "text_model.lm_head", tied_to=table)
    known = c.model_class.endswith("ForConditionalGeneration")
    partial = "" if known else f"what {c.model_class} builds is not known"
    return Architecture(parts=(*parts, words), tied=tied_names(words, ""), partial=partial)


def _decoder(c: Config, *more: Block, inner_norm: bool = False) -> Tower:
    d, eps = Size(c.embed_dim, "d"), c.layer_norm_eps
    return Tower(
        name="text_model.model",
        parts=(
            embedding("embed_tokens", Size(c.vocab_size, "V"), d, role="embedding", fields=("vocab_size", "embed_dim")),
            *more,
            _layers(c, inner_norm),
            layer_norm("layer_norm", d, eps=eps),
        ),
        model_type=c.model_type,
        pointer=c.pointer,
        width=d,
    )


def _layers(c: Config, inner_norm: bool) -> Stack:
    d, m, eps = Size(c.embed_dim, "d"), Size(c.ffn_dim, "m"), c.layer_norm_eps
    crosses = inner_norm and c.get("add_cross_attention")

    def layer(kind: object) -> tuple[Sublayer, ...]:
        inside = layer_norm("ffn_layernorm", m, role="norm", eps=eps)
        ffn = plain_mlp(d, m, c.activation_function, name="ffn", norm=inside, fields=("ffn_dim", "embed_dim"))
        own = (layer_norm("self_attn_layer_norm", d, eps=eps), _attention(c, "self_attn", inner_norm))
        other = (layer_norm("encoder_attn_layer_norm", d, eps=eps), _attention(c, "encoder_attn", False, d))
        last = (layer_norm("final_layer_norm", d, eps=eps), ffn)
        return pre_norm(own, other, last) if crosses else pre_norm(own, last)

    return stack("layers", ("",) * c.layers, layer, width=d)


def _attention(c: Config, name: str, inner_norm: bool, memory: int | None = None) -> Attention:
    d = Size(c.embed_dim, "d")
    norm = (layer_norm("inner_attn_ln", d, role="out_norm", eps=c.layer_norm_eps),) if inner_norm else ()
    return square_attention(
        d,
        c.attention_heads,
        name=name,
        extras=norm,
        causal=memory is None,
        cache=True,
        memory=memory,
        position="sinusoidal",
        fields=FIELDS,
    )


def _resampler(c: Config) -> Block:
    """Learned queries attend to the patches and to themselves. Source: Kosmos2ImageToTextProjection."""
    text, d_v = c.sub("text_config"), c.sub("vision_config").hidden_size
    d = Size(text.embed_dim, "d")
    return projector(
        "image_to_text_projection",
        d_v,
        d,
        linear("dense", d_v, d, True),
        weight("latent_query", c.latent_query_num, d, role="query"),
        square_attention(d, text.attention_heads, name="x_attn", position="none", fields=FIELDS),
        note=f"{c.latent_query_num} queries",
    )
