"""What tensors do not show of text decoders: windows, positions, caches, sharing, indexers, experts, extra layers."""

from __future__ import annotations

from typing import Any

import pytest

import archscope
from archscope.blocks.assembly import Layer
from archscope.blocks.attention import Attention
from archscope.blocks.compressed_attention import CompressedAttention
from archscope.blocks.latent_attention import LatentAttention
from archscope.blocks.moe import Experts, Router
from archscope.blocks.ssm import StateMixer
from archscope.structure.tensors import rows


def made(model_type: str, **fields: Any) -> archscope.Model:
    return archscope.load({"model_type": model_type, **fields})


def blocks(model: archscope.Model, kind: type[Any]) -> list[Any]:
    assert model.structure is not None
    return [at.block for at in model.structure.of_type(kind)]


def by_layer(model: archscope.Model, name: str, numbers: range) -> list[Any]:
    assert model.structure is not None
    found = [model.structure.find(f"model.layers.{number}.{name}") for number in numbers]
    return [None if at is None else at.block for at in found]


@pytest.mark.parametrize("model_type", ["cohere2", "afmoe", "flint", "exaone4"])
def test_global_layers_have_no_positions_where_others_slide(model_type: str) -> None:
    found = {(one.window is None, one.position) for one in blocks(made(model_type), Attention)}
    assert found == {(True, "none"), (False, "rope")}


def test_cwm_keeps_positions_in_global_layers() -> None:
    assert {one.position for one in blocks(made("cwm"), Attention)} == {"rope"}


def test_granite_swa_layers_have_bases_of_their_own() -> None:
    model = made("granite_swa", num_hidden_layers=3, layer_rope_theta=[10000.0, 0, 500.0])
    mixers = by_layer(model, "self_attn", range(3))
    assert [None if one.rope is None else one.rope.theta for one in mixers] == [10000.0, None, 500.0]
    assert [one.position for one in mixers] == ["rope", "none", "rope"]


def test_gpt_neo_sees_a_window_in_local_layers_and_does_not_scale() -> None:
    full, local = blocks(made("gpt_neo"), Attention)
    assert (full.window, local.window) == (None, 256)
    assert full.scale == local.scale == 1.0


@pytest.mark.parametrize(("multi_query", "sharing"), [(True, "multi-query"), (False, "multi-head")])
def test_gpt_bigcode_shares_keys_and_values_where_asked(multi_query: bool, sharing: str) -> None:
    (one,) = blocks(made("gpt_bigcode", multi_query=multi_query), Attention)
    assert one.sharing == sharing


def test_gpt_bigcode_refuses_a_memory_with_multi_query() -> None:
    assert made("gpt_bigcode", multi_query=True, add_cross_attention=True).structure is None


def test_gemma4_reuses_keys_and_values_of_the_last_maker_of_a_type() -> None:
    kinds = ["sliding_attention", "full_attention", "sliding_attention", "sliding_attention", "full_attention"]
    model = made("gemma4_text", num_hidden_layers=5, layer_types=kinds, num_kv_shared_layers=2)
    mixers = by_layer(model, "self_attn", range(5))
    assert [one.reuses for one in mixers] == ["", "", "", "layer 2", "layer 1"]
    assert [one.cache_width > 0 for one in mixers] == [True, True, True, False, False]


def test_gemma4_takes_keys_for_values_in_full_layers() -> None:
    kinds = ["sliding_attention", "full_attention"]
    model = made("gemma4_text", num_hidden_layers=2, layer_types=kinds, attention_k_eq_v=True)
    assert [one.find("v") is None for one in by_layer(model, "self_attn", range(2))] == [False, True]


def test_gemma4_assistants_make_no_keys_and_values() -> None:
    found = blocks(made("gemma4_unified_assistant"), Attention)
    assert found
    assert all(one.reuses == "another model" and one.cache_width == 0 for one in found)


def test_gemma3n_layers_beyond_the_types_before_them_cannot_share() -> None:
    kinds = ["sliding_attention", "sliding_attention", "full_attention"]
    model = made("gemma3n_text", num_hidden_layers=3, layer_types=kinds, num_kv_shared_layers=1, intermediate_size=64)
    assert model.structure is None


def test_indexed_layers_may_use_the_choice_of_the_layer_before() -> None:
    model = made("glm_moe_dsa", num_hidden_layers=4, indexer_types=["full", "shared", "full", "shared"])
    mixers = by_layer(model, "self_attn", range(4))
    assert [one.indexer is not None for one in mixers] == [True, False, True, False]
    assert {one.top_k for one in mixers} == {2048}


def test_latent_layers_of_dots_differ_by_type() -> None:
    model = made("dots3_note_text")
    found = {
        (one.num_heads, one.kv_rank, one.window, one.indexer is not None) for one in blocks(model, LatentAttention)
    }
    assert found == {(128, 512, None, True), (64, 1024, 512, False)}


def test_deepseek_v4_compresses_by_the_rate_of_a_layer() -> None:
    found = {(one.rate, one.top_k, one.window, one.local) for one in blocks(made("deepseek_v4"), CompressedAttention)}
    assert found == {(4, 512, None, 128), (128, None, None, 128)}
    assert {one.cache_width for one in blocks(made("deepseek_v4"), CompressedAttention)} == {512}


def test_deepseek_v4_chooses_experts_by_token_in_the_first_layers() -> None:
    routers = [one.router for one in by_layer(made("deepseek_v4"), "ffn", range(5))]
    assert [one.by_token for one in routers] == [True, True, True, False, False]


@pytest.mark.parametrize(
    ("model_type", "count", "active"),
    [("mixtral", 8, 2), ("ernie4_5_moe", 64, 6), ("dbrx", 4, 1), ("granitemoe", 8, 2), ("deepseek_v3", 256, 8)],
)
def test_a_token_uses_few_experts(model_type: str, count: int, active: int) -> None:
    model = made(model_type)
    assert {(one.count, one.active) for one in blocks(model, Experts)} == {(count, active)}
    assert model.parameters is not None
    assert model.parameters.active < model.parameters.total


def test_saved_corrections_are_parameters_or_buffers_as_the_class_has_them() -> None:
    for model_type, trained in (("deepseek_v3", False), ("afmoe", True)):
        routers = [one for one in blocks(made(model_type), Router) if one.bias_corrected]
        assert routers
        assert {routers[0].parts[-1].parameter} == {trained}


def test_states_stand_between_and_beside_attention() -> None:
    between = made("bamba", num_hidden_layers=3, attn_layer_indices=[1])
    assert [type(one).__name__ for one in by_layer(between, "mamba", range(3))] == [
        "StateMixer",
        "NoneType",
        "StateMixer",
    ]
    beside = made("falcon_h1", num_hidden_layers=1)
    assert len(blocks(beside, StateMixer)) == len(blocks(beside, Attention)) == 1


@pytest.mark.parametrize(("mode", "caches"), [("per_loop", None), ("last_loop", 1)])
def test_dory_repeats_its_middle(mode: str, caches: int | None) -> None:
    fields = {"num_hidden_layers": 3, "n_input_layers": 1, "n_recurrent_layers": 1, "n_output_layers": 1}
    model = made("dory", **fields, n_recurrent_loops=4, recurrent_kv_cache_mode=mode)
    passes = {layer.passes: layer.caches for layer in blocks(model, Layer) if isinstance(layer, Layer)}
    assert passes[4] == caches
    assert 1 in passes


def test_hrm_passes_its_stacks_by_cycles() -> None:
    model = made("hrm_text", H_cycles=2, L_cycles=3)
    assert {layer.passes for layer in blocks(model, Layer)} == {2, 6}


@pytest.mark.parametrize(
    ("model_type", "first", "last"),
    [
        ("deepseek_v3", "model.layers.61.embed_tokens.weight", "model.layers.61.shared_head.head.weight"),
        ("glm4_moe", "model.layers.46.embed_tokens.weight", "model.layers.46.shared_head.head.weight"),
        ("deepseek_v4", "mtp.0.enorm.weight", "mtp.0.norm.weight"),
    ],
)
def test_prediction_layers_are_counted_apart(model_type: str, first: str, last: str) -> None:
    model = made(model_type)
    assert model.structure is not None
    names = [name for name, _ in rows(model.structure.architecture.extra)]
    assert (names[0], names[-1]) == (first, last)
    assert model.parameters is not None
    assert model.parameters.extra > 0
    assert not set(names) & set(model.tensors())


def test_prediction_layers_follow_their_number() -> None:
    for count in (0, 3):
        model = made("deepseek_v3", num_hidden_layers=4, num_nextn_predict_layers=count)
        assert model.structure is not None
        names = [name for name, _ in rows(model.structure.architecture.extra) if name.endswith("eh_proj.weight")]
        assert names == [f"model.layers.{4 + i}.eh_proj.weight" for i in range(count)]


def test_blt_saves_the_head_and_not_the_table_where_they_are_tied() -> None:
    names = made("blt", tie_word_embeddings=True).tensors()
    assert "lm_head.weight" in names
    assert "model.local_encoder.embed_tokens.weight" not in names


def test_gpt2_with_two_heads_has_one_choice() -> None:
    names = made("gpt2", architectures=["GPT2DoubleHeadsModel"]).tensors()
    assert names["multiple_choice_head.summary.weight"].shape == (1, 768)


def test_labels_are_counted_by_their_names() -> None:
    model = made("llama", architectures=["LlamaForSequenceClassification"], id2label={"0": "a", "1": "b", "2": "c"})
    assert model.tensors()["score.weight"].shape == (3, 4096)


def test_many_layers_are_kept_by_kind() -> None:
    model = made("gemma4_text", num_hidden_layers=3000)
    assert model.structure is not None
    assert len(blocks(model, Layer)) <= 4
