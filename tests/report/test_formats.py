"""The reports for programs."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from archscope.diagnostics import Diagnostic, Place, Severity
from archscope.report import Checked, Report, as_json, github
from archscope.source import document_of_text

BROKEN = '\ufeff{"a": True, "a": 2, "b/c": [1,],}'


@pytest.fixture(scope="session")
def schema(root: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((root / "schemas" / "report.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(loaded)
    return loaded


def report_on(text: str, name: str = "models/a/config.json") -> Report:
    document = document_of_text(name, text)
    files = [Checked(name, "checked", "exact"), Checked("b", "foreign"), Checked("c", "unreadable", note="gone")]
    return Report(document.problems, files, {name: document})


def test_the_json_report(schema: dict[str, Any], snapshot: Callable[[str, str], None]) -> None:
    text = as_json.write(report_on(BROKEN))
    jsonschema.validate(json.loads(text), schema, cls=jsonschema.Draft202012Validator)
    snapshot(text, "report.json")


def test_the_json_report_of_what_has_no_text(schema: dict[str, Any]) -> None:
    place = Place("<dict>", "/a~1b")
    diagnostic = Diagnostic("a-rule", Severity.INFO, "message", place, (place,))
    data = json.loads(as_json.write(Report([diagnostic], [Checked("<dict>", "checked")], {})))
    jsonschema.validate(data, schema, cls=jsonschema.Draft202012Validator)
    assert data["summary"] == {"files": 1, "errors": 0, "warnings": 0, "infos": 1}
    assert data["diagnostics"][0]["line"] is None


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.pop("version"),
        lambda data: data.update(version=2),
        lambda data: data.update(extra=1),
        lambda data: data["diagnostics"][0].update(severity="fatal"),
        lambda data: data["diagnostics"][0].update(pointer="a"),
        lambda data: data["diagnostics"][0].update(line=0),
        lambda data: data["diagnostics"][0].update(rule="Some Rule"),
        lambda data: data["diagnostics"][0].update(surprise=1),
        lambda data: data["diagnostics"][0]["fixes"][0]["edits"][0].pop("file"),
        lambda data: data["files"][0].update(status="ok"),
    ],
)
def test_the_schema_is_strict(schema: dict[str, Any], change: Callable[[dict[str, Any]], object]) -> None:
    data = as_json.as_dict(report_on(BROKEN))
    jsonschema.validate(data, schema, cls=jsonschema.Draft202012Validator)
    change(data)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, schema, cls=jsonschema.Draft202012Validator)


def test_the_github_report(snapshot: Callable[[str, str], None]) -> None:
    snapshot(github.write(report_on(BROKEN)), "report.github.txt")


def unescape(text: str) -> str:
    for code, char in (("%2C", ","), ("%3A", ":"), ("%0A", "\n"), ("%0D", "\r"), ("%25", "%")):
        text = text.replace(code, char)
    return text


def parse_command(line: str) -> tuple[str, dict[str, str], str]:
    """A workflow command as the runner reads it."""
    head, _, message = line.removeprefix("::").partition("::")
    command, _, properties = head.partition(" ")
    pairs = dict(pair.split("=", 1) for pair in properties.split(","))
    return command, {name: unescape(value) for name, value in pairs.items()}, unescape(message)


@given(st.text(), st.text(), st.text())
def test_nothing_in_a_message_or_name_breaks_out_of_a_workflow_command(name: str, message: str, help: str) -> None:
    place = Place(name, "/a", 3, 5, 3, 9)
    diagnostic = Diagnostic("a-rule", Severity.WARNING, message, place, (Place(name, "/b", 1, 2, note=message),), help)
    (line,) = github.write(Report([diagnostic], [], {})).splitlines()
    command, properties, data = parse_command(line)
    assert command == "warning"
    assert list(properties) == ["file", "line", "col", "endColumn", "title"]
    assert (properties["line"], properties["col"], properties["endColumn"]) == ("3", "5", "9")
    assert properties["title"] == "a-rule"
    assert len(data.split("\n")) >= 2
    for char in line:
        assert unicodedata.category(char) not in ("Cc", "Cs", "Zl", "Zp")
        assert unicodedata.bidirectional(char) not in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")


def test_a_percent_sign_survives_the_way_to_github() -> None:
    diagnostic = Diagnostic("a-rule", Severity.INFO, "100%0A: a, b\nc", Place("a,b:c%.json", "/x", 1, 1, 4, 2))
    command, properties, data = parse_command(github.write(Report([diagnostic], [], {})).rstrip("\n"))
    assert (command, data) == ("notice", "100%0A: a, b\nc")
    assert properties == {"file": "a,b:c%.json", "line": "1", "endLine": "4", "title": "a-rule"}
