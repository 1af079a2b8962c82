"""Documents: values, places, and values that never were text."""

from __future__ import annotations

from typing import Any

import pytest

from archscope.diagnostics import Place
from archscope.source import Document, document_of_text, document_of_value

TEXT = '{\n  "hidden_size": 8,\n  "rope_scaling": {\n    "factor": 2.0,\n    "items": [1, {"x": 2}]\n  }\n}\n'


@pytest.fixture
def document() -> Document:
    return document_of_text("config.json", TEXT)


def position(place: Place) -> tuple[int | None, int | None, int | None, int | None]:
    return place.line, place.column, place.end_line, place.end_column


def test_values_and_keys_have_places(document: Document) -> None:
    assert position(document.place(("hidden_size",))) == (2, 18, 2, 19)
    assert position(document.place(("hidden_size",), key=True)) == (2, 3, 2, 16)
    assert position(document.place(("rope_scaling", "items", 1, "x"))) == (5, 24, 5, 25)
    assert position(document.place(("rope_scaling",))) == (3, 19, 6, 4)
    assert document.place(("rope_scaling", "factor"), note="why") == Place(
        "config.json", "/rope_scaling/factor", 4, 15, 4, 18, "why"
    )


def test_what_is_missing_is_placed_at_its_nearest_parent(document: Document) -> None:
    assert position(document.place(("head_dim",))) == (1, 1, 1, 2)
    assert position(document.place(("rope_scaling", "type"))) == (3, 3, 3, 17)
    assert position(document.place(("rope_scaling", "items", 7, "y"))) == (5, 5, 5, 12)
    assert position(document.place(("hidden_size", "deeper"))) == (2, 3, 2, 16)
    assert document.place(("head_dim",)).pointer == "/head_dim"


@pytest.mark.parametrize("path", [("items",), ("rope_scaling", "items", -1), ("rope_scaling", "items", "x"), (0,)])
def test_absent_paths_have_no_span(document: Document, path: tuple[str | int, ...]) -> None:
    assert document.value_span(path) is None
    assert document.key_span(path) is None


def test_an_index_may_be_written_as_text(document: Document) -> None:
    assert document.value_span(("rope_scaling", "items", "0")) == document.value_span(("rope_scaling", "items", 0))
    keyed = document_of_text("x", '{"id2label": {"0": "a"}}')
    assert keyed.value_span(("id2label", 0)) == keyed.value_span(("id2label", "0")) is not None


def test_a_value_without_text_has_pointers_only() -> None:
    document = document_of_value("<dict>", {"a": {"b": (1, 2)}})
    assert document.value == {"a": {"b": [1, 2]}}
    assert document.place(("a", "b")) == Place("<dict>", "/a/b")
    assert document.problems == ()


def test_values_that_json_cannot_hold_are_reported() -> None:
    document = document_of_value("<dict>", {"dtype": {1, 2}, 3: None, "x": "\ud800"})
    assert [(problem.rule, problem.pointer) for problem in document.problems] == [("invalid-json", "/dtype")]
    assert document.value == {"dtype": "{1, 2}", "3": None, "x": "\ufffd"}


def test_values_that_hold_themselves_end() -> None:
    circle: list[Any] = []
    circle += [circle, circle, circle]
    document = document_of_value("<dict>", {"a": circle})
    assert {problem.rule for problem in document.problems} == {"too-deep"}
    assert len(document.problems) <= 20


def test_only_objects_have_members() -> None:
    assert dict(document_of_text("x", "[1]").mapping) == {}
    assert dict(document_of_text("x", '{"a": 1}').mapping) == {"a": 1}
