"""Remote code: published checkpoints against what archscope makes of their hyperparameters, and what tensors do not show."""

from __future__ import annotations

import hashlib
import json
from math import prod
from pathlib import Path
from typing import Any

import pytest

import archscope
from archscope.blocks.attention import Attention
from archscope.blocks.latent_attention import LatentAttention
from archscope.blocks.mlp import Mlp
from archscope.blocks.moe import Router
from archscope.blocks.ssm import StateMixer
from archscope.engine import UNBUILDABLE
from archscope.families.registry import UNPROVEN
from archscope.rules.runner import INTERNAL_ERROR
from archscope.structure.tensors import tensors

PUBLISHED = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "oracle" / "published.jsonl").read_text(encoding="utf-8").splitlines()
]
SMALL = {
    "vocab_size": 128,
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 96,
    "tie_word_embeddings": False,
}


def made(model_type: str, name: str = "", **fields: Any) -> archscope.Model:
    model = archscope.load({"model_type": model_type, **({"architectures": [name]} if name else {}), **SMALL, **fields})
    assert model.built is not None
    return model


def blocks(model: archscope.Model, kind: type[Any]) -> list[Any]:
    assert model.structure is not None
    return [at.block for at in model.structure.of_type(kind)]


@pytest.mark.parametrize("published", PUBLISHED, ids=lambda one: one["repository"])
def test_names_and_bytes_are_those_of_the_published_index(published: dict[str, Any]) -> None:
    model = archscope.load(published["config"])
    structure = model.built
    assert structure is not None
    all_tensors = {**structure.tensors, **tensors(structure.architecture.extra, "")}
    names = sorted(all_tensors)
    assert len(names) == published["tensors"]
    assert hashlib.sha256("\n".join(names).encode()).hexdigest()[:32] == published["names"]
    elements = sum(prod(map(int, tensor.shape)) for tensor in all_tensors.values())
    # The rest is what `rest_is` says: buffers that are computed, or tensors that are stored wider.
    assert elements * published["itemsize"] + published["rest"] == published["bytes"]


@pytest.mark.parametrize("published", PUBLISHED, ids=lambda one: one["repository"])
def test_remote_code_is_never_exact_and_says_why(published: dict[str, Any]) -> None:
    model = archscope.load(published["config"])
    assert model.fidelity == "inferred"
    assert model.structure is not None
    assert UNPROVEN in model.structure.architecture.partial
    assert not model.structure.is_proven
    assert "fidelity: inferred" in str(model.draw())


def test_chatglm_turns_half_of_each_head_and_groups_keys() -> None:
    model = made("chatglm", "ChatGLMModel", multi_query_attention=True, multi_query_group_num=2, kv_channels=16)
    (mixer,) = blocks(model, Attention)
    assert mixer.rope.dim == 8
    assert (mixer.num_heads, mixer.num_kv_heads) == (4, 2)
    assert "transformer.output_layer.weight" in model.tensors()


def test_a_longer_base_of_chatglm_is_a_ratio() -> None:
    (mixer,) = blocks(made("chatglm", "ChatGLMModel", rope_ratio=500), Attention)
    assert mixer.rope.theta == 5_000_000


def test_chatglm_classifies_with_a_head_of_its_own() -> None:
    names = made("chatglm", "ChatGLMForSequenceClassification").tensors()
    assert {"classifier_head.weight", "classifier_head.bias"} <= names.keys()
    assert "transformer.output_layer.weight" not in names


@pytest.mark.parametrize(("fields", "position"), [({"max_position_embeddings": 4096}, "rope"), ({}, "alibi")])
def test_baichuan_has_alibi_in_the_class_without_max_positions(fields: dict[str, Any], position: str) -> None:
    (mixer,) = blocks(made("baichuan", "BaichuanForCausalLM", **fields), Attention)
    assert mixer.position == position


def test_qwen_halves_the_width_that_it_names() -> None:
    (inner,) = blocks(made("qwen", "QWenLMHeadModel"), Mlp)
    assert (inner.width, inner.gated) == (48, True)


def test_minicpm_ties_by_default_and_scales_its_branches() -> None:
    model = made("minicpm", "MiniCPMForCausalLM", tie_word_embeddings=None, scale_depth=1.4)
    assert "lm_head.weight" not in model.tensors()
    assert model.structure is not None
    (layer,) = model.structure.architecture.towers[0].stacks[0].layers
    assert layer.sublayers[0].branches[0].scale == pytest.approx(1.4 / 2**0.5)


def test_a_reward_model_gives_one_number() -> None:
    names = made("internlm2", "InternLM2ForRewardModel").tensors()
    assert names["v_head.weight"].shape == (1, 64)
    assert "output.weight" not in names


def test_ling_routes_as_its_config_says() -> None:
    fields = {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 16, "num_shared_experts": 1}
    choice = {"score_function": "sigmoid", "moe_router_enable_expert_bias": True}
    layers = {"first_k_dense_replace": 1, "num_nextn_predict_layers": 1}
    model = made("bailing_moe_v2", "BailingMoeV2ForCausalLM", **fields, **choice, **layers)
    (router,) = blocks(model, Router)
    assert (router.scoring, router.bias_corrected, router.top_k) == ("sigmoid", True, 2)
    assert "model.layers.1.mlp.gate.expert_bias" in model.tensors()
    assert model.parameters is not None
    assert model.parameters.extra > 0


def test_kimi_k2_is_deepseek_v3() -> None:
    same = {
        "q_lora_rank": 32,
        "kv_lora_rank": 16,
        "n_routed_experts": 4,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 32,
    }
    ours, theirs = (
        made("kimi_k2", "DeepseekV3ForCausalLM", **same),
        made("deepseek_v3", "DeepseekV3ForCausalLM", **same),
    )
    assert blocks(ours, LatentAttention)
    assert {name: t.shape for name, t in ours.tensors().items()} == {n: t.shape for n, t in theirs.tensors().items()}


def test_layers_of_a_search_lack_halves() -> None:
    half = {"n_heads_in_group": 2, "no_op": False, "replace_with_linear": False}
    none, wide = {"no_op": True, "n_heads_in_group": None}, {"ffn_mult": 3.0, "no_op": False}
    one = {"replace_with_linear": True, "ffn_mult": None}
    plan = [{"attention": half, "ffn": wide}, {"attention": none, "ffn": one}]
    names = made("nemotron-nas", "DeciLMForCausalLM", block_configs=plan).tensors()
    assert names["model.layers.0.self_attn.k_proj.weight"].shape == (32, 64)
    assert names["model.layers.0.mlp.up_proj.weight"].shape == (256, 64)
    assert names["model.layers.1.mlp.linear_mlp.weight"].shape == (64, 64)
    assert not [name for name in names if name.startswith("model.layers.1.self_attn")]
    assert "model.layers.1.input_layernorm.weight" not in names


def test_rwkv_keeps_a_matrix_for_each_head() -> None:
    mixers = blocks(made("rwkv6", "Rwkv6ForCausalLM", head_size=16), StateMixer)
    assert {mixer.state_elements for mixer in mixers} == {4 * 16 * 16}


def test_a_composite_mounts_its_language_model_by_type() -> None:
    text = {**SMALL, "model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "num_key_value_heads": 2}
    vision = {
        **SMALL,
        "model_type": "intern_vit_6b",
        "hidden_size": 32,
        "image_size": 28,
        "patch_size": 14,
        "qk_normalization": False,
    }
    model = archscope.load(
        {
            "model_type": "internvl_chat",
            "architectures": ["InternVLChatModel"],
            "llm_config": text,
            "vision_config": vision,
            "downsample_ratio": 0.5,
        }
    )
    names = model.tensors()
    assert names["language_model.model.layers.0.self_attn.q_proj.bias"].shape == (64,)
    assert names["mlp1.1.weight"].shape == (64, 128)
    assert names["vision_model.embeddings.position_embedding"].shape == (1, 5, 32)


@pytest.mark.parametrize("change", [{"num_key_value_heads": 3}, {"num_experts": 4, "num_experts_per_tok": 9}])
def test_what_a_structure_of_remote_code_says_is_no_error(change: dict[str, Any]) -> None:
    model_type = "internlm2" if "num_key_value_heads" in change else "bailing_moe"
    model = made(model_type, "XForCausalLM", **{"moe_intermediate_size": 16, **change}, auto_map={"AutoConfig": "a.B"})
    found = [one for one in model.diagnostics if one.rule in ("indivisible-kv-heads", "too-many-active-experts")]
    assert [one.severity.value for one in found] == ["warning"]


def test_weights_that_do_not_fit_remote_code_are_no_error(tmp_path: Path) -> None:
    published = next(one for one in PUBLISHED if one["model_type"] == "qwen")
    (tmp_path / "config.json").write_text(json.dumps(published["config"]), encoding="utf-8")
    index = {"metadata": {}, "weight_map": {"transformer.wte.weight": "model-00001-of-00001.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    rules = {one.rule for one in archscope.load(tmp_path).diagnostics}
    assert not rules & {"missing-tensors", "unexpected-tensors", "misshapen-tensors", "head-not-stored"}


@pytest.mark.parametrize("value", [None, 0, -4, "x", [], {}, 10**30, float("nan"), True])
@pytest.mark.parametrize("published", PUBLISHED, ids=lambda one: one["repository"])
def test_no_value_breaks_a_builder(published: dict[str, Any], value: object) -> None:
    for field in published["config"]:
        if field == "model_type":
            continue
        model = archscope.load({**published["config"], field: value})
        assert not [one for one in model.diagnostics if one.rule in (INTERNAL_ERROR, UNBUILDABLE)]
        assert model.parameters is None or model.parameters.total >= 0
