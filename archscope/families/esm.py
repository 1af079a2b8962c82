"""ESM: encoders of proteins, with rotary or learned positions."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from archscope.blocks.assembly import Architecture
from archscope.blocks.base import group, weight
from archscope.blocks.encoder_heads import Heads, dense_classifier, label_heads, language_heads, masked_head
from archscope.blocks.encoders import dense_attention, dense_layer, encoder, pooler, summed_tables
from archscope.blocks.factories import attention, mlp, num_labels, size
from archscope.blocks.leaves import layer_norm, linear
from archscope.blocks.skeletons import head, pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family

_FREQUENCIES = "encoder.layer.*.attention.self.rotary_embeddings"
"""Where the one buffer of rotary frequencies is saved: transformers 5.24 turns its pattern back with the star in it."""


@family("esm")
def esm(c: Config) -> Architecture:
    """Proteins: norms before the sublayers, rotary or learned positions, a head for contacts in every class.

    Source: transformers, models/esm/modeling_esm.py; conversion_mapping.py saves a LayerNorm as gamma, beta.
    """
    d, rotary = size(c, "hidden_size"), c.get("position_embedding_type", "absolute") == "rotary"
    norms = ("attention.LayerNorm", "crossattention.LayerNorm", "LayerNorm")
    names = ("gamma", "beta")
    attend = partial(dense_attention, position="rope" if rotary else "learned")
    layer = partial(
        dense_layer,
        c,
        norms=norms,
        pre=True,
        attend=attend,
        norm=lambda name, width: replace(layer_norm(name, width, eps=c.layer_norm_eps), names=names),
    )
    learned = c.get("position_embedding_type", "absolute") == "absolute"
    half = (c.get("head_dim") or d // c.num_attention_heads) + 1 >> 1
    frequencies = weight(f"{_FREQUENCIES}.inv_freq", half, parameter=False, role="side buffer") if rotary else None
    contacts = linear(
        "contact_head.regression", c.num_hidden_layers * c.num_attention_heads, 1, True, role="side contacts"
    )
    tower = encoder(
        c,
        summed_tables(
            c,
            positions=None if learned else 0,
            segments=False,
            norm="layer_norm" if c.emb_layer_norm_before else "",
        ),
        lambda kind: layer(),
        after=(
            layer_norm("encoder.emb_layer_norm_after", d, eps=c.layer_norm_eps),
            pooler(c) if c.task == "model" else None,
            contacts,
            frequencies,
        ),
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
