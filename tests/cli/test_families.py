"""`archscope families`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from archscope.families import registry
from tests.cli.conftest import Cli

Write = Callable[..., Path]


def test_the_table_has_every_type_with_its_fidelity(cli: Cli) -> None:
    status, out, err = cli("families")
    assert (status, err) == (0, "")
    rows = {line.split()[0]: line.split()[1:3] for line in out.splitlines()[1:]}
    assert rows.keys() == registry.index().keys()
    assert rows["llama"] == ["llama", "exact"]
    assert rows["chatglm"] == ["glm", "inferred"]


def test_json_and_markdown_say_the_same(cli: Cli) -> None:
    listed = json.loads(cli("families", "--format", "json").out)["families"]
    markdown = cli("families", "--format", "markdown").out.splitlines()[2:]
    assert [f"`{row['model_type']}`" for row in listed] == [line.split("|")[1].strip() for line in markdown]
    by_type = {row["model_type"]: row for row in listed}
    assert by_type["llama"]["verified"].startswith("transformers ")
    assert "Qwen/Qwen-72B" in by_type["qwen"]["verified"]


def test_some_types_alone(cli: Cli) -> None:
    out = cli("families", "qwen", "llama").out
    assert [line.split()[0] for line in out.splitlines()] == ["model", "llama", "qwen"]


def test_an_unknown_type_gets_a_hint(cli: Cli) -> None:
    status, out, err = cli("families", "chatgml")
    assert (status, out) == (2, "")
    assert "did you mean 'chatglm'?" in err


def test_tensors_say_how_they_are_known(cli: Cli, write: Write) -> None:
    path = write("config.json", model_type="internlm2", architectures=["InternLM2ForCausalLM"])
    status, out, err = cli("tensors", path, "--format", "tsv")
    assert status == 0
    assert "model.layers.0.attention.wqkv.weight" in out
    assert "fidelity inferred (remote code" in err
    assert json.loads(cli("tensors", path, "--format", "json").out)["fidelity"] == "inferred"


def test_verify_has_nothing_to_compare_for_a_type_without_a_builder(cli: Cli, write: Write) -> None:
    status, out, err = cli("verify", write("config.json", model_type="never_seen"))
    assert (status, out) == (2, "")
    assert "no builder for model type 'never_seen'" in err
