"""Values of wrong types that a builder carries into blocks: a finding, never a crash later."""

from __future__ import annotations

import math
from typing import Any

import pytest

import archscope


@pytest.mark.parametrize(
    "config",
    [
        {"model_type": "t5", "feed_forward_proj": "gated-gelu", "is_gated_act": True, "dense_act_fn": 1},
        {"model_type": "dac", "hidden_size": {"a": 1}},
        {"model_type": "deepseek_v3", "n_group": "full_attention"},
        {"model_type": "llama", "hidden_size": math.nan},
        {"model_type": "bert", "hidden_size": [2]},
        {"model_type": "mixtral", "num_local_experts": "8"},
        {"model_type": "glm4_moe", "partial_rotary_factor": math.inf, "rope_scaling": {"rope_type": "longrope"}},
        {"model_type": "hrm_text", "num_layers_per_stack": 10**9},
        {"model_type": "funnel", "block_sizes": [10**9, 4]},
    ],
)
def test_values_of_wrong_types_are_findings(config: dict[str, Any]) -> None:
    model = archscope.load(config)
    found = {diagnostic.rule for diagnostic in model.diagnostics}
    assert found - {"missing-architectures"}
    assert "internal-error" not in found
    assert model.structure is None or model.draw(format="svg")


@pytest.mark.parametrize("model_type", ["falcon", "bloom", "mpt", "gptj"])
def test_a_computed_head_dim_has_an_origin(model_type: str) -> None:
    """The width of a head is a property of these classes, not a field of the file."""
    config = {"model_type": model_type, "hidden_size": 770, "num_attention_heads": 12, "num_hidden_layers": 2}
    found = {diagnostic.rule for diagnostic in archscope.load(config).diagnostics}
    assert "indivisible-hidden-size" in found
    assert "internal-error" not in found


def test_an_infinite_scale_is_drawn() -> None:
    assert archscope.load({"model_type": "granite", "attention_multiplier": math.inf}).draw(format="svg")
