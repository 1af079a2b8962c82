"""Every case of every rule, and what a rule owes its readers."""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Mapping
from typing import Any

import pytest

from archscope.config import load_schema
from archscope.diagnostics import Diagnostic
from archscope.engine import Model
from archscope.rules import all_rules
from archscope.rules.base import Case, Rule
from archscope.rules.fields import REQUIRED
from archscope.rules.runner import _ordered, target_of
from archscope.source import Repository, document_of_bytes

FRAGMENT = {"missing-architectures", "missing-required-field"}
"""What may be said of a case that is a piece of text: it need not be whole."""

SECTIONS = ("## What it checks", "## Why it matters", "## How to fix", "## References")
CASES = [
    pytest.param(kind, case, id=f"{kind.name}-{number}-{case.outcome}")
    for kind in all_rules()
    for number, case in enumerate(kind.cases)
]


def stated(case: Case) -> dict[str, Any]:
    """What every file states: the class, and the sizes at the defaults of the case's type."""
    schema = load_schema(case.model_type)
    if schema is None:
        return {}
    tasks = schema.tasks
    found: dict[str, Any] = {
        "architectures": [tasks.get("causal_lm") or tasks.get("image_text_to_text") or tasks["model"]]
    }
    if not schema.sub_configs:
        names = [schema.aliases.get(name, name) for name in REQUIRED]
        found.update({name: schema.fields[name].default for name in names if name in schema.fields})
    return found


def safetensors(tensors: Mapping[str, tuple[str, tuple[int, ...]]]) -> bytes:
    """A safetensors file whose data are zeros."""
    header: dict[str, Any] = {}
    at = 0
    for name, (dtype, shape) in tensors.items():
        size = math.prod(shape) * WIDTHS[dtype]
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(at)


WIDTHS = {"F32": 4, "BF16": 2, "F16": 2, "I32": 4, "I64": 8, "U8": 1, "I8": 1, "F8_E4M3": 1}


def diagnose(case: Case, folder: Any) -> tuple[Diagnostic, ...]:
    text = case.text
    if text is None:
        text = json.dumps({"model_type": case.model_type, **stated(case), **case.fields}, indent=2)
    data = text.encode(case.encoding)
    if case.files or case.weights:
        (folder / "config.json").write_bytes(data)
        for name, content in case.files.items():
            (folder / name).write_text(content, encoding="utf-8")
        if case.weights:
            (folder / "model.safetensors").write_bytes(safetensors(case.weights))
        repository = Repository.open(folder)
    else:
        repository = Repository.of_document(document_of_bytes("config.json", data))
    model = Model(repository, repository.config)
    return model.check(case.options.tensor_parallel, case.options.targets)


@pytest.mark.parametrize(("kind", "case"), CASES)
def test_case(kind: type[Rule[Any]], case: Case, tmp_path: Any) -> None:
    found = diagnose(case, tmp_path)
    own = [one for one in found if one.rule == kind.name]
    if case.outcome == "passes":
        assert own == []
        return
    assert len(own) == case.count, found
    assert own[0].pointer == case.at
    others = {one.rule for one in found} - {kind.name} - set(case.also) - (FRAGMENT if case.text else set())
    loud = {one.rule for one in found if one.rule in others and one.severity.rank > 0}
    assert not loud, found


@pytest.mark.parametrize("kind", all_rules(), ids=lambda kind: kind.name)
def test_rule_is_documented_and_has_both_cases(kind: type[Rule[Any]]) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", kind.name)
    doc = kind.__doc__ or ""
    positions = [doc.find(section) for section in SECTIONS]
    assert positions == sorted(positions)
    assert positions[0] > 0
    assert {case.outcome for case in kind.cases} == {"passes", "fails"}
    target_of(kind)


def test_required_rules_come_first() -> None:
    order = [kind.name for kind, _ in _ordered()]
    for kind in all_rules():
        for name in kind.requires:
            assert order.index(name) < order.index(kind.name)
