"""Every value is what AutoConfig of the snapshot's transformers would hold.

What transformers refuses to load is left out: there is nothing to compare with.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from archscope.config import load_schema, model_types, resolve
from archscope.config.schema import common
from tests.config.peculiar import PECULIAR
from tests.config.reference import auto_config, differences, same
from tests.config.variants import variant

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module", autouse=True)
def _snapshot_version() -> None:
    transformers = pytest.importorskip("transformers")
    if transformers.__version__ != common().transformers:
        pytest.skip(f"the snapshot is of transformers {common().transformers}, not {transformers.__version__}")


def unlike(raw: dict[str, Any]) -> list[str] | None:
    """How our reading differs from that of transformers; None for what it does not load."""
    try:
        theirs = auto_config(raw)
    except Exception:  # classes refuse in every possible way
        return None
    return differences(resolve(raw), theirs)


# They load neither here nor there: two need the package timm, one contradicts itself, one names a type that is not.
REFUSED_BY_DEFAULT = {"gemma3n_vision", "gemma4_assistant", "nougat", "timm_wrapper"}


def test_every_default_config() -> None:
    found = {model_type: unlike({"model_type": model_type}) for model_type in sorted(model_types())}
    assert {name for name, result in found.items() if result is None} == REFUSED_BY_DEFAULT
    assert {name: result for name, result in found.items() if result} == {}
    assert len(found) == 822


def test_every_computed_value() -> None:
    compared, wrong = 0, []
    for model_type in sorted(model_types() - REFUSED_BY_DEFAULT):
        schema = load_schema(model_type)
        assert schema is not None
        for name in schema.properties:
            ours = resolve({"model_type": model_type}).get(name, "absent")
            if ours == "absent" or name in schema.fields:
                continue
            theirs = getattr(auto_config({"model_type": model_type}), name, "refused")
            compared += 1
            if not same(ours, theirs):
                wrong.append(f"{model_type}.{name}: {ours!r:.100} for {theirs!r:.100}")
    assert wrong == []
    assert compared > 60


def files(shared: Path) -> list[Path]:
    folders = (shared / "corpus" / "configs", shared / "corpus" / "variants")
    return [path for folder in folders for path in sorted(folder.rglob("*.json"))]


def test_every_published_file(shared: Path) -> None:
    compared, wrong = 0, {}
    for path in files(shared):
        try:
            raw = json.loads(path.read_text("utf-8"))
        except ValueError:
            continue  # some files of the corpus are broken on purpose
        if not isinstance(raw, dict) or raw.get("model_type") not in model_types():
            continue
        result = unlike(raw)
        compared += result is not None
        if result:
            wrong[path.name] = result
    assert wrong == {}
    assert compared > 600


@pytest.mark.parametrize("raw", PECULIAR, ids=lambda raw: raw["model_type"])
def test_peculiar_form(raw: dict[str, Any]) -> None:
    assert unlike(raw) == []


@pytest.mark.parametrize("part", range(8))
def test_random_variants_of_every_type(part: int) -> None:
    compared, wrong = 0, []
    for model_type in sorted(model_types())[part::8]:
        schema = load_schema(model_type)
        assert schema is not None
        dice = random.Random(f"{model_type} 1")
        for _ in range(12):
            raw = {"model_type": model_type, **variant(schema, dice)}
            result = unlike(raw)
            compared += result is not None
            if result:
                wrong.append((raw, result))
    assert wrong == []
    assert compared > 900
