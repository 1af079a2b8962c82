"""The real files of the workshop."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from archscope.source import kind_of, read

# Files whose text is truly broken, by the problem.
BROKEN = {
    "FlagOpen--FlagScale__aquila-llama_model__rev-84c4dcb.json": {"json-comment"},
    "intel--intel-extension-for-pytorch__hf_configs-qwen2__rev-2795053.json": {"invalid-json"},
    "AXERA-TECH--PaddleOCR-VL-1.5.axera__model_convert-pulsar2_configs.json": {"json-comment", "trailing-comma"},
}


def files(shared: Path, folder: str) -> list[Path]:
    found = sorted((shared / "corpus" / folder).glob("*.json"))
    assert len(found) > 50
    return found


@pytest.mark.parametrize("folder", ["configs", "variants", "foreign"])
def test_real_files_read_as_the_standard_library_reads_them(shared: Path, folder: str) -> None:
    for path in files(shared, folder):
        document = read(path)
        rules = {problem.rule for problem in document.problems} - {"nonfinite-number"}
        assert rules == BROKEN.get(path.name, set()), path.name
        if not rules:
            assert document.value == json.loads(path.read_text(encoding="utf-8")), path.name


def test_configurations_are_models_and_the_others_are_not(shared: Path) -> None:
    assert [path.name for path in files(shared, "configs") if kind_of(read(path)) != "model"] == []
    assert [path.name for path in files(shared, "foreign") if kind_of(read(path)) == "model"] == []
    for path in files(shared, "foreign"):
        kind = kind_of(read(path))
        wanted = {"adapter": "adapter", "diffusion": "diffusers", "hf_quant_config": "quantization",
                  "params": "original-params"}[path.name.partition(".")[0]]  # fmt: skip
        assert kind == wanted, path.name


def test_every_companion_is_read(shared: Path) -> None:
    """Files beside a config.json are of many kinds, and none of them is a model's configuration."""
    seen = set()
    for path in sorted((shared / "corpus" / "companions").rglob("*.json")):
        document = read(path)
        if path.name in ("generation_config.json", "tokenizer_config.json", "model.safetensors.index.json"):
            assert kind_of(document) != "model", path
            seen.add(path.name)
    assert len(seen) == 3
