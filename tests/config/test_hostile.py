"""Any content ends in a config: nothing raises, nothing grows without bound."""

from __future__ import annotations

import random
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archscope.config import Config, load_schema, model_types, resolve

NASTY: list[Any] = [
    10**9, 10**400, -1, 0, float("nan"), float("inf"), 1e308, "x", "4096", "9" * 5000, "", "\x1b[31m", "../../etc", True,
    None, [], {}, [None], ["a", 1, {}], [10**9] * 3, [[1, 2], 3], {"a": 1}, {"rope_type": ["yarn"]}, {"rope_type": "yarn"},
    {"model_type": "llama"}, {"model_type": ["x"]}, {"1": {"head_dim": 3}, "x": 4}, 99_999, 100_001, "MM*-", ["mamba"] * 5,
]  # fmt: skip
EXTRA = [
    "rope_scaling", "rope_theta", "partial_rotary_factor", "per_layer_config", "num_labels", "torch_dtype", "architectures",
    "id2label", "text_config_dict", "vision_config_dict", "backbone", "backbone_kwargs", "decision_config", "out_features",
]  # fmt: skip


def read_everything(config: Config) -> None:
    for name in config.values:
        config.origin(name)
        config.get(name)
    for name in config.schema.properties if config.schema is not None else ():
        config.get(name)
    for rope in config.rope.values():
        assert set(rope.pointers) <= set(rope.parameters)
    assert isinstance(config.model_class, str)
    assert all(isinstance(reason, str) for reason in config.invalid.values())
    for sub in config.subs.values():
        read_everything(sub)


@pytest.mark.parametrize("model_type", sorted(model_types()))
def test_nasty_values_in_every_type(model_type: str) -> None:
    schema = load_schema(model_type)
    assert schema is not None
    dice = random.Random(model_type)
    keys = [*schema.fields, *schema.aliases, *schema.also_reads, *schema.sub_configs, *schema.properties, *EXTRA]
    for _ in range(3):
        raw = {key: dice.choice(NASTY) for key in dice.sample(keys, min(len(keys), dice.randint(1, 8)))}
        read_everything(resolve({"model_type": model_type, **raw}))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
SOME_TYPES = [
    "llama",
    "gemma3",
    "gemma4_text",
    "qwen2_vl",
    "deepseek_v4",
    "nemotron_h",
    "clip",
    "dpt",
    "step3p5",
    "mine",
]
SOME_KEYS = [
    "hidden_size", "num_hidden_layers", "num_attention_heads", "layer_types", "rope_scaling", "rope_parameters",
    "rope_theta", "text_config", "vision_config", "hybrid_override_pattern", "backbone_config", "per_layer_config",
    "id2label", "architectures", "compress_ratios", "moe_layers_enum", "sliding_window", "linear_attn_config",
]  # fmt: skip


@given(st.sampled_from(SOME_TYPES), st.dictionaries(st.sampled_from(SOME_KEYS) | st.text(max_size=6), JSON, max_size=6))
@settings(max_examples=300)
def test_any_json(model_type: str, keys: dict[str, Any]) -> None:
    read_everything(resolve({**keys, "model_type": model_type}))


@given(JSON)
def test_any_json_at_the_top(value: Any) -> None:
    read_everything(resolve(value))


def test_sub_configs_without_end() -> None:
    raw: dict[str, Any] = {"model_type": "llava"}
    for _ in range(60):
        raw = {"model_type": "llava", "text_config": raw}
    config, depth = resolve(raw), 0
    while "text_config" in config.subs:
        config, depth = config.sub("text_config"), depth + 1
    assert depth < 60


@pytest.mark.parametrize("model_type", ["glm5_next_text", "jamba", "dots3_note", "glm_moe_dsa", "gemma4_text"])
def test_the_longest_lists_take_seconds_at_most(model_type: str) -> None:
    start = time.process_time()
    resolve({"model_type": model_type, "num_hidden_layers": 100_000, "text_config": None})
    assert time.process_time() - start < 20
