"""T5Gemma: Gemma's layers as an encoder-decoder."""

from __future__ import annotations

from math import sqrt
from typing import Any

from archscope.blocks.assembly import Architecture, Sublayer, Tower, sandwich_norm, stack
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, Weight, weight
from archscope.blocks.factories import attention, kinds, mlp, num_labels, size
from archscope.blocks.leaves import embedding, linear, rms_norm
from archscope.blocks.mixed_attention import merged
from archscope.blocks.projectors import Projector
from archscope.blocks.skeletons import head, tied_names
from archscope.config import Config
from archscope.families.registry import family, tower

LABELS = ("sequence_classification", "token_classification")


@family("t5gemma")
def t5gemma(c: Config) -> Architecture:
    """Gemma 2's layers on both sides, cross-attention with norms of its own; labels may come from the encoder alone.

    Source: transformers, models/t5gemma/modeling_t5gemma.py (is_encoder_decoder).
    """
    first, second = c.sub("encoder"), c.sub("decoder")
    alone = c.task == "text_encoding" or (c.task in LABELS and not c.is_encoder_decoder)
    at = "" if c.task in ("model", "text_encoding") else "model."
    table = f"{at}decoder.embed_tokens.weight" if c.get("tie_word_embeddings") else ""
    towers = (_tower(first, f"{at}encoder", decodes=False), _tower(second, f"{at}decoder", decodes=True))
    parts: tuple[Block, ...] = towers[:1] if alone else towers
    return _with_head(c, parts, first if alone else second, table)


@family("t5gemma2")
def t5gemma2(c: Config) -> Architecture:
    """Gemma 3's layers; the encoder also sees, and the decoder attends to both sequences with one attention.

    Source: transformers, models/t5gemma2/modeling_t5gemma2.py (T5Gemma2MergedAttention). The conversion saves the parts
    of the text encoder as the encoder's own.
    """
    encoder, second = c.sub("encoder"), c.sub("decoder")
    text, vision = encoder.sub("text_config"), encoder.sub("vision_config")
    at = "" if c.task == "model" else "model."
    tied = bool(c.get("tie_word_embeddings"))
    d, d_v = size(text, "hidden_size"), vision.hidden_size
    projector = Projector(
        name=f"{at}encoder.multi_modal_projector",
        parts=(rms_norm("mm_soft_emb_norm", d_v), weight("mm_input_projection_weight", d_v, d)),
        source_width=d_v,
        target_width=d,
        note=f"pooled to {encoder.mm_tokens_per_image} tokens",
    )
    parts = (
        tower(vision, f"{at}encoder.vision_tower", "vision"),
        projector,
        _tower(text, f"{at}encoder", decodes=False, newer=True),
        _tower(second, f"{at}decoder", decodes=True, newer=True, table=f"{at}encoder.embed_tokens" if tied else ""),
    )
    return _with_head(c, parts, second, f"{at}encoder.embed_tokens.weight" if tied else "")


def _with_head(c: Config, parts: tuple[Block, ...], last: Config, table: str) -> Architecture:
    """Words over the last side, or labels over it."""
    d = size(last, "hidden_size")
    labels = head(c.task, linear("score.out_proj", d, num_labels(c), True, role="logits"))
    words = linear("lm_head.out_proj", d, size(last, "vocab_size"), role="logits", tied_to=table)
    heads: dict[str, tuple[Block, ...]] = {
        "model": (),
        "text_encoding": (),
        "seq_to_seq_causal_lm": (head("seq_to_seq_causal_lm", words),),
        "image_text_to_text": (head("image_text_to_text", words),),
        **dict.fromkeys(LABELS, (labels,)),
    }
    found = heads.get(c.task)
    whole = (*parts, *(found or ()))
    ties = tuple(pair for part in whole for pair in tied_names(part, ""))
    reason = "" if found is not None else f"the head of {c.model_class or 'this class'} is not known"
    return Architecture(parts=whole, tied=ties, partial=reason)


def _tower(c: Config, name: str, *, decodes: bool, newer: bool = False, table: str = "") -> Tower:
    """Scaled tokens, layers, a norm; the newer one has a vector of its own for the end of an image."""
    d = size(c, "hidden_size")
    tied = f"{table}.weight" if table else ""
    end = Weight(
        name="embed_tokens.eoi_embedding", shape=(d,), role="side token", tied_to=table and f"{table}.eoi_embedding"
    )
    parts = (
        embedding("embed_tokens", size(c, "vocab_size"), d, role="embedding", scale=sqrt(d), tied_to=tied),
        *((end,) if newer else ()),
        stack("layers", kinds(c, "layer_types"), lambda kind: _layer(c, kind, decodes, newer), width=d),
        rms_norm("norm", d, eps=c.rms_norm_eps),
    )
    role: Any = "decoder" if decodes else "encoder"
    return Tower(name=name, parts=parts, tower=role, model_type=c.model_type, pointer=c.pointer, width=d)


def _layer(c: Config, kind: Any, decodes: bool, newer: bool) -> tuple[Sublayer, ...]:
    d = size(c, "hidden_size")
    own = _attention(c, kind, decodes, newer)
    bodies: list[tuple[str, Block]] = [("self_attn", merged(own, d) if decodes and newer else own)]
    if decodes and not newer:
        bodies.append(("cross_attn", _cross_attention(c)))
    bodies.append(("feedforward", mlp(c, activation=c.hidden_activation)))
    norms = [(f"pre_{name}_layernorm", body, f"post_{name}_layernorm") for name, body in bodies]
    eps = c.rms_norm_eps
    return sandwich_norm(*((rms_norm(a, d, eps=eps), body, rms_norm(b, d, eps=eps)) for a, body, b in norms))


def _attention(c: Config, kind: Any, decodes: bool, newer: bool) -> Attention:
    """Sliding layers see a window: the encoder of the older one that far both ways, that of the newer one in all."""
    window = c.sliding_window if kind == "sliding_attention" else None
    if window is not None and not decodes and not newer:
        window = 2 * window - 1
    return attention(
        c,
        bias=c.attention_bias,
        qk_norm="head" if newer else "",
        layer_type=str(kind) if newer else "",
        window=window,
        causal=decodes,
        cache=decodes,
        scale=c.query_pre_attn_scalar**-0.5,
        softcap=c.attn_logit_softcapping,
    )


def _cross_attention(c: Config) -> Attention:
    return attention(
        c,
        name="cross_attn",
        bias=c.attention_bias,
        memory=c.cross_attention_hidden_size,
        causal=False,
        position="none",
        scale=c.query_pre_attn_scalar**-0.5,
        softcap=c.attn_logit_softcapping,
    )
