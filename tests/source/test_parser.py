"""The located parser: what it reads, what it refuses, where it points."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archscope.diagnostics import Diagnostic, Severity
from archscope.source import Document, SourceText, document_of_text, parse
from archscope.source.careful import locate
from archscope.source.limits import MAX_DEPTH, MAX_PROBLEMS, MAX_VALUES

# Problems that Python's json has no objection to.
_ACCEPTED = {"duplicate-key", "nonfinite-number"}


def read(text: str) -> Document:
    return document_of_text("config.json", text)


def said(document: Document) -> list[tuple[str, int | None, int | None]]:
    return [(problem.rule, problem.line, problem.column) for problem in document.problems]


def underlined(document: Document, problem: Diagnostic) -> str:
    """The text under the caret."""
    assert document.text is not None
    place = problem.place
    assert None not in (place.line, place.column, place.end_line, place.end_column)
    line = document.text.line(place.line or 0)
    assert place.end_line == place.line
    return line[(place.column or 0) - 1 : (place.end_column or 0) - 1]


def fixed(document: Document) -> str:
    """The text after all its fixes, whether safe or not."""
    assert document.text is not None
    text = document.text.text
    edits = sorted(edit for problem in document.problems for fix in problem.fixes for edit in
                   ((edit.start, edit.end, edit.text) for edit in fix.edits))  # fmt: skip
    for start, end, new in reversed(edits):
        text = text[:start] + new + text[end:]
    return text


BROKEN: list[tuple[str, Any, list[tuple[str, str]]]] = [
    ("", None, [("invalid-json", "")]),
    ("  \n ", None, [("invalid-json", "")]),
    ('{"a": 1,}', {"a": 1}, [("trailing-comma", ",")]),
    ("[1, 2,]", [1, 2], [("trailing-comma", ",")]),
    ('{"a": 1 "b": 2}', {"a": 1, "b": 2}, [("invalid-json", "1")]),
    ('{"a": [1 2]}', {"a": [1, 2]}, [("invalid-json", "1")]),
    ('{"a": 1; "b": 2}', {"a": 1, "b": 2}, [("invalid-json", ";")]),
    ('{"a" 1}', {"a": 1}, [("invalid-json", '"a"')]),
    ('{"a" = 1}', {"a": 1}, [("invalid-json", "=")]),
    ('{"a": , "b": 2}', {"b": 2}, [("invalid-json", '"a"')]),
    ('{"a", "b": 2}', {"b": 2}, [("invalid-json", '"a"')]),
    ('{"a":}', {}, [("invalid-json", '"a"')]),
    ('{"a": 1,, "b": 2}', {"a": 1, "b": 2}, [("invalid-json", ",")]),
    ("[1,,2]", [1, 2], [("invalid-json", ",")]),
    ('{a: 1}', {"a": 1}, [("invalid-json", "a")]),
    ('{1: 2}', {"1": 2}, [("invalid-json", "1")]),
    ('{"a": silu}', {"a": "silu"}, [("invalid-json", "silu")]),
    ("{'a': 'b'}", {"a": "b"}, [("invalid-json", "'a'"), ("invalid-json", "'b'")]),
    ("{“a”: 1}", {"a": 1}, [("invalid-json", "“a”")]),
    ('{"a": True, "b": False, "c": None}', {"a": True, "b": False, "c": None},
     [("invalid-json", "True"), ("invalid-json", "False"), ("invalid-json", "None")]),
    ('{"a": NaN}', {"a": math.nan}, [("nonfinite-number", "NaN")]),
    ('{"a": -Infinity}', {"a": -math.inf}, [("nonfinite-number", "-Infinity")]),
    ('{"a": 1e400}', {"a": math.inf}, [("nonfinite-number", "1e400")]),
    ('{"a": inf}', {"a": math.inf}, [("invalid-json", "inf")]),
    ('{"a": 007}', {"a": 7}, [("invalid-json", "007")]),
    ('{"a": 0x1F}', {"a": 31}, [("invalid-json", "0x1F")]),
    ('{"a": 1_000}', {"a": 1000}, [("invalid-json", "1_000")]),
    ('{"a": +1}', {"a": 1}, [("invalid-json", "+1")]),
    ('{"a": .5}', {"a": 0.5}, [("invalid-json", ".5")]),
    ('{"a": 1.}', {"a": 1.0}, [("invalid-json", "1.")]),
    ('{"a": 1, // why\n"b": 2}', {"a": 1, "b": 2}, [("json-comment", "// why")]),
    ('{"a": 1, # why\n"b": 2}', {"a": 1, "b": 2}, [("json-comment", "# why")]),
    ('{"a": /* why */ 1}', {"a": 1}, [("json-comment", "/* why */")]),
    ('{"a": 1} /* open', {"a": 1}, [("json-comment", "/* open")]),
    ('{"a": "tab\there"}', {"a": "tab\there"}, [("invalid-json", "\t")]),
    (r'{"a": "\d"}', {"a": r"\d"}, [("invalid-json", r"\d")]),
    ('{"a": "open,\n"b": 2}', {"a": "open", "b": 2}, [("invalid-json", '"open')]),
    ('{"a": "open', {"a": "open"}, [("invalid-json", '"open'), ("invalid-json", "")]),
    ('{"a": {"b": 1', {"a": {"b": 1}}, [("invalid-json", "")]),
    ('{"a": [1, 2}', {"a": [1, 2]}, [("invalid-json", "}")]),
    ('{"a": [1, 2}, "b": 3}', {"a": [1, 2]}, [("invalid-json", "}"), ("invalid-json", ",")]),
    ('{"a": 1]}', {"a": 1}, [("invalid-json", "]")]),
    ('{"a": 1} {"b": 2}', {"a": 1}, [("invalid-json", "{")]),
    ("<!DOCTYPE html>", None, [("invalid-json", "<!DOCTYPE")]),
    ("model_type: llama\nhidden_size: 1", None, [("invalid-json", "model_type")]),
    ("{\xa0\"a\": 1}", {"a": 1}, [("invalid-json", "\xa0")]),
    ('{"a": 1, "a": 1}', {"a": 1}, [("duplicate-key", '"a"')]),
    ('{"a": 1, "a": 2}', {"a": 2}, [("duplicate-key", '"a"')]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "value", "problems"), BROKEN, ids=[repr(text) for text, _, _ in BROKEN])
def test_broken_text_is_read_as_far_as_it_goes(text: str, value: Any, problems: list[tuple[str, str]]) -> None:
    document = read(text)
    assert [(problem.rule, underlined(document, problem)) for problem in document.problems] == problems
    assert repr(document.value) == repr(value)


FIXABLE = [(text, value) for text, value, _ in BROKEN if any(problem.fixes for problem in read(text).problems)]


@pytest.mark.parametrize(("text", "value"), FIXABLE, ids=repr)
def test_fixes_lead_to_less_trouble_and_to_the_same_value(text: str, value: Any) -> None:
    assert len(FIXABLE) >= 13
    document = read(text)
    after = read(fixed(document))
    assert len(after.problems) < len(document.problems)
    assert repr(after.value) == repr(value)


def test_one_fix_per_kind_makes_plain_json() -> None:
    text = "\ufeff{'a': True, // why\n \"b\": [1 2,],}\n"
    document = read(text)
    assert {problem.rule for problem in document.problems} == {
        "byte-order-mark", "invalid-json", "json-comment", "trailing-comma",
    }  # fmt: skip
    assert json.loads(fixed(document)) == {"a": True, "b": [1, 2]}


def test_a_repeated_key_names_both_places() -> None:
    document = read('{\n  "a": 1,\n  "b": {"a": 3},\n  "a": 2\n}')
    (problem,) = document.problems
    assert (problem.severity, problem.pointer, problem.line, problem.column) == (Severity.ERROR, "/a", 4, 3)
    assert [(place.line, place.column) for place in problem.related] == [(2, 3)]
    assert document.value == {"a": 2, "b": {"a": 3}}
    assert document.value_span(("a",)) == (36, 37)


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        ('{"a": {"b": [1]}, "a": {"b": [1]}}', Severity.WARNING),
        ('{"a": {"b": [1]}, "a": {"b": [2]}}', Severity.ERROR),
        ('{"a": 1, "a": true}', Severity.ERROR),
        ('{"a": 1, "a": 1.0}', Severity.ERROR),
    ],
)
def test_a_repeated_key_is_an_error_only_if_the_values_differ(text: str, severity: Severity) -> None:
    assert [problem.severity for problem in read(text).problems] == [severity]


def test_many_repeated_keys_are_counted_not_listed() -> None:
    document = read("{" + ",".join('"a": 1' for _ in range(1000)) + "}")
    assert len(document.problems) == MAX_PROBLEMS
    assert "979 more" in document.problems[-1].message


def test_reading_stops_when_the_text_is_hopeless() -> None:
    document = read("{" + "\n".join(f"key{number}: value{number}" for number in range(1000)) + "}")
    assert len(document.problems) == MAX_PROBLEMS
    assert "not read" in document.problems[-1].help


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a":'])
def test_deep_nesting_is_refused(opening: str) -> None:
    for count in (MAX_DEPTH + 1, 10_000, 100_000):
        document = read(opening * count)
        assert [problem.rule for problem in document.problems] == ["too-deep"]


def test_nesting_up_to_the_limit_is_fine() -> None:
    assert read("[" * MAX_DEPTH + "]" * MAX_DEPTH).problems == ()
    assert [one.rule for one in read("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1)).problems] == ["too-deep"]


def test_many_brackets_are_not_depth() -> None:
    assert read(json.dumps({"a": "[" * 500, "b": [[] for _ in range(500)]})).problems == ()


def test_many_values_are_refused() -> None:
    for text in ("[" + "0," * MAX_VALUES + "0]", "[" * 200 + "[]," * MAX_VALUES, '{"a":' * (MAX_VALUES + 1)):
        document = read(text)
        assert [problem.rule for problem in document.problems] == ["file-too-large"]
        assert document.value is None
    assert read("[" + "0," * (MAX_VALUES - 1) + "0]").problems == ()


@pytest.mark.parametrize("text", ['"' + "\\" * 4_000_000, "'" + "\\'" * 4_000_000 + "'", "[" + "'" * 4_000_000])
def test_long_broken_strings_take_no_time(text: str) -> None:
    assert "invalid-json" in {problem.rule for problem in read(text).problems}


def test_numbers_of_any_length_are_bounded() -> None:
    assert read('{"a": ' + "9" * 4000 + "}").value == {"a": int("9" * 4000)}
    document = read('{"a": 1' + "0" * 5000 + ', "b": 2}')
    assert said(document) == [("invalid-json", 1, 7)]
    assert document.value == {"a": None, "b": 2}


@pytest.mark.parametrize("text", ['{"a": "\\ud800"}', '{"\\udc00x": 1}', '{"a": "\\ud83d\\ude00\\ud83d"}'])
def test_half_a_surrogate_pair_becomes_a_replacement_character(text: str) -> None:
    document = read(text)
    assert [(problem.rule, problem.severity) for problem in document.problems] == [("invalid-json", Severity.WARNING)]
    json.dumps(document.value, ensure_ascii=False).encode("utf-8")
    assert "\ufffd" in json.dumps(document.value, ensure_ascii=False)


def test_a_surrogate_pair_is_one_character() -> None:
    document = read('{"a": "\\ud83d\\ude00"}')
    assert document.value == {"a": "😀"}
    assert document.problems == ()


def test_problems_know_the_path_they_are_on() -> None:
    document = read('{"a": [0, {"b/c": [1,, 2], "d": {"e": True}}], "f": {"g": [],}}')
    assert [(problem.rule, problem.pointer) for problem in document.problems] == [
        ("invalid-json", "/a/1/b~1c/1"),
        ("invalid-json", "/a/1/d/e"),
        ("trailing-comma", "/f"),
    ]


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(), children, max_size=4),
    max_leaves=20,
)
# Text near JSON: pieces of it in any order.
PIECES = st.lists(
    st.sampled_from(
        ["{", "}", "[", "]", ",", ":", '"a"', '"b"', "1", "-2.5e3", "true", "null", " ", "\n", "'", '"', "\\", "//",
         "/*", "#", "True", "NaN", "01", "x", "\t", "\x00", "\ufeff", "é", "\\ud800", '"\\u00e9"', "=", "\xa0", "-",
         "1e999"]
    ),
    max_size=30,
).map("".join)  # fmt: skip


@given(JSON_VALUES, st.sampled_from([None, 0, 3]), st.booleans())
def test_json_reads_as_the_standard_library_reads_it(value: Any, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    document = read(text)
    assert document.problems == ()
    assert document.value == json.loads(text)


@given(JSON_VALUES, st.sampled_from([None, 2]))
def test_every_span_holds_its_value(value: Any, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    document = read(text)

    def visit(inner: Any, path: tuple[str | int, ...]) -> None:
        span = document.value_span(path)
        assert span is not None
        assert json.loads(text[slice(*span)]) == inner
        if isinstance(inner, dict):
            for key, child in inner.items():
                key_span = document.key_span((*path, key))
                assert key_span is not None
                assert json.loads(text[slice(*key_span)]) == key
                visit(child, (*path, key))
        elif isinstance(inner, list):
            for index, child in enumerate(inner):
                assert document.key_span((*path, index)) is None
                visit(child, (*path, index))

    visit(json.loads(text), ())


def _refused(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return True
    return False


@given(PIECES | st.text())
def test_a_text_is_an_error_exactly_if_the_standard_library_refuses_it(text: str) -> None:
    document = read(text)
    errors = [one for one in document.problems if one.severity is Severity.ERROR and one.rule not in _ACCEPTED]
    assert bool(errors) == _refused(text)
    if not errors and not document.problems:
        assert repr(document.value) == repr(json.loads(text))


@given(PIECES)
def test_both_ways_of_reading_agree(text: str) -> None:
    source = SourceText("config.json", text)
    quick, careful = parse(source), locate(source)
    assert repr(quick.value) == repr(careful.value)
    assert quick.problems == careful.problems


@given(st.binary() | PIECES.map(lambda text: text.encode("utf-16")) | PIECES.map(lambda text: text.encode("utf-8")[1:]))
def test_any_bytes_end_in_a_document(data: bytes) -> None:
    from archscope.source import document_of_bytes

    document = document_of_bytes("config.json", data)
    for problem in document.problems:
        place = problem.place
        if place.line is not None and document.text is not None:
            assert 1 <= place.line <= len(document.text.line_starts)
            assert place.column is not None
            assert 1 <= place.column <= len(document.text.line(place.line)) + 1
