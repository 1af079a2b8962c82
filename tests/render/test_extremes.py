"""Very few, very many, and hostile text: the figure still holds together."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archscope.engine import load
from archscope.render.compose import compose
from archscope.render.dot import dot
from archscope.render.layout import layout
from archscope.render.svg import svg
from archscope.render.terminal import card_of
from tests.render import measure
from tests.render.drawings import model_of

HOSTILE = (
    "</script>",
    '"><b>',
    "]]>",
    "\u202egnp.exe",
    "مرحبا",
    "名前" * 40,
    "x" * 300,
    "a\x00b\x1b[31m",
    "<0.1 & %",
    "\ud800",
)


def _checked(figure: Any) -> str:
    scene = layout(figure)
    text = svg(scene)
    root = measure.parse(text)
    assert measure.problems_of_markup(root) == []
    assert measure.overlapping_texts(root) == []
    assert measure.texts_outside(root) == []
    assert measure.covered_texts(root) == []
    assert measure.hidden_texts(root) == []
    assert measure.overlapping_nodes(scene) == []
    assert measure.loose_heads(scene) == []
    return text


@pytest.mark.parametrize("layers", [1, 2, 128, 1000])
@pytest.mark.parametrize("model_type", ["llama", "gemma3_text", "jamba"])
def test_layers(model_type: str, layers: int) -> None:
    text = _checked(compose(model_of(model_type, num_hidden_layers=layers)))
    assert len(text) <= 100_000
    assert f"× {layers:,}" in text


@pytest.mark.parametrize("experts", [1, 2, 8, 64, 512, 2048])
def test_experts(experts: int) -> None:
    model = model_of("qwen3_moe", num_experts=experts, num_experts_per_tok=min(8, experts), num_hidden_layers=4)
    text = _checked(compose(model))
    assert len(text) <= 100_000
    assert (f"1,024 of {experts:,} drawn" in text) is (experts > 1024)


@pytest.mark.parametrize(("heads", "shared"), [(1, 1), (96, 96), (128, 1), (128, 8), (128, 128), (7, 3)])
def test_heads(heads: int, shared: int) -> None:
    fields = {"hidden_size": 128 * heads, "num_attention_heads": heads, "num_key_value_heads": shared}
    _checked(compose(model_of("llama", num_hidden_layers=2, **fields)))


@pytest.mark.parametrize("size", [1, 10**9, 10**12])
def test_sizes(size: int) -> None:
    _checked(compose(model_of("gpt2", vocab_size=size, n_layer=2)))


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_strings(text: str) -> None:
    config = {"model_type": "llama", "_name_or_path": text, "architectures": [text], "hidden_act": text, "dtype": text,
              "rope_scaling": {"rope_type": text, "factor": 2.0}, text: text}  # fmt: skip
    figure = compose(load(config))
    drawn = _checked(figure)
    assert "<b>" not in drawn
    assert "</script>" not in drawn
    for made in (drawn, dot(figure), card_of(figure, width=80, color=False)):
        assert "\x00" not in made
        assert "\x1b" not in made
        assert "\u202e" not in made
        made.encode("utf-8")


@settings(max_examples=60)
@given(
    st.sampled_from(["llama", "gpt2", "deepseek_v3", "mamba2", "gemma2", "t5"]),
    st.dictionaries(
        st.sampled_from(
            ["hidden_size", "num_attention_heads", "num_key_value_heads", "intermediate_size", "num_hidden_layers",
             "vocab_size", "head_dim", "sliding_window", "n_routed_experts", "num_experts_per_tok", "kv_lora_rank",
             "rope_theta", "max_position_embeddings", "hidden_act"]
        ),
        st.one_of(st.integers(-3, 300), st.integers(10**9, 10**40), st.floats(), st.text(max_size=40), st.none()),
        max_size=5,
    ),
)  # fmt: skip
def test_whatever_builds_is_drawn(model_type: str, fields: dict[str, Any]) -> None:
    if isinstance(fields.get("num_hidden_layers"), int) and fields["num_hidden_layers"] > 300:
        del fields["num_hidden_layers"]
    model = load({"model_type": model_type, **fields})
    if model.structure is not None:
        figure = compose(model)
        measure.parse(svg(layout(figure)))
        assert dot(figure).startswith("digraph")
        assert card_of(figure, width=80, color=True).endswith("\n")
