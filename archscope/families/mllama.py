"""Llama 3.2 Vision: a Llama decoder some of whose layers attend to the image features alone, behind gates."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Layer, pre_norm
from archscope.blocks.base import weight
from archscope.blocks.composites import FLAT, assemble
from archscope.blocks.factories import attention, mlp, size
from archscope.blocks.leaves import linear, rms_norm
from archscope.blocks.projectors import projector
from archscope.blocks.skeletons import decoder, vocabulary_head, with_head
from archscope.config import Config
from archscope.families.registry import family, tower

SPECIAL_TOKENS = 8
"""Rows of the token table beyond the vocabulary."""


@family("mllama_text_model")
def mllama_text(c: Config) -> Architecture:
    """Self-attention layers, and cross-attention ones at cross_attention_layers; never ties its head.

    Source: transformers, models/mllama/modeling_mllama.py (MllamaTextModel).
    """
    d, crossing = size(c, "hidden_size"), set(c.cross_attention_layers)
    kinds = ["cross-attention" if i in crossing else "" for i in range(c.num_hidden_layers)]
    text = decoder(
        c,
        lambda kind: _layer(c, bool(kind)),
        kinds=kinds,
        final_norm=rms_norm("norm", d),
        vocabulary=size(c, "vocab_size") + SPECIAL_TOKENS,
    )
    return with_head(c, text, tie=False)


@family("mllama")
def mllama(c: Config) -> Architecture:
    """The text tower, a vision tower over tiles, and one matrix between them.

    Source: transformers, models/mllama/modeling_mllama.py (MllamaModel, MllamaForCausalLM).
    """
    text = c.sub("text_config")
    if c.model_class == "MllamaForCausalLM":
        reading = tower(text, "model")
        return Architecture(parts=(reading, vocabulary_head(text, text.hidden_size)))
    vision = c.sub("vision_config")
    d, d_v = size(text, "hidden_size"), vision.vision_output_dim
    bridge = projector("multi_modal_projector", d_v, d, linear("", d_v, d, True, role="projection"))
    seeing = tower(vision, "vision_model", "vision")
    return assemble(c, FLAT, tower(text, FLAT.text), seeing, bridge, text_config=text, tie=False)


def _layer(c: Config, crosses: bool) -> Layer:
    d = size(c, "hidden_size")
    mixer = attention(
        c,
        name="cross_attn" if crosses else "self_attn",
        head_dim=d // c.num_attention_heads,
        memory=d if crosses else None,
        qk_norm="head" if crosses else "",
        causal=not crosses,
        position="none" if crosses else "rope",
        fields=("num_attention_heads", "num_key_value_heads", "hidden_size"),
    )
    gates = (weight("cross_attn_attn_gate", 1), weight("cross_attn_mlp_gate", 1)) if crosses else ()
    sublayers = pre_norm((rms_norm("input_layernorm", d), mixer), (rms_norm("post_attention_layernorm", d), mlp(c)))
    return Layer(sublayers=sublayers, width=d, label="cross-attention" if crosses else "", extras=gates)
