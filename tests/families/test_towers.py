"""What tensors do not show of models that see, hear and speak: windows, caches, memories, positions, ties."""

from __future__ import annotations

from typing import Any

import pytest

import archscope
from archscope.blocks.attention import Attention
from archscope.blocks.patches import PatchEmbedding


def made(model_type: str, model_class: str = "", /, **fields: Any) -> archscope.Model:
    named = {"architectures": [model_class]} if model_class else {}
    return archscope.load({"model_type": model_type, **named, **fields})


def found(model: archscope.Model) -> dict[str, Attention]:
    """The attentions by their pattern."""
    assert model.structure is not None
    return {at.path: at.block for at in model.structure.of_type(Attention) if isinstance(at.block, Attention)}


def own(model: archscope.Model) -> list[Attention]:
    return [one for one in found(model).values() if not one.is_cross]


def cross(model: archscope.Model) -> list[Attention]:
    return [one for one in found(model).values() if one.is_cross]


@pytest.mark.parametrize(
    "model_type",
    ["clip_vision_model", "siglip_vision_model", "pixtral", "vit", "dinov2", "swin", "aimv2_vision_model", "wav2vec2"],
)
def test_towers_look_both_ways_and_keep_no_cache(model_type: str) -> None:
    seen = own(made(model_type))
    assert seen
    assert not any(one.causal or one.cache for one in seen)


def test_captions_are_causal_for_clip_and_not_for_siglip() -> None:
    assert all(one.causal for one in own(made("clip_text_model")))
    assert not any(one.causal for one in own(made("siglip_text_model")))


def test_sam_has_windows_but_in_the_layers_that_are_named() -> None:
    model = made("sam_vision_model", num_hidden_layers=4, global_attn_indexes=[1], window_size=7)
    assert {one.chunk for one in own(model)} == {49, None}
    assert all(one.position == "relative" for one in own(model))


def test_sam_reads_the_image_in_a_narrower_space() -> None:
    read = found(made("sam", mask_decoder_config={"attention_downsample_rate": 4}))
    widths = {path: int(one.num_heads * one.head_dim) for path, one in read.items() if "mask_decoder" in path}
    assert [width for path, width in widths.items() if "final" in path] == [64]
    assert {width for path, width in widths.items() if "cross" in path} == {128}


def test_swin_attends_within_windows() -> None:
    assert {one.chunk for one in own(made("swin", window_size=5))} == {25}


def test_qwen_sees_windows_but_in_full_layers() -> None:
    model = made("qwen2_5_vl_vision", depth=4, fullatt_block_indexes=[3], window_size=112, patch_size=14)
    kinds = {one.chunk for one in own(model)}
    assert None in kinds
    assert len(kinds) == 2


def test_siglip_counts_its_positions() -> None:
    model = made("siglip_vision_model", image_size=384, patch_size=14)
    assert model.structure is not None
    (patches,) = (at.block for at in model.structure.of_type(PatchEmbedding))
    assert isinstance(patches, PatchEmbedding)
    assert patches.num_positions == 27**2


def test_whisper_caches_in_the_decoder_only() -> None:
    model = made("whisper", "WhisperForConditionalGeneration")
    encoder, decoder = (
        [one for path, one in found(model).items() if part in path] for part in ("encoder.layers", "decoder.layers")
    )
    assert not any(one.cache or one.causal for one in encoder)
    assert all(one.cache for one in decoder)
    assert [one.causal for one in decoder if not one.is_cross] == [True]
    assert [one.memory_width for one in decoder if one.is_cross] == [384]


def test_moshi_sees_a_window() -> None:
    assert {one.window for one in own(made("moshi", "MoshiForCausalLM", sliding_window=300))} == {300}


def test_musicgen_reads_the_text_and_its_melody_does_not() -> None:
    assert cross(made("musicgen_decoder"))
    assert not cross(made("musicgen_melody_decoder"))


def test_dia_has_other_heads_for_the_text() -> None:
    fields = {"cross_num_attention_heads": 8, "cross_hidden_size": 640, "cross_head_dim": 64}
    model = made("dia", decoder_config={"num_hidden_layers": 1, "num_attention_heads": 4, **fields})
    assert [(one.num_heads, one.memory_width) for one in cross(model)] == [(8, 640)]


def test_seamless_hears_within_chunks_in_its_second_version() -> None:
    fields: dict[str, Any] = {"speech_encoder_chunk_size": 100, "speech_encoder_left_chunk_num": 2}
    heard = found(made("seamless_m4t_v2", "SeamlessM4Tv2ForSpeechToText", **fields))
    assert {one.chunk for path, one in heard.items() if "speech_encoder.encoder" in path} == {300}


def test_the_decoder_of_moonshine_takes_the_heads_of_its_encoder() -> None:
    fields: dict[str, Any] = {
        "encoder_num_attention_heads": 4,
        "encoder_num_key_value_heads": 2,
        "decoder_num_attention_heads": 8,
    }
    assert {one.num_heads for one in found(made("moonshine", "", **fields)).values()} == {4}


@pytest.mark.parametrize(
    ("model_type", "model_class", "name"),
    [
        ("whisper", "WhisperForConditionalGeneration", "proj_out.weight"),
        ("speecht5", "SpeechT5ForSpeechToText", "text_decoder_postnet.lm_head.weight"),
        ("seamless_m4t", "SeamlessM4TForTextToText", "lm_head.weight"),
    ],
)
def test_tied_heads_are_not_saved(model_type: str, model_class: str, name: str) -> None:
    assert name not in made(model_type, model_class).tensors()
    assert name in made(model_type, model_class, tie_word_embeddings=False).tensors()


def test_speecht5_has_networks_by_class() -> None:
    names = made("speecht5", "SpeechT5ForTextToSpeech").tensors()
    assert "speecht5.encoder.prenet.embed_tokens.weight" in names
    assert "speech_decoder_postnet.feat_out.weight" in names
    assert not any("feature_encoder" in name for name in names)
