"""The Q-Former: learned queries that attend to each other and, every few layers, to what a tower gives."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Branch, Layer, Sublayer, Tower, stack
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block
from archscope.blocks.factories import attention, mlp, size
from archscope.blocks.leaves import embedding, layer_norm
from archscope.config import Config
from archscope.families.registry import family


@family("blip_2_qformer")
def blip_2_qformer(c: Config) -> Architecture:
    """BERT's layers over queries, cross-attention in every cross_attention_frequency-th, another MLP for text.

    Source: BLIP-2 (arXiv 2301.12597); transformers, models/blip_2/modeling_blip_2.py (Blip2QFormerModel).
    """
    d = size(c, "hidden_size")
    crossing = tuple(i % c.cross_attention_frequency == 0 for i in range(c.num_hidden_layers))
    layers = stack("encoder.layer", crossing, lambda crosses: _layer(c, bool(crosses)), width=d)
    parts = (layer_norm("layernorm", d), layers)
    tower = Tower(parts=parts, tower="other", model_type=c.model_type, pointer=c.pointer, width=d)
    known = c.task in ("", "model")
    return Architecture(parts=(tower,), partial="" if known else f"the head of {c.model_class} is not known")


@family("instructblip_qformer", "instructblipvideo_qformer")
def instructblip_qformer(c: Config) -> Architecture:
    """BLIP-2's Q-Former with tables of tokens and positions, for the instruction that its queries attend to.

    Source: InstructBLIP (arXiv 2305.06500); transformers, models/instructblip/modeling_instructblip.py.
    """
    d = size(c, "hidden_size")
    crossing = tuple(i % c.cross_attention_frequency == 0 for i in range(c.num_hidden_layers))
    parts = (
        embedding("embeddings.word_embeddings", size(c, "vocab_size"), d, role="side tokens"),
        embedding("embeddings.position_embeddings", c.max_position_embeddings, d, of="position", role="side tokens"),
        layer_norm("embeddings.layernorm", d),
        stack("encoder.layer", crossing, lambda crosses: _layer(c, bool(crosses)), width=d),
    )
    tower = Tower(parts=parts, tower="other", model_type=c.model_type, pointer=c.pointer, width=d)
    known = c.task in ("", "model")
    return Architecture(parts=(tower,), partial="" if known else f"the head of {c.model_class} is not known")


def _layer(c: Config, crosses: bool) -> Layer:
    d = size(c, "hidden_size")
    sublayers = [_after(_attention(c, "attention"), layer_norm("attention.output.LayerNorm", d))]
    if crosses:
        reading = _attention(c, "crossattention", c.encoder_hidden_size)
        sublayers.append(_after(reading, layer_norm("crossattention.output.LayerNorm", d)))
    sublayers.append(_after(_mlp(c, "_query"), layer_norm("output_query.LayerNorm", d)))
    # The same layer has a second MLP for text tokens, where it may get any.
    text = (_mlp(c, ""), layer_norm("output.LayerNorm", d)) if c.get("use_qformer_text_input", True) else ()
    label = "cross-attention" if crosses else ""
    return Layer(sublayers=tuple(sublayers), width=d, label=label, extras=text)


def _after(body: Block, norm: Block) -> Sublayer:
    return Sublayer(branches=(Branch(body=body),), after=norm)


def _attention(c: Config, name: str, memory: int | None = None) -> Attention:
    return attention(
        c,
        name=name,
        names=("attention.query", "attention.key", "attention.value", "output.dense"),
        bias=True,
        memory=memory,
        causal=False,
        cache=False,
        position="none",
        fields=("num_attention_heads", "hidden_size"),
    )


def _mlp(c: Config, suffix: str) -> Block:
    names = (f"intermediate{suffix}.dense", f"output{suffix}.dense")
    return mlp(c, name="", kind="plain", names=names, bias=True)
