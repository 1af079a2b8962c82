"""The snapshot: complete, valid, and what would be written anew."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from archscope.config import model_types
from archscope.config.formulas import compiled
from archscope.config.procedures import names as procedures
from archscope.dev import schemas

MODELS = sorted((Path(schemas.ROOT) / "models").glob("*.json"))


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def described(path: Path) -> list[dict[str, Any]]:
    schema = read(path)
    return [schema, *schema.get("$defs", {}).values()]


def test_one_file_a_type() -> None:
    assert {path.stem for path in MODELS} == set(model_types())
    assert len(MODELS) == 822


def test_size() -> None:
    assert sum(path.stat().st_size for path in MODELS) < 6_000_000
    assert max(path.stat().st_size for path in MODELS) < 60_000


def test_every_file_is_a_json_schema() -> None:
    for path in MODELS:
        jsonschema.Draft202012Validator.check_schema(read(path))


def test_json_without_extensions() -> None:
    def refuse(word: str) -> None:
        raise AssertionError(word)

    for path in MODELS:
        json.loads(path.read_text("utf-8"), parse_constant=refuse)


def test_an_editor_would_accept_a_plain_config_and_mark_a_wrong_one() -> None:
    schema = read(schemas.ROOT / "models" / "llama.json")
    schema.pop("allOf")  # the reference to the common fields is relative to the folder
    validator = jsonschema.Draft202012Validator(schema)
    assert validator.is_valid({"model_type": "llama", "hidden_size": 64, "rope_parameters": None})
    assert not validator.is_valid({"hidden_size": "64"})
    assert not validator.is_valid({"initializer_range": 2.0})


def test_every_formula_can_be_evaluated() -> None:
    for path in MODELS:
        for schema in described(path):
            steps = [*schema.get("x-steps", ()), *(s for p in schema.get("x-properties", {}).values()
                                                    for s in p.get("set") or ())]  # fmt: skip
            formulas = [step[key] for step in steps for key in ("when", "to") if key in step]
            formulas += [entry["formula"] for entry in schema.get("x-properties", {}).values() if "formula" in entry]
            for formula in formulas:
                compiled(formula)


def test_every_class_without_formulas_has_a_procedure() -> None:
    for path in MODELS:
        for schema in described(path):
            chain = schema.get("x-procedure")
            assert chain is None or chain[0] in procedures(), f"{path.stem}: {chain}"


def test_no_prose_is_taken_over() -> None:
    longest = max(
        (value for path in MODELS for field in read(path)["properties"].values() for value in _texts(field)), key=len
    )
    assert len(longest) < 300


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for item in value.values() for text in _texts(item)]
    return [value] if isinstance(value, str) else []


def test_another_transformers_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(schemas, "SNAPSHOT", "1.2.3")
    pytest.importorskip("transformers")
    assert schemas.main(["--check"]) == 2
    said = capsys.readouterr().err
    assert "transformers 1.2.3" in said
    assert "is installed" in said


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_snapshot_is_fresh(capsys: pytest.CaptureFixture[str]) -> None:
    transformers = pytest.importorskip("transformers")
    if transformers.__version__ != schemas.SNAPSHOT:
        pytest.skip(f"the snapshot is of transformers {schemas.SNAPSHOT}, not {transformers.__version__}")
    code = schemas.main(["--check"])
    assert code == 0, capsys.readouterr().out


@pytest.mark.filterwarnings("ignore")
def test_update_writes_what_differs_and_removes_what_is_gone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("transformers")
    monkeypatch.setattr(schemas, "ROOT", tmp_path)
    monkeypatch.setattr(schemas, "SNAPSHOT", __import__("transformers").__version__)
    monkeypatch.setattr(schemas, "generate", lambda: {"common.json": "{}\n", "models/a.json": "{}\n"})
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "gone.json").write_text("{}")
    assert schemas.main(["--check"]) == 1
    assert schemas.main(["--update"]) == 0
    assert sorted(p.name for p in tmp_path.rglob("*.json")) == ["a.json", "common.json"]
    assert schemas.main(["--check"]) == 0
    assert "differs: schemas/models/gone.json" in capsys.readouterr().out
