"""Peculiarities of published models that are right: nothing louder than info may be said of them."""

from __future__ import annotations

from typing import Any

import pytest

from archscope.diagnostics import Severity
from archscope.engine import load

SIZES = {"num_hidden_layers": 4, "vocab_size": 1000, "eos_token_id": 2, "bos_token_id": 1, "pad_token_id": None}


def config(model_type: str, cls: str, **fields: Any) -> dict[str, Any]:
    return {"model_type": model_type, "architectures": [cls], **SIZES, **fields}


def composite(model_type: str, cls: str, text: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"model_type": model_type, "architectures": [cls], "text_config": text, **fields}


LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
YARN = {"type": "yarn", "beta_fast": 32, "beta_slow": 1, "mscale": 1.0, "mscale_all_dim": 1.0}
TRAPS: dict[str, dict[str, Any]] = {
    "head_dim is a field of its own (Gemma 7B)": config(
        "gemma", "GemmaForCausalLM", hidden_size=3072, num_attention_heads=16, num_key_value_heads=16, head_dim=256
    ),
    "heads wider than the model (Qwen3-4B)": config(
        "qwen3", "Qwen3ForCausalLM", hidden_size=2560, num_attention_heads=32, num_key_value_heads=8, head_dim=128
    ),
    "absent head_dim means 128 (Qwen3)": config(
        "qwen3", "Qwen3ForCausalLM", hidden_size=2560, num_attention_heads=32, num_key_value_heads=8
    ),
    "head_dim other than the quotient (Mistral Nemo)": config(
        "mistral",
        "MistralForCausalLM",
        hidden_size=5120,
        num_attention_heads=32,
        num_key_value_heads=8,
        head_dim=128,
        sliding_window=None,
        max_position_embeddings=131072,
        rope_theta=1000000.0,
    ),
    "width not divisible by heads (Qwen3.5-27B)": config(
        "qwen3_5_text",
        "Qwen3_5ForCausalLM",
        hidden_size=5120,
        num_attention_heads=24,
        num_key_value_heads=4,
        head_dim=256,
    ),
    "expert width as wide as the model (gpt-oss)": config(
        "gpt_oss",
        "GptOssForCausalLM",
        hidden_size=2880,
        intermediate_size=2880,
        num_attention_heads=64,
        num_key_value_heads=8,
        head_dim=64,
        num_experts_per_tok=4,
        experts_per_token=4,
        num_local_experts=32,
        sliding_window=128,
        attention_bias=True,
    ),
    "as many kv heads as heads, with a latent (DeepSeek-V3)": config(
        "deepseek_v3",
        "DeepseekV3ForCausalLM",
        hidden_size=7168,
        num_attention_heads=128,
        num_key_value_heads=128,
        max_position_embeddings=163840,
        rope_theta=10000,
        rope_scaling={**YARN, "factor": 40, "original_max_position_embeddings": 4096},
        num_nextn_predict_layers=1,
    ),
    "beta_fast equals beta_slow (Kimi K2)": config(
        "deepseek_v3",
        "DeepseekV3ForCausalLM",
        hidden_size=7168,
        num_attention_heads=64,
        num_key_value_heads=64,
        n_routed_experts=384,
        n_group=1,
        topk_group=1,
        num_experts_per_tok=8,
        rope_scaling={
            **YARN,
            "beta_fast": 1.0,
            "beta_slow": 1.0,
            "factor": 32.0,
            "original_max_position_embeddings": 4096,
        },
        max_position_embeddings=131072,
    ),
    "multi-query by a flag (Falcon 7B)": config(
        "falcon", "FalconForCausalLM", hidden_size=4544, num_attention_heads=71, multi_query=True, eos_token_id=11
    ),
    "null kv heads is multi-head": config(
        "llama", "LlamaForCausalLM", hidden_size=4096, num_attention_heads=32, num_key_value_heads=None
    ),
    "scaled window stated as it is (Gemma 3)": config(
        "gemma3_text",
        "Gemma3ForCausalLM",
        num_hidden_layers=6,
        hidden_size=2560,
        num_attention_heads=8,
        num_key_value_heads=4,
        max_position_embeddings=131072,
        rope_scaling={"factor": 8.0, "rope_type": "linear"},
        rope_local_base_freq=10000,
        rope_theta=1000000,
        sliding_window=1024,
    ),
    "yarn is opt-in (Qwen2.5)": config(
        "qwen2",
        "Qwen2ForCausalLM",
        hidden_size=3584,
        num_attention_heads=28,
        num_key_value_heads=4,
        max_position_embeddings=32768,
        rope_theta=1000000.0,
        rope_scaling=None,
        use_sliding_window=False,
        sliding_window=131072,
        max_window_layers=28,
    ),
    "factor times original is not the window (Llama 3.1)": config(
        "llama",
        "LlamaForCausalLM",
        hidden_size=4096,
        num_attention_heads=32,
        num_key_value_heads=8,
        max_position_embeddings=131072,
        rope_theta=500000.0,
        rope_scaling=LLAMA3,
        vocab_size=128256,
        eos_token_id=[128001, 128008, 128009],
    ),
    "equal frequency factors (Llama 4 Scout)": composite(
        "llama4",
        "Llama4ForConditionalGeneration",
        {
            "model_type": "llama4_text",
            "hidden_size": 5120,
            "num_attention_heads": 40,
            "num_key_value_heads": 8,
            "num_hidden_layers": 4,
            "head_dim": 128,
            "vocab_size": 202048,
            "no_rope_layers": [1, 1, 1, 0],
            "max_position_embeddings": 10485760,
            "rope_theta": 500000.0,
            "rope_scaling": {**LLAMA3, "factor": 16.0, "high_freq_factor": 1.0},
        },
        vision_config={"model_type": "llama4_vision_model", "hidden_size": 1408, "intermediate_size": 5632},
    ),
    "longrope lists of half the rotated width (Phi-4-mini)": config(
        "phi3",
        "Phi3ForCausalLM",
        hidden_size=3072,
        num_attention_heads=24,
        num_key_value_heads=8,
        partial_rotary_factor=0.75,
        original_max_position_embeddings=4096,
        max_position_embeddings=131072,
        sliding_window=262144,
        rope_scaling={"type": "longrope", "short_factor": [1.0] * 48, "long_factor": [1.1] * 48},
    ),
    "rope_parameters of type default is no scaling": config(
        "qwen3",
        "Qwen3ForCausalLM",
        hidden_size=1024,
        num_attention_heads=16,
        num_key_value_heads=8,
        rope_parameters={"rope_type": "default", "rope_theta": 1000000.0},
    ),
    "mrope sections in type default (Qwen3-VL)": composite(
        "qwen3_vl",
        "Qwen3VLForConditionalGeneration",
        {
            "model_type": "qwen3_vl_text",
            "hidden_size": 2560,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
            "num_hidden_layers": 4,
            "head_dim": 128,
            "vocab_size": 151936,
            "rope_scaling": {"rope_type": "default", "mrope_section": [24, 20, 20], "mrope_interleaved": True},
        },
        tie_word_embeddings=False,
    ),
    "one is rotate, zero is not (SmolLM3)": config(
        "smollm3",
        "SmolLM3ForCausalLM",
        hidden_size=2048,
        num_attention_heads=16,
        num_key_value_heads=4,
        no_rope_layers=[1, 1, 1, 0],
        rope_theta=5000000.0,
    ),
    "positions past the tokenizer's (RoBERTa)": config(
        "roberta",
        "RobertaForMaskedLM",
        hidden_size=768,
        num_attention_heads=12,
        max_position_embeddings=514,
        pad_token_id=1,
    ),
    "null window (Mistral v0.2)": config(
        "mistral",
        "MistralForCausalLM",
        hidden_size=4096,
        num_attention_heads=32,
        num_key_value_heads=8,
        sliding_window=None,
        max_position_embeddings=32768,
        rope_theta=1000000.0,
    ),
    "window far below the context (Gemma 2)": config(
        "gemma2",
        "Gemma2ForCausalLM",
        hidden_size=3584,
        num_attention_heads=16,
        num_key_value_heads=8,
        sliding_window=4096,
    ),
    "pattern string without a count (Nemotron-H)": {
        **config("nemotron_h", "NemotronHForCausalLM", hidden_size=2688, num_attention_heads=32, num_key_value_heads=2),
        "num_hidden_layers": 5,
        "hybrid_override_pattern": "MEM*E",
        "mamba_num_heads": 64,
        "mamba_head_dim": 64,
        "expand": 2,
        "n_routed_experts": 16,
        "num_experts_per_tok": 6,
    },
    "one group of experts (GLM-5)": config(
        "glm_moe_dsa",
        "GlmMoeDsaForCausalLM",
        hidden_size=6144,
        num_attention_heads=64,
        num_key_value_heads=64,
        n_routed_experts=256,
        n_group=1,
        topk_group=1,
        num_experts_per_tok=8,
        head_dim=64,
    ),
    "odd numbers of experts": config(
        "mixtral",
        "MixtralForCausalLM",
        hidden_size=512,
        num_attention_heads=8,
        num_key_value_heads=8,
        num_local_experts=3,
        num_experts_per_tok=2,
    ),
    "vocabulary not a multiple of 64": config(
        "qwen2", "Qwen2ForCausalLM", hidden_size=1536, num_attention_heads=12, num_key_value_heads=2, vocab_size=151646
    ),
    "pad is end (Phi-3)": config(
        "phi3",
        "Phi3ForCausalLM",
        hidden_size=3072,
        num_attention_heads=32,
        num_key_value_heads=32,
        vocab_size=32064,
        pad_token_id=32000,
        eos_token_id=32000,
    ),
    "pad of -1 means none (LLaMA 1)": config(
        "llama", "LlamaForCausalLM", hidden_size=4096, num_attention_heads=32, pad_token_id=-1
    ),
    "image token just past the text vocabulary (Gemma 3)": composite(
        "gemma3",
        "Gemma3ForConditionalGeneration",
        {"model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34},
        image_token_index=262144,
        mm_tokens_per_image=256,
        eos_token_id=[1, 106],
    ),
    "sparse text part (LLaVA 1.5)": composite(
        "llava",
        "LlavaForConditionalGeneration",
        {
            "model_type": "llama",
            "vocab_size": 32064,
            "max_position_embeddings": 4096,
            "_name_or_path": "lmsys/vicuna-7b-v1.5",
        },
    ),
    "no tie_word_embeddings and no head (Gemma)": config(
        "gemma", "GemmaForCausalLM", hidden_size=2048, num_attention_heads=8, num_key_value_heads=1, head_dim=256
    ),
    "biases everywhere on a Llama (Bielik)": config(
        "llama",
        "LlamaForCausalLM",
        hidden_size=4096,
        num_attention_heads=32,
        num_key_value_heads=8,
        attention_bias=True,
        mlp_bias=True,
    ),
    "infinity replaced by a large number (Nemotron Ultra)": config(
        "mamba2",
        "Mamba2ForCausalLM",
        hidden_size=2560,
        num_heads=80,
        head_dim=64,
        expand=2,
        time_step_limit=[0.0, 1e308],
    ),
    "scale of hidden over heads (Gemma 2 27B)": config(
        "gemma2",
        "Gemma2ForCausalLM",
        hidden_size=4608,
        num_attention_heads=32,
        num_key_value_heads=16,
        head_dim=128,
        query_pre_attn_scalar=144,
    ),
    "two activations, the second wins (Gemma 1)": config(
        "gemma",
        "GemmaForCausalLM",
        hidden_size=3072,
        num_attention_heads=16,
        num_key_value_heads=16,
        head_dim=256,
        hidden_act="gelu",
        hidden_activation="gelu_pytorch_tanh",
    ),
    "modules to skip as patterns (gpt-oss)": config(
        "gpt_oss",
        "GptOssForCausalLM",
        hidden_size=2880,
        num_attention_heads=64,
        num_key_value_heads=8,
        head_dim=64,
        quantization_config={
            "quant_method": "mxfp4",
            "modules_to_not_convert": ["model.layers.*.self_attn", "model.layers.*.mlp.router", "lm_head"],
        },
    ),
    "tiny test models": config(
        "llama",
        "LlamaForCausalLM",
        hidden_size=16,
        intermediate_size=37,
        num_attention_heads=4,
        num_key_value_heads=2,
        vocab_size=1024,
    ),
    "keys of JSON objects are strings": config(
        "bert",
        "BertForSequenceClassification",
        hidden_size=64,
        num_attention_heads=4,
        id2label={"0": "no", "1": "yes", "2": "maybe"},
        label2id={"no": 0, "yes": 1, "maybe": 2},
    ),
    "null architectures and old generation keys in a part": composite(
        "mllama",
        "MllamaForConditionalGeneration",
        {
            "model_type": "mllama_text_model",
            "architectures": None,
            "max_length": 20,
            "num_beams": 1,
            "temperature": 1.0,
            "hidden_size": 4096,
            "num_attention_heads": 32,
            "num_hidden_layers": 40,
            "vocab_size": 128256,
            "cross_attention_layers": [3, 8, 13, 18, 23, 28, 33, 38],
        },
        image_token_index=128256,
    ),
}


@pytest.mark.parametrize("name", TRAPS)
def test_silent_on_what_is_right(name: str) -> None:
    loud = [
        (one.rule, one.pointer, one.message) for one in load(TRAPS[name]).check() if one.severity is not Severity.INFO
    ]
    assert loud == []
