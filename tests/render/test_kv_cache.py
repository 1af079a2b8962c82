"""What generation keeps, in elements and bytes."""

from __future__ import annotations

import pytest

from archscope.blocks.assembly import Architecture
from archscope.costs.kv_cache import cache_shape, element_bytes, kv_cache_bytes
from archscope.engine import Model
from tests.render.drawings import model_of, sample


def _architecture(model: Model) -> Architecture:
    assert model.structure is not None
    return model.structure.architecture


def test_grouped_query_attention() -> None:
    # 2 · 8 heads · 128 · 32 layers · 2 bytes
    assert kv_cache_bytes(_architecture(sample("llama-3.1-8b")), num_tokens=1, dtype="bfloat16") == 131_072


def test_windows_stop_growing() -> None:
    shape = cache_shape(_architecture(sample("gemma-3-27b")))
    assert dict(shape.windows) == {1024: 2 * 16 * 128 * 52}
    assert shape.growing == 2 * 16 * 128 * 10
    assert shape.elements(2048) - shape.elements(2047) == shape.growing
    assert shape.elements(2) == 2 * shape.per_token


def test_a_latent_is_smaller_than_what_it_expands_to() -> None:
    shape = cache_shape(_architecture(sample("deepseek-v3")))
    assert shape.growing == (512 + 64) * 61
    assert shape.expanded == 128 * (128 + 64 + 128) * 61


def test_a_state_does_not_grow() -> None:
    shape = cache_shape(_architecture(sample("mamba2-2.7b")))
    assert shape.per_token == 0
    assert shape.state == 80 * 64 * 128 * 64


def test_encoders_keep_nothing_and_cross_attention_keeps_the_memory() -> None:
    assert cache_shape(_architecture(sample("bert-base"))).per_token == 0
    shape = cache_shape(_architecture(sample("t5-small")))
    assert shape.per_token == shape.memory == 2 * 8 * 64 * 6


def test_a_vision_tower_keeps_nothing() -> None:
    text = cache_shape(_architecture(model_of("gemma3_text")))
    both = cache_shape(_architecture(model_of("gemma3")))
    assert set(both.windows) == set(text.windows)


def test_bounds() -> None:
    with pytest.raises(ValueError, match="negative"):
        cache_shape(_architecture(sample("gpt2"))).elements(-1)
    assert element_bytes("float32") == 4
    assert element_bytes("float8_e4m3fn") == 2
    assert element_bytes("nonsense") == 2
