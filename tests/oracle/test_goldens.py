"""Names, shapes and parameter counts against what transformers builds (goldens made by archscope.dev.goldens)."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

from archscope.config import load_schema
from archscope.dev.goldens import difference, read
from archscope.families import registry

BY_TYPE: dict[str, list[dict[str, Any]]] = defaultdict(list)
for golden in read():
    BY_TYPE[golden["id"].split("/")[0]].append(golden)


@pytest.mark.parametrize("model_type", sorted(BY_TYPE))
def test_tensors_are_exact(model_type: str) -> None:
    said = {golden["id"]: difference(golden) for golden in BY_TYPE[model_type]}
    assert {name: what for name, what in said.items() if what} == {}


def test_what_has_no_golden_is_known() -> None:
    remote = {name for name in registry.index() if load_schema(name) is None}
    assert set(registry.index()) - set(BY_TYPE) - remote == PARTS | UNBUILDABLE


PARTS = set(
    """
    canary_decoder cohere_compass_text deepseek_ocr2_encoder deepseek_ocr2_sam_vision_model deepseek_ocr2_text
    dia_decoder dia_encoder diffusion_gemma_text dots3_note_audio_encoder dots3_note_vision_encoder
    ernie4_5_vl_moe_text gemma3n_vision got_ocr2_vision granite4_vision hunyuan_vl_text
    idefics2_perceiver idefics2_vision idefics_vision inkling_vision kosmos_2_5_vision_model
    kosmos_2_vision_model minicpmv4_6_vision moonshine_streaming_encoder moshi_depth ovis2_vision
    pp_chart2table_vision qwen2_5_omni_audio_encoder qwen2_5_omni_vision_encoder qwen2_vl_vision qwen3_omni_moe_audio_encoder
    qwen3_omni_moe_vision_encoder unlimited_ocr_sam_vision_model unlimited_ocr_vision_encoder voxtral_realtime_text
    """.split()
)
"""Parts that no class of transformers builds by themselves from small or default values: measured inside their models."""

UNBUILDABLE = set(
    """
    chameleon cohere_compass deepseek_ocr2 diffusion_gemma emu3
    fast_vlm gemma3n gemma4_assistant hunyuan_vl moonshine_streaming
    perception_lm timm_wrapper
    """.split()
)
"""Types whose defaults make no model in transformers 5.24 without torchvision, timm or values of a published model."""
