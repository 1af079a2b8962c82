"""From bytes to characters, from offsets to lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archscope.source import Document, SourceText, Span, document_of_bytes, document_of_text, path_of, pointer

CONFIG = '{"model_type": "llama", "name": "größe"}'


def read(data: bytes) -> Document:
    return document_of_bytes("config.json", data)


@pytest.mark.parametrize(
    ("text", "offset", "position"),
    [
        ("", 0, (1, 1)),
        ("ab", 2, (1, 3)),
        ("a\nb", 2, (2, 1)),
        ("a\r\nb", 3, (2, 1)),
        ("a\rb", 2, (2, 1)),
        ("a\n\nb", 2, (2, 1)),
        ("\ufeffab", 1, (1, 1)),
        ("\ufeffab", 0, (1, 1)),
        ("\U0001f600b", 1, (1, 2)),
    ],
)
def test_offsets_become_lines_and_columns(text: str, offset: int, position: tuple[int, int]) -> None:
    assert SourceText("x", text).position(offset) == position


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_come_without_their_ends(end: str) -> None:
    source = SourceText("x", end.join(["one", "", "three"]))
    assert [source.line(number) for number in range(5)] == ["", "one", "", "three", ""]


@given(st.text(alphabet="ab\n\r"), st.data())
def test_a_position_leads_back_to_its_character(text: str, data: st.DataObject) -> None:
    offset = data.draw(st.integers(0, len(text)))
    source = SourceText("x", text)
    line, column = source.position(offset)
    assert source.line_starts[line - 1] + column - 1 == offset


def test_a_span_over_lines_ends_on_the_last_one() -> None:
    place = SourceText("x", '{\n  "a": 1\n}').place(Span(0, 12))
    assert (place.line, place.column, place.end_line, place.end_column) == (1, 1, 3, 2)


def test_plain_utf8_is_silent() -> None:
    assert read(CONFIG.encode()).problems == ()


def test_a_byte_order_mark_can_be_removed() -> None:
    document = read(b"\xef\xbb\xbf" + CONFIG.encode())
    (problem,) = document.problems
    assert (problem.rule, problem.line, problem.column) == ("byte-order-mark", 1, 1)
    assert problem.fixes[0].safe
    assert document.value == {"model_type": "llama", "name": "größe"}
    assert document.place(("model_type",)).column == 16


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"])
def test_wide_encodings_are_read_and_named(encoding: str) -> None:
    document = read(CONFIG.encode(encoding))
    assert [problem.rule for problem in document.problems] == ["wrong-encoding"]
    assert encoding[:6].upper() in document.problems[0].message
    assert document.value == {"model_type": "llama", "name": "größe"}


def test_a_broken_byte_is_located() -> None:
    document = read('{\n  "a": "größe"\n}'.encode("latin-1"))
    (problem,) = document.problems
    assert (problem.rule, problem.line, problem.column) == ("wrong-encoding", 2, 11)
    assert document.value == {"a": "gr\ufffd\ufffde"}


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x04\x95\x00\x00\x00",
        b"PK\x03\x04\x14\x00\x00\x00\x08",
        b"\x08\x00\x00\x00\x00\x00\x00\x00{}",
        b"\x00" * 4096,
    ],
    ids=["pickle", "zip", "safetensors", "zeros"],
)
def test_binary_data_is_one_problem(data: bytes) -> None:
    document = read(data)
    assert [problem.rule for problem in document.problems] == ["wrong-encoding"]
    assert document.value is None


def test_a_git_lfs_pointer_is_told_apart() -> None:
    document = read(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    assert [problem.rule for problem in document.problems] == ["invalid-json"]
    assert "git lfs pull" in document.problems[0].help


@pytest.mark.parametrize("text", ["\ud800", '{"a": "\ud800"}'])
def test_text_with_lone_surrogates_can_be_written_again(text: str) -> None:
    document = document_of_text("x", text)
    assert document.text is not None
    document.text.text.encode("utf-8")


@given(st.lists(st.text() | st.integers(0, 10**30)))
def test_pointers_lead_back_to_their_path(steps: list[str | int]) -> None:
    path = tuple(steps)
    assert [str(step) for step in path_of(pointer(path))] == [str(step) for step in path]


def test_pointers_escape_as_rfc_6901_says() -> None:
    assert pointer(("a/b", "m~n", 0, "")) == "/a~1b/m~0n/0/"
    assert path_of("/a~1b/m~01/0/") == ("a/b", "m~1", 0, "")
    with pytest.raises(ValueError, match="RFC 6901"):
        path_of("a")
