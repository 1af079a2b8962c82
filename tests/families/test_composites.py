"""What tensors do not show of composite models: towers and their ways, what is causal, what is tied, what is optional."""

from __future__ import annotations

from typing import Any

import pytest

import archscope
from archscope.blocks.assembly import Head, Tower
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block
from archscope.blocks.mlp import Mlp
from archscope.blocks.modality_moe import ModalityMoe
from archscope.blocks.projectors import Projector

SEEING = {
    "aria": "AriaModel",
    "aya_vision": "AyaVisionModel",
    "deepseek_vl": "DeepseekVLModel",
    "florence2": "Florence2Model",
    "gemma3n": "Gemma3nModel",
    "glm4v": "Glm4vModel",
    "got_ocr2": "GotOcr2Model",
    "idefics3": "Idefics3Model",
    "internvl": "InternVLModel",
    "janus": "JanusModel",
    "kimi_k25": "Kimi_K25Model",
    "lfm2_vl": "Lfm2VlModel",
    "llava": "LlavaModel",
    "mistral3": "Mistral3Model",
    "mllama": "MllamaModel",
    "ovis2": "Ovis2Model",
    "paligemma": "PaliGemmaModel",
    "qwen2_5_vl": "Qwen2_5_VLModel",
    "qwen3_5": "Qwen3_5Model",
    "smolvlm": "SmolVLMModel",
    "ultravbert": "UltraVBertModel",
}
HEARING = {
    "audioflamingo3": "AudioFlamingo3Model",
    "fun_asr_nano": "FunAsrNanoModel",
    "glmasr": "GlmAsrModel",
    "granite_speech": "GraniteSpeechModel",
    "qwen2_audio": "Qwen2AudioModel",
    "qwen3_asr": "Qwen3ASRModel",
    "vibevoice": "VibeVoiceModel",
    "voxtral": "VoxtralModel",
}
UNEVEN = {"aya_vision"}
"""Whose default sizes do not fit together: transformers builds them, and could not run them."""


def made(model_type: str, **fields: Any) -> archscope.Model:
    return archscope.load({"model_type": model_type, **fields})


def parts(model: archscope.Model) -> tuple[Block, ...]:
    assert model.structure is not None
    return model.structure.architecture.parts


def attentions(model: archscope.Model, below: str) -> list[Attention]:
    assert model.structure is not None
    found = model.structure.of_type(Attention)
    return [at.block for at in found if at.path.startswith(below) and isinstance(at.block, Attention)]


def towers(model: archscope.Model) -> dict[str, Tower]:
    assert model.structure is not None
    return {tower.tower: tower for tower in model.structure.architecture.towers}


@pytest.mark.parametrize("model_type", [*SEEING, *HEARING])
def test_all_of_a_composite_is_known(model_type: str) -> None:
    model = made(model_type)
    assert model.fidelity == "exact"
    sense = "vision" if model_type in SEEING else "audio"
    found = towers(model)
    assert sense in found
    assert {"text", "encoder", "decoder"} & found.keys()
    assert found[sense].pointer


@pytest.mark.parametrize("model_type", sorted({*SEEING, *HEARING} - UNEVEN))
def test_widths_meet_on_every_edge(model_type: str) -> None:
    model = made(model_type)
    assert model.structure is not None
    assert not model.structure.mismatches()


@pytest.mark.parametrize("model_type", sorted({*SEEING, *HEARING}))
def test_the_base_class_is_the_same_without_a_head(model_type: str) -> None:
    whole = made(model_type)
    base = made(model_type, architectures=[SEEING.get(model_type) or HEARING[model_type]])
    assert base.fidelity == "exact"
    heads = [part for part in parts(whole) if isinstance(part, Head)]
    assert heads
    assert not [part for part in parts(base) if isinstance(part, Head)]
    assert whole.parameters is not None
    assert base.parameters is not None
    shared = all(part.tied_to for head in heads for part in head.parts)
    assert (len(whole.tensors()) == len(base.tensors())) == shared
    assert (whole.parameters.total == base.parameters.total) == shared


@pytest.mark.parametrize("model_type", ["llava", "idefics3", "qwen3_vl", "internvl", "voxtral", "qwen2_audio"])
def test_senses_look_both_ways_and_keep_no_cache(model_type: str) -> None:
    model = made(model_type)
    assert model.structure is not None
    senses = [part for part in parts(model) if isinstance(part, Tower) and part.tower in ("vision", "audio")]
    found = [one for tower in senses for one in attentions(model, tower.name)]
    assert found
    assert all(not one.causal and not one.cache for one in found)


def test_mllama_reads_images_in_some_layers_only() -> None:
    text = {"num_hidden_layers": 5, "cross_attention_layers": [1, 3]}
    found = attentions(made("mllama", text_config=text), "language_model")
    assert [(one.is_cross, one.causal) for one in found] == [(False, True), (True, False)]


def test_towers_are_there_only_where_the_config_has_them() -> None:
    text = {"model_type": "gemma4_text", "num_hidden_layers": 2}
    bare = made("gemma4", text_config=text)
    assert set(towers(bare)) == {"text"}
    seeing = made("gemma4", text_config=text, vision_config={"model_type": "gemma4_vision"})
    assert set(towers(seeing)) == {"text", "vision"}
    (bridge,) = (part for part in parts(seeing) if isinstance(part, Projector))
    assert bridge.target_width == towers(seeing)["text"].width


def test_diffusion_gemma_reads_with_the_weights_that_it_writes_with() -> None:
    text = {
        "hidden_size": 64,
        "num_hidden_layers": 3,
        "num_experts": 4,
        "top_k_experts": 2,
        "moe_intermediate_size": 32,
    }
    shared, apart = (made("diffusion_gemma", text_config=text, tie_word_embeddings=tied) for tied in (True, False))
    assert shared.structure is not None
    names = dict(shared.structure.ties)
    assert (
        names["model.encoder.language_model.layers.2.mlp.up_proj.weight"] == "model.decoder.layers.2.mlp.up_proj.weight"
    )
    assert all(saved in shared.tensors() and own not in shared.tensors() for own, saved in names.items())
    assert "model.encoder.language_model.layers.2.layer_scalar" in shared.tensors()
    assert set(apart.tensors()) == set(shared.tensors()) | set(names)
    reading, writing = (attentions(shared, f"model.{at}.la") for at in ("encoder", "decoder"))
    assert all(one.causal and one.cache for one in reading)
    assert all(not one.causal and not one.cache for one in writing)


def test_florence_has_one_table_for_words() -> None:
    model = made("florence2")
    assert model.structure is not None
    assert {saved for _, saved in model.structure.ties} == {"model.language_model.shared.weight"}


def test_ernie_routes_words_and_images_to_experts_of_their_own() -> None:
    model = made("ernie4_5_vl_moe")
    assert model.structure is not None
    assert list(model.structure.of_type(ModalityMoe))
    assert model.parameters is not None
    assert 0 < model.parameters.active < model.parameters.total


def test_ultrabert_sees_a_window_on_both_sides() -> None:
    found = attentions(made("ultrabert", sliding_window=64, num_hidden_layers=6), "")
    assert {(one.window, one.causal) for one in found} == {(129, False), (None, False)}


def test_vibevoice_makes_sound_without_attention() -> None:
    model = made("vibevoice")
    assert not attentions(model, "model.diffusion_head")
    assert model.structure is not None
    assert [at for at in model.structure.of_type(Mlp) if at.path.startswith("model.diffusion_head.layers")]


def test_prediction_layers_of_a_composite_are_counted_apart() -> None:
    text = {"model_type": "qwen3_5_text", "num_hidden_layers": 4}
    without, with_one = (made("qwen3_5", text_config={**text, "mtp_num_hidden_layers": n}) for n in (0, 1))
    assert without.parameters is not None
    assert with_one.parameters is not None
    assert without.parameters.total == with_one.parameters.total
    assert (without.parameters.extra, with_one.parameters.extra > 0) == (0, True)


@pytest.mark.parametrize(
    ("architecture", "arguments", "millions"),
    [
        ("mobilenetv5_300m_enc", None, 294.1),
        ("vit_pe_core_large_patch14_336", None, 316.1),
        ("fastvit_mci3", True, 122.7),
    ],
)
def test_towers_of_timm_have_the_sizes_that_timm_counts(architecture: str, arguments: Any, millions: float) -> None:
    given = {"inference_mode": True} if arguments else None
    model = made("timm_wrapper", architecture=architecture, model_args=given, architectures=["TimmWrapperModel"])
    assert model.fidelity == "exact"
    assert model.parameters is not None
    assert round(model.parameters.total / 1e6, 1) == millions


@pytest.mark.parametrize("architecture", ["resnet50", "vit_pe_core_large_patch14_336"])
def test_what_timm_alone_knows_is_not_claimed(architecture: str) -> None:
    arguments = {"swiglu_mlp": True}
    model = made("timm_wrapper", architecture=architecture, model_args=arguments, architectures=["TimmWrapperModel"])
    assert model.fidelity != "exact"


@pytest.mark.parametrize(("model_type", "name"), [("emu3", "Emu3ForCausalLM"), ("qwen3_5", "Qwen3_5ForCausalLM")])
def test_a_class_of_the_text_alone_is_not_claimed(model_type: str, name: str) -> None:
    assert made(model_type, architectures=[name]).fidelity != "exact"
