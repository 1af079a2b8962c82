"""Active parameters of published mixtures against their publishers' figures.

Publishers count the token table or leave it out (a lookup reads one row of it); each figure must be one of the two, rounded.
"""

from __future__ import annotations

from typing import Any

import pytest

from archscope.engine import load

DEEPSEEK: dict[str, Any] = {
    "model_type": "deepseek_v3",
    "architectures": ["DeepseekV3ForCausalLM"],
    "hidden_size": 7168,
    "intermediate_size": 18432,
    "moe_intermediate_size": 2048,
    "num_hidden_layers": 61,
    "num_experts_per_tok": 8,
    "n_shared_experts": 1,
    "q_lora_rank": 1536,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
}
PUBLISHED: dict[str, tuple[dict[str, Any], float, float, float]] = {
    "Mixtral-8x7B (arXiv 2401.04088)": (
        {
            "model_type": "mixtral",
            "hidden_size": 4096,
            "intermediate_size": 14336,
            "num_hidden_layers": 32,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
            "num_local_experts": 8,
            "num_experts_per_tok": 2,
            "vocab_size": 32000,
        },
        46.7,
        12.9,
        0.05,
    ),
    "Qwen3-30B-A3B (arXiv 2505.09388)": (
        {
            "model_type": "qwen3_moe",
            "hidden_size": 2048,
            "moe_intermediate_size": 768,
            "num_hidden_layers": 48,
            "num_attention_heads": 32,
            "num_key_value_heads": 4,
            "head_dim": 128,
            "num_experts": 128,
            "num_experts_per_tok": 8,
            "vocab_size": 151936,
        },
        30.5,
        3.3,
        0.06,
    ),
    "DeepSeek-V3 (arXiv 2412.19437)": (
        {
            **DEEPSEEK,
            "num_attention_heads": 128,
            "n_routed_experts": 256,
            "n_group": 8,
            "topk_group": 4,
            "first_k_dense_replace": 3,
            "vocab_size": 129280,
        },
        671.0,
        37.0,
        0.6,
    ),
    "Kimi-K2 (arXiv 2507.20534)": (
        {
            **DEEPSEEK,
            "num_attention_heads": 64,
            "n_routed_experts": 384,
            "n_group": 1,
            "topk_group": 1,
            "first_k_dense_replace": 1,
            "vocab_size": 163840,
        },
        1026.0,
        32.0,
        0.6,
    ),
    "gpt-oss-120b (arXiv 2508.10925)": (
        {
            "model_type": "gpt_oss",
            "hidden_size": 2880,
            "intermediate_size": 2880,
            "num_hidden_layers": 36,
            "num_attention_heads": 64,
            "num_key_value_heads": 8,
            "head_dim": 64,
            "num_local_experts": 128,
            "num_experts_per_tok": 4,
            "vocab_size": 201088,
        },
        116.8,
        5.13,
        0.01,
    ),
    "GLM-4.5 (arXiv 2508.06471)": (
        {
            "model_type": "glm4_moe",
            "hidden_size": 5120,
            "intermediate_size": 12288,
            "moe_intermediate_size": 1536,
            "num_hidden_layers": 92,
            "num_attention_heads": 96,
            "num_key_value_heads": 8,
            "head_dim": 128,
            "n_routed_experts": 160,
            "n_shared_experts": 1,
            "num_experts_per_tok": 8,
            "first_k_dense_replace": 3,
            "attention_bias": True,
            "use_qk_norm": True,
            "vocab_size": 151552,
        },
        353.0,
        32.0,
        0.9,
    ),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_figures(name: str) -> None:
    config, total, active, slack = PUBLISHED[name]
    model = load(config)
    found = model.parameters
    assert model.fidelity == "exact"
    assert found is not None
    assert abs(found.total / 1e9 - total) <= max(0.5, total * 0.002)
    readings = (found.active / 1e9, (found.active - found.embedding_lookup) / 1e9)
    assert any(abs(one - active) <= slack for one in readings), readings
