"""ProphetNet: an encoder-decoder that predicts the next n tokens at once."""

from __future__ import annotations

from dataclasses import replace

from archscope.blocks.assembly import Architecture, Sublayer, Tower, stack
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, present
from archscope.blocks.encoder_decoders import Role, side_layer, side_mlp
from archscope.blocks.factories import size
from archscope.blocks.leaves import embedding, layer_norm, linear
from archscope.blocks.skeletons import head, tied_names
from archscope.blocks.towers import square_attention
from archscope.config import Config
from archscope.families.registry import family

NAMES = ("query_proj", "key_proj", "value_proj", "out_proj")


@family("prophetnet")
def prophetnet(c: Config) -> Architecture:
    """Norms after the add; the decoder has a stream per predicted token and buckets of relative positions.

    Source: transformers, models/prophetnet/modeling_prophetnet.py (ProphetNetNgramSelfAttention).
    """
    d, tied, cls = size(c, "hidden_size"), bool(c.tie_word_embeddings), c.model_class
    if cls in ("ProphetNetEncoder", "ProphetNetDecoder"):
        return _whole((_tower(c, "encoder" if cls.endswith("Encoder") else "decoder", "", ""),))
    at = "" if c.task == "model" else "prophetnet."
    table = f"{at}word_embeddings.weight" if tied else ""
    both = c.task != "causal_lm"
    logits = linear("lm_head", d, size(c, "vocab_size"), role="logits", tied_to=table)
    known = c.task in ("model", "causal_lm", "seq_to_seq_causal_lm")
    parts = present(
        embedding(f"{at}word_embeddings", size(c, "vocab_size"), d, role="embedding", fields=("vocab_size",)),
        _tower(c, "encoder", f"{at}encoder", table) if both else None,
        _tower(c, "decoder", f"{at}decoder", table),
        head(c.task, logits) if at else None,
    )
    return _whole(parts, "" if known else f"the head of {cls or 'this class'} is not known")


def _tower(c: Config, role: Role, name: str, tied_to: str) -> Tower:
    d = size(c, "hidden_size")
    decodes = role == "decoder"
    count = c.num_decoder_layers if decodes else c.num_encoder_layers
    streams = embedding("ngram_embeddings", c.ngram, d, of="predicted token", role="side table") if decodes else None
    parts = present(
        embedding("word_embeddings", size(c, "vocab_size"), d, role="embedding", tied_to=tied_to),
        embedding("position_embeddings", size(c, "max_position_embeddings"), d, of="position", role="embedding"),
        streams,
        layer_norm("embeddings_layer_norm", d),
        stack("layers", ("",) * count, lambda kind: _layer(c, role), width=d),
    )
    return Tower(name=name, parts=parts, tower=role, model_type=c.model_type, pointer=c.pointer, width=d)


def _layer(c: Config, role: Role) -> tuple[Sublayer, ...]:
    names = ("self_attn", "self_attn_layer_norm", "cross_attn", "cross_attn_layer_norm", "feed_forward_layer_norm")
    made = side_layer(
        c,
        role,
        own=_attention(c, role),
        cross=False,
        feed_forward=side_mlp(c, role, name="feed_forward", names=("intermediate", "output")),
        names=names,
    )
    if role == "encoder" or not c.add_cross_attention:
        return made
    d = size(c, "hidden_size")
    cross = replace(
        _square(c, c.num_decoder_attention_heads, "cross_attn"), memory_width=d, cache=True, position="none"
    )
    first, last = made
    between = replace(first, branches=(replace(first.branches[0], body=cross),), after=layer_norm(names[3], d))
    return first, between, last


def _attention(c: Config, role: Role) -> Attention:
    """The decoder's streams attend to the text before them; their buckets are made from the hidden state."""
    if role == "encoder":
        return _square(c, c.num_encoder_attention_heads, "self_attn")
    d, heads = size(c, "hidden_size"), c.num_decoder_attention_heads
    buckets: Block = linear("relative_pos_embeddings", d, c.num_buckets * heads, True, role="relative bias")
    made = _square(c, heads, "self_attn", buckets)
    return replace(made, causal=True, cache=True, position="relative")


def _square(c: Config, heads: int, name: str, *extras: Block) -> Attention:
    fields = ("num_encoder_attention_heads", "num_decoder_attention_heads", "hidden_size")
    return square_attention(size(c, "hidden_size"), heads, name=name, names=NAMES, extras=extras, fields=fields)


def _whole(parts: tuple[Block, ...], partial: str = "") -> Architecture:
    return Architecture(
        parts=parts, partial=partial, tied=tuple(pair for part in parts for pair in tied_names(part, ""))
    )
