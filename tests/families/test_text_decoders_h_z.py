"""What tensors do not show of text decoders from Hunyuan to ZAYA: windows, positions, states, sharing, extra layers."""

from __future__ import annotations

from typing import Any

import pytest

import archscope
from archscope.blocks.assembly import Layer
from archscope.blocks.attention import Attention
from archscope.blocks.latent_attention import LatentAttention
from archscope.blocks.moe import Experts, Router
from archscope.blocks.ssm import StateMixer
from archscope.structure.tensors import rows


def made(model_type: str, **fields: Any) -> archscope.Model:
    return archscope.load({"model_type": model_type, **fields})


def blocks(model: archscope.Model, kind: type[Any]) -> list[Any]:
    assert model.structure is not None
    return [at.block for at in model.structure.of_type(kind)]


def mixers(model: archscope.Model, path: str, count: int) -> list[Any]:
    assert model.structure is not None
    found = [model.structure.find(path.format(number)) for number in range(count)]
    return [None if at is None else at.block for at in found]


def extra(model: archscope.Model) -> list[str]:
    assert model.structure is not None
    return [name for name, _ in rows(model.structure.architecture.extra)]


def test_smollm3_has_no_positions_in_every_fourth_layer() -> None:
    found = mixers(made("smollm3"), "model.layers.{}.self_attn", 8)
    assert [one.position for one in found] == ["rope", "rope", "rope", "none"] * 2


def test_llama4_sees_chunks_where_it_has_positions() -> None:
    found = {(one.chunk, one.position) for one in blocks(made("llama4_text"), Attention)}
    assert found == {(8192, "rope"), (None, "none")}


def test_olmo3_slides_in_three_of_four_layers() -> None:
    assert [one.window for one in mixers(made("olmo3"), "model.layers.{}.self_attn", 4)] == [4096, 4096, 4096, None]


def test_mimo_slides_with_other_heads_and_another_base() -> None:
    full, sliding = mixers(made("mimo_v2_flash"), "model.layers.{}.self_attn", 2)
    assert (full.window, full.rope.theta, full.cache_width) == (None, 5_000_000.0, 4 * (192 + 128))
    assert (sliding.window, sliding.rope.theta, sliding.cache_width) == (129, 10_000.0, 8 * (192 + 128))


@pytest.mark.parametrize(("theta", "position"), [(500000.0, "rope"), (None, "none")])
def test_olmo_hybrid_without_a_base_has_no_positions(theta: float | None, position: str) -> None:
    model = made("olmo_hybrid", rope_parameters={"rope_type": "default", "rope_theta": theta})
    assert {one.position for one in blocks(model, Attention)} == {position}


@pytest.mark.parametrize(
    ("model_type", "position"),
    [("mpt", "alibi"), ("opt", "learned"), ("xglm", "sinusoidal"), ("xlnet", "relative")],
)
def test_positions_before_rotation(model_type: str, position: str) -> None:
    assert {one.position for one in blocks(made(model_type), Attention)} == {position}


@pytest.mark.parametrize(
    ("model_type", "mechanism", "state"),
    [
        ("mamba", "Mamba-1", 1536 * 16),
        ("jamba", "Mamba-1", 8192 * 16),
        ("zamba2", "Mamba-2", 80 * 64 * 64),
        ("qwen3_next", "gated delta net", 32 * 128 * 128),
        ("kimi_linear", "Kimi delta attention", 32 * 128 * 128),
        ("recurrent_gemma", "RG-LRU", 2560),
        ("xlstm", "mLSTM", 8 * (256 * 512 + 256 + 1)),
        ("rwkv", "RWKV-4 time mix", 3 * 4096),
        ("minimax", "lightning attention", 32 * 128 * 128),
    ],
)
def test_states_have_a_fixed_size(model_type: str, mechanism: str, state: int) -> None:
    assert {(one.mechanism, one.state_elements) for one in blocks(made(model_type), StateMixer)} == {(mechanism, state)}


def test_convolutions_keep_the_last_positions_alone() -> None:
    model = made("lfm2", num_hidden_layers=2, layer_types=["conv", "full_attention"])
    (one,) = blocks(model, StateMixer)
    assert (one.state_elements, one.conv_elements) == (0, 2560 * 3)
    assert len(blocks(model, Attention)) == 1


def test_kimi_attends_without_positions_between_states() -> None:
    found = mixers(made("kimi_linear"), "model.layers.{}.self_attn", 5)
    assert [type(one).__name__ for one in found] == ["StateMixer"] * 4 + ["LatentAttention"]
    assert found[4].rope is None
    assert found[4].cache_width == 512 + 64


def test_longcat_attends_twice_and_may_pass_a_token_by() -> None:
    model = made("longcat_flash")
    assert len(blocks(model, LatentAttention)) == 2
    (experts,), (router,) = blocks(model, Experts), blocks(model, Router)
    assert (experts.count, experts.num_zero, router.num_experts) == (512, 256, 768)


def test_zamba2_shares_its_attention_over_the_depth() -> None:
    names = made("zamba2").tensors()
    first = [name for name in names if name.startswith("model.layers.6.shared_transformer.self_attn.q_proj")]
    later = [name for name in names if name.startswith("model.layers.18.shared_transformer.self_attn.q_proj")]
    assert first
    assert not later


@pytest.mark.parametrize("passes", [1, 4])
def test_inkling_loops_over_its_middle(passes: int) -> None:
    model = made("inkling2_loop_text", loop_config={"num_passes": passes})
    assert {layer.passes for layer in blocks(model, Layer)} == {1, passes}


def test_mistral_large_4_keeps_no_rotated_key_without_positions() -> None:
    found = mixers(made("mistral_large4_text"), "layers.{}.attention", 4)
    assert [one.cache_width for one in found] == [576, 576, 576, 512]


@pytest.mark.parametrize(
    ("model_type", "count", "active", "scoring"),
    [
        ("qwen2_moe", 60, 4, "softmax"),
        ("olmoe", 64, 8, "softmax"),
        ("phimoe", 16, 2, "softmax"),
        ("solar_open", 128, 8, "sigmoid"),
        ("llama4_text", 16, 1, "sigmoid"),
        ("mistral4", 128, 4, "softmax"),
    ],
)
def test_a_token_uses_few_experts(model_type: str, count: int, active: int, scoring: str) -> None:
    model = made(model_type)
    assert {(one.count, one.active) for one in blocks(model, Experts)} == {(count, active)}
    assert {one.scoring for one in blocks(model, Router)} == {scoring}
    assert model.parameters is not None
    assert model.parameters.active < model.parameters.total


def test_experts_without_a_number_per_token_are_never_active() -> None:
    model = made("mistral4", num_experts_per_tok=None)
    assert model.parameters is not None
    assert model.parameters.active < model.parameters.total


def test_more_experts_that_do_nothing_than_any_model_has_are_refused() -> None:
    assert made("longcat_flash", zero_expert_num=10**9).structure is None


def test_prediction_layers_follow_their_number() -> None:
    assert not extra(made("qwen3_5_text"))
    names = extra(made("qwen3_5_text", mtp_num_hidden_layers=2))
    assert [name for name in names if name.endswith("q_proj.weight")] == [
        f"mtp.layers.{number}.self_attn.q_proj.weight" for number in range(2)
    ]


def test_nemotron_h_predicts_by_the_layers_it_lists() -> None:
    names = extra(made("nemotron_h", num_nextn_predict_layers=1, mtp_hybrid_override_pattern="*E"))
    assert names[0] == "mtp.layers.0.enorm.weight"
    assert "mtp.layers.0.mixer.o_proj.weight" in names
    assert "mtp.layers.1.mixer.gate.weight" in names
    assert names[-1] == "mtp.layers.1.final_layernorm.weight"


def test_step_predicts_by_the_layers_past_its_last() -> None:
    kinds = ["full_attention"] * 2 + ["sliding_attention"] * 3
    text = {"num_hidden_layers": 2, "num_nextn_predict_layers": 3, "layer_types": kinds}
    names = extra(made("step3p7", text_config=text))
    assert names[0] == "model.layers.2.enorm.weight"
    assert names[-1] == "model.layers.4.transformer.shared_head.output.weight"
    assert not any(name.endswith("embed_tokens.weight") for name in names)


def test_nemotron_h_layers_are_one_thing_each() -> None:
    model = made("nemotron_h", hybrid_override_pattern="M-*")
    found = mixers(model, "backbone.layers.{}.mixer", 3)
    assert [type(one).__name__ for one in found] == ["StateMixer", "Mlp", "Attention"]


def test_reformer_keeps_no_cache_and_looks_both_ways_unless_it_decodes() -> None:
    assert {one.causal for one in blocks(made("reformer", architectures=["ReformerModel"]), Attention)} == {False}


@pytest.mark.parametrize("layers", [3000])
@pytest.mark.parametrize("model_type", ["smollm3", "xlstm", "opt", "muse_spark_text"])
def test_many_layers_are_kept_by_kind(model_type: str, layers: int) -> None:
    model = made(model_type, num_hidden_layers=layers)
    assert model.structure is not None
    assert len(blocks(model, Layer)) <= 6
