"""A small model, spelt out, for the examples of rules."""

from __future__ import annotations

from typing import Any

TINY: dict[str, Any] = {
    "vocab_size": 10,
    "hidden_size": 8,
    "intermediate_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "eos_token_id": None,
    "bos_token_id": None,
}
"""A config small enough to spell out its tensors in an example."""

TENSORS = {
    "model.embed_tokens.weight": ("F32", (10, 8)),
    "model.layers.0.input_layernorm.weight": ("F32", (8,)),
    "model.layers.0.self_attn.q_proj.weight": ("F32", (8, 8)),
    "model.layers.0.self_attn.k_proj.weight": ("F32", (8, 8)),
    "model.layers.0.self_attn.v_proj.weight": ("F32", (8, 8)),
    "model.layers.0.self_attn.o_proj.weight": ("F32", (8, 8)),
    "model.layers.0.post_attention_layernorm.weight": ("F32", (8,)),
    "model.layers.0.mlp.gate_proj.weight": ("F32", (16, 8)),
    "model.layers.0.mlp.up_proj.weight": ("F32", (16, 8)),
    "model.layers.0.mlp.down_proj.weight": ("F32", (8, 16)),
    "model.norm.weight": ("F32", (8,)),
    "lm_head.weight": ("F32", (10, 8)),
}
TWO_LAYERS = {**TENSORS, **{name.replace(".0.", ".1."): tensor for name, tensor in TENSORS.items()}}
WITHOUT_HEAD = {name: tensor for name, tensor in TENSORS.items() if not name.startswith("lm_head")}

PACKED = {**TENSORS, "model.layers.0.self_attn.q_proj.weight_scale": ("F32", (1,))}
"""A part of the tensors with a quantised one among them."""
