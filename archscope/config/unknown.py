"""Configs of a type that the snapshot does not know: the keys as written, and the names that others give them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from archscope.config.draft import Draft
from archscope.config.origin import Origin

# Canonical name <- spellings seen in published files of types that transformers does not have. Only the first that is
# there counts, and only where the canonical name is absent.
SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "dtype": ("torch_dtype",),
    "hidden_size": ("n_embd", "d_model", "dim", "model_dim", "n_embed", "embed_dim"),
    "num_hidden_layers": ("n_layer", "n_layers", "num_layers", "num_layer", "num_transformer_layers"),
    "num_attention_heads": ("n_head", "n_heads", "num_heads"),
    "num_key_value_heads": ("n_kv_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num", "num_query_groups"),
    "intermediate_size": ("ffn_hidden_size", "n_inner", "d_ff", "ffn_dim", "intermediate_dim", "ffn_size"),
    "vocab_size": ("padded_vocab_size", "n_vocab"),
    "max_position_embeddings": ("n_positions", "max_seq_len", "max_sequence_length", "seq_length", "max_seq_length"),
    "head_dim": ("kv_channels", "head_size", "attention_head_dim", "d_head"),
    "rms_norm_eps": ("layernorm_epsilon", "layer_norm_epsilon", "layer_norm_eps", "norm_eps", "norm_epsilon"),
    "hidden_act": ("activation_function", "hidden_activation", "activation", "act_fn"),
    "num_experts": ("num_local_experts", "n_routed_experts", "moe_num_experts", "num_moe_experts"),
    "num_experts_per_tok": ("moe_topk", "moe_top_k", "num_experts_per_token", "moe_router_topk", "top_k_experts"),
    "moe_intermediate_size": ("moe_ffn_hidden_size", "expert_hidden_size", "moe_hidden_size"),
}


def fill_unknown(raw: Mapping[str, Any], pointer: str = "") -> Draft:
    """The draft of a config without a schema: its keys as written, plus canonical names where they are unambiguous.

    `pointer` is where the object stands in the file.
    """
    draft = Draft(None, raw, pointer)
    draft.values.update(raw)
    for name, spellings in SPELLINGS.items():
        present = [s for s in spellings if s in raw and raw[s] is not None]
        if name not in raw and len(present) == 1:
            draft.values[name] = raw[present[0]]
            draft.found[name] = Origin("alias", draft.pointer_of(present[0]), present[0])
    return draft
