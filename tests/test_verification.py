"""`archscope verify`: archscope's tensors against those of an imagined transformers, and, with torch, of the real one."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import archscope
from archscope import introspect, verification
from archscope.cli import run
from archscope.errors import IntrospectionError
from archscope.introspect import Instance
from archscope.verification import verify

TINY = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "vocab_size": 32,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}
Answer = Callable[..., None]


def truth() -> Instance:
    model = archscope.load(TINY)
    assert model.parameters is not None
    shapes = {name: tensor.shape for name, tensor in model.tensors().items()}
    return Instance("LlamaForCausalLM", shapes, frozenset(), model.parameters.total, (), "6.0.0")


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Answer:
    """Lets transformers build what is given."""

    def call(instance: Instance) -> None:
        def instantiate(raw: Mapping[str, Any]) -> Instance:
            return instance

        monkeypatch.setattr(verification, "instantiate", instantiate)

    return call


def test_equal_tensors_agree(answer: Answer) -> None:
    answer(truth())
    assert verify(archscope.load(TINY)).agrees


@pytest.mark.parametrize(
    ("change", "field", "name"),
    [
        ({"model.new.weight": (3, 4)}, "missing", "model.new.weight"),
        ({"model.norm.weight": None}, "unexpected", "model.norm.weight"),
        ({"model.norm.weight": (17,)}, "misshapen", "model.norm.weight"),
    ],
)
def test_what_differs_is_named(answer: Answer, change: dict[str, Any], field: str, name: str) -> None:
    shapes = {n: s for n, s in {**truth().shapes, **change}.items() if s is not None}
    answer(replace(truth(), shapes=shapes))
    found = verify(archscope.load(TINY))
    assert not found.agrees
    assert list(getattr(found, field)) == [name]


def test_another_number_of_parameters_is_a_difference(answer: Answer) -> None:
    answer(replace(truth(), parameters=1))
    assert not verify(archscope.load(TINY)).agrees


def test_a_type_without_a_builder_has_nothing_to_verify(answer: Answer) -> None:
    answer(truth())
    with pytest.raises(IntrospectionError, match="no builder for model type 'never_seen'"):
        verify(archscope.load({**TINY, "model_type": "never_seen"}))


def test_without_torch_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(introspect, "available", lambda: False)
    with pytest.raises(IntrospectionError, match="extra `verify`"):
        introspect.instantiate(TINY)


@pytest.mark.parametrize(("more", "status"), [({}, 0), ({"model.\x1bnew": (2,)}, 1)])
def test_the_command_tells_by_its_exit_status(
    answer: Answer, tmp_path: Path, capfd: pytest.CaptureFixture[str], more: dict[str, Any], status: int
) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(TINY), encoding="utf-8")
    answer(replace(truth(), shapes={**truth().shapes, **more}))
    assert run(["verify", str(path)]) == status
    out = capfd.readouterr().out
    assert "\x1b" not in out
    assert ("every name and shape is equal" in out) is not bool(status)
    assert ("missing" in out) is bool(status)


@pytest.mark.slow
def test_the_installed_transformers_knows_its_types() -> None:
    assert introspect.knows("llama")
    assert not introspect.knows("never_seen")


@pytest.mark.torch
def test_the_real_transformers_agrees() -> None:
    pytest.importorskip("torch")
    found = verify(archscope.load(TINY))
    assert found.agrees, found
