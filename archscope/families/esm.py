"""ESM: encoders of proteins, with rotary or learned positions."""

from __future__ import annotations

from dataclasses import replace

from archscope.blocks.assembly import Architecture
from archscope.blocks.base import group
from archscope.blocks.encoder_heads import Heads, dense_classifier, label_heads, language_heads, masked_head
from archscope.blocks.encoders import pooler, position_typed_encoder
from archscope.blocks.factories import attention, mlp, num_labels, size
from archscope.blocks.leaves import layer_norm, linear
from archscope.blocks.skeletons import head, pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family

_FREQUENCIES = "encoder.layer.*.attention.self.rotary_embeddings.inv_freq"
"""Where the one buffer of rotary frequencies is saved: transformers 5.24 turns its pattern back with the star in it."""


@family("esm")
def esm(c: Config) -> Architecture:
    """Proteins: norms before the sublayers, rotary or learned positions, a head for contacts in every class.

    Source: transformers, models/esm/modeling_esm.py; conversion_mapping.py saves a LayerNorm as gamma, beta.
    """
    rotary = c.get("position_embedding_type", "absolute") == "rotary"
    maps = c.num_hidden_layers * c.num_attention_heads
    tower = position_typed_encoder(
        c,
        pooler(c) if c.task == "model" else None,
        linear("contact_head.regression", maps, 1, True, role="side contacts"),
        norm=lambda name, width: replace(layer_norm(name, width, eps=c.layer_norm_eps), names=("gamma", "beta")),
        frequencies=_FREQUENCIES if rotary else "",
    )
    words = masked_head(
        c, "esm.embeddings.word_embeddings.weight", name="lm_head", dense="dense", norm="layer_norm", decoder_bias=False
    )
    return with_head(c, tower, prefix="esm", heads=label_heads(c, dense=True) | language_heads(words))


@family("esmc")
def esmc(c: Config) -> Architecture:
    """Pre-norm layers with gated feed-forward blocks, norms over whole queries and keys; the head's table is its own.

    Source: transformers, models/esmc/modeling_esmc.py.
    """
    d = size(c, "hidden_size")
    norms = tuple(layer_norm(f"{name}_norm", d, bias=False, role=f"{name}_norm") for name in "qk")
    tower = pre_norm_decoder(
        c,
        lambda kind: attention(c, bias=c.attention_bias, extras=norms, causal=False, cache=False),
        lambda kind: mlp(c, bias=c.mlp_bias),
        norm=lambda name: layer_norm(name, d, bias=name != "norm"),
        kinds=("",) * c.num_hidden_layers,
        tower="encoder",
    )
    decoder = linear("decoder", d, size(c, "vocab_size"), True, role="logits")
    words = group("lm_head", linear("dense", d, d, True), layer_norm("layer_norm", d), decoder)
    heads: Heads = {
        "masked_lm": (head("masked_lm", words),),
        "sequence_classification": (head("sequence_classification", dense_classifier(c)),),
        "token_classification": (head("token_classification", linear("score", d, num_labels(c), True, role="logits")),),
    }
    return with_head(c, tower, prefix="esmc", heads=heads)
