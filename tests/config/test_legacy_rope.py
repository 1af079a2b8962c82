"""Legacy and present spellings of rotary embeddings, as AutoConfig of transformers 5.24.0 reads them."""

from __future__ import annotations

from typing import Any

import pytest

from archscope.config import resolve

LINEAR = {"rope_type": "linear", "factor": 8.0}
YARN = {"type": "yarn", "factor": 4.0}
EIGHT_ONES, EIGHT_TWOS = [1.0] * 8, [2.0] * 8

# (what is tried, model type, the keys in the file, rope_parameters after AutoConfig)
CASES: list[tuple[str, str, dict[str, Any], Any]] = [
    ("theta alone", "llama", {"rope_theta": 500000.0}, {"rope_theta": 500000.0, "rope_type": "default"}),
    ("nothing", "llama", {}, {"rope_theta": 10000.0, "rope_type": "default"}),
    (
        "type for rope_type",
        "llama",
        {"rope_theta": 10000.0, "rope_scaling": {"type": "linear", "factor": 2.0}},
        {"type": "linear", "factor": 2.0, "rope_theta": 10000.0, "rope_type": "linear"},
    ),
    ("null scaling", "llama", {"rope_theta": 1e4, "rope_scaling": None}, {"rope_theta": 1e4, "rope_type": "default"}),
    ("empty scaling", "llama", {"rope_theta": 1e4, "rope_scaling": {}}, {"rope_theta": 1e4, "rope_type": "default"}),
    (
        "yarn without the original length",
        "llama",
        {"max_position_embeddings": 128, "rope_theta": 1e4, "rope_scaling": YARN},
        {**YARN, "rope_theta": 1e4, "rope_type": "yarn", "original_max_position_embeddings": 128},
    ),
    (
        "yarn with the original length at the top, where llama does not look for it",
        "llama",
        {"max_position_embeddings": 128, "rope_scaling": YARN, "original_max_position_embeddings": 32},
        {**YARN, "rope_theta": 1e4, "rope_type": "yarn", "original_max_position_embeddings": 128},
    ),
    (
        "yarn with two original lengths",
        "llama",
        {
            "max_position_embeddings": 128,
            "original_max_position_embeddings": 64,
            "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32},
        },
        {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32, "rope_theta": 1e4},
    ),
    (
        "partial factor at the top",
        "llama",
        {"rope_theta": 1e4, "partial_rotary_factor": 0.5},
        {"rope_theta": 1e4, "partial_rotary_factor": 0.5, "rope_type": "default"},
    ),
    (
        "rope_scaling beats rope_parameters",
        "llama",
        {
            "rope_theta": 1e4,
            "rope_scaling": {"type": "linear", "factor": 2.0},
            "rope_parameters": {"rope_type": "dynamic", "factor": 4.0, "rope_theta": 500.0},
        },
        {"type": "linear", "factor": 2.0, "rope_theta": 1e4, "rope_type": "linear"},
    ),
    (
        "the inner theta beats the outer",
        "llama",
        {"rope_theta": 1e4, "rope_parameters": {"rope_type": "default", "rope_theta": 5e5}},
        {"rope_type": "default", "rope_theta": 5e5},
    ),
    (
        "two kinds of layers",
        "gemma3_text",
        {"rope_theta": 1e6, "rope_local_base_freq": 1e4, "rope_scaling": LINEAR},
        {
            "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
            "full_attention": {**LINEAR, "rope_theta": 1e6},
        },
    ),
    (
        "two kinds of layers, nothing given",
        "gemma3_text",
        {},
        {
            "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
            "full_attention": {"rope_type": "default", "rope_theta": 1e6},
        },
    ),
    (
        "a flat mapping on a class with two kinds: kept beside them, and lost",
        "gemma3_text",
        {"rope_parameters": {**LINEAR, "rope_theta": 1e6}},
        {
            **LINEAR,
            "rope_theta": 1e6,
            "full_attention": {"rope_type": "default", "rope_theta": 1e6},
            "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
        },
    ),
    (
        "mrope",
        "qwen2_vl_text",
        {"rope_theta": 1e6, "rope_scaling": {"type": "mrope", "mrope_section": [2, 3, 3]}},
        {"type": "mrope", "mrope_section": [2, 3, 3], "rope_theta": 1e6, "rope_type": "default"},
    ),
    (
        "longrope with the original length at the top, where phi3 has a field for it",
        "phi3",
        {
            "max_position_embeddings": 128,
            "rope_theta": 1e4,
            "original_max_position_embeddings": 64,
            "rope_scaling": {"type": "longrope", "short_factor": EIGHT_ONES, "long_factor": EIGHT_TWOS},
        },
        {
            "type": "longrope",
            "short_factor": EIGHT_ONES,
            "long_factor": EIGHT_TWOS,
            "rope_theta": 1e4,
            "partial_rotary_factor": 1.0,
            "rope_type": "longrope",
            "original_max_position_embeddings": 64,
        },
    ),
    (
        "su is longrope",
        "phi3",
        {"rope_scaling": {"type": "su", "factor": 2.0}},
        {"type": "su", "factor": 2.0, "rope_theta": 1e4, "partial_rotary_factor": 1.0, "rope_type": "longrope"},
    ),
    (
        "theta of one kind only",
        "olmo3",
        {"rope_theta": 10000},
        {
            "sliding_attention": {"rope_type": "default", "rope_theta": 500000.0},
            "full_attention": {"rope_type": "default", "rope_theta": 10000},
        },
    ),
    (
        "names of its own for the two thetas",
        "modernbert",
        {"global_rope_theta": 160000.0, "local_rope_theta": 10000.0},
        {
            "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
            "full_attention": {"rope_type": "default", "rope_theta": 160000.0},
        },
    ),
    (
        "rotary_pct and rotary_emb_base",
        "gpt_neox",
        {"rotary_pct": 0.25, "rotary_emb_base": 25000},
        {"rope_theta": 25000, "partial_rotary_factor": 0.25, "rope_type": "default"},
    ),
    (
        "rotary_dim over the head width",
        "minimax_m2",
        {"rotary_dim": 8, "head_dim": 16, "rope_theta": 5000000},
        {"rope_theta": 5000000, "partial_rotary_factor": 0.5, "rope_type": "default"},
    ),
    ("no such field", "gptj", {"rotary_dim": 8}, None),
    (
        "new form only: an outer theta changes nothing",
        "mimo_v2_flash",
        {"rope_theta": 5000000, "partial_rotary_factor": 0.334},
        {
            "full_attention": {"rope_type": "default", "rope_theta": 5000000.0, "partial_rotary_factor": 0.334},
            "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.334},
        },
    ),
    (
        "a class with a partial factor of its own",
        "stablelm",
        {"rope_theta": 10000},
        {"rope_theta": 10000, "partial_rotary_factor": 0.25, "rope_type": "default"},
    ),
    (
        "an axial class calls its default axial",
        "pixtral",
        {"rope_theta": 10000.0},
        {"rope_theta": 10000.0, "rope_type": "axial"},
    ),
]


@pytest.mark.parametrize(("model_type", "keys", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_conversion(model_type: str, keys: dict[str, Any], expected: Any) -> None:
    config = resolve({"model_type": model_type, **keys})
    assert config.get("rope_parameters") == expected


def test_the_file_is_not_changed() -> None:
    written = {"model_type": "llama", "rope_theta": 5e5, "rope_scaling": {"type": "linear", "factor": 2.0}}
    resolve(written)
    assert written["rope_scaling"] == {"type": "linear", "factor": 2.0}


def test_places_of_a_flat_mapping() -> None:
    config = resolve({"model_type": "llama", "rope_theta": 5e5, "rope_scaling": {"type": "linear", "factor": 2.0}})
    (rope,) = config.rope.values()
    assert (rope.rope_type, rope.rope_theta, rope.factor) == ("linear", 5e5, 2.0)
    assert rope.pointers == {
        "type": "/rope_scaling/type",
        "rope_type": "/rope_scaling/type",
        "factor": "/rope_scaling/factor",
        "rope_theta": "/rope_theta",
    }


def test_places_of_a_nested_mapping_in_a_sub_config() -> None:
    nested = {"full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6}}
    config = resolve({"model_type": "gemma3", "text_config": {"rope_parameters": nested}}).sub("text_config")
    assert list(config.rope) == ["full_attention", "sliding_attention"]
    full, sliding = config.rope["full_attention"], config.rope["sliding_attention"]
    assert full.pointers["factor"] == "/text_config/rope_parameters/full_attention/factor"
    assert sliding.pointers == {}, "a default stands nowhere"


def test_a_default_stands_nowhere() -> None:
    (rope,) = resolve({"model_type": "llama"}).rope.values()
    assert rope.pointers == {}
    assert rope.rope_theta == 10000.0


@pytest.mark.parametrize("value", [[2.0], "linear", 3, True])
def test_a_scaling_that_is_no_mapping(value: Any) -> None:
    config = resolve({"model_type": "llama", "rope_scaling": value})
    assert config.problems["rope_parameters"].kind == "type"
    assert config.problems["rope_parameters"].pointer == "/rope_scaling"
    assert config.rope[""].rope_type == "default"
