"""The report for people."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from archscope.diagnostics import Diagnostic, Place, Severity
from archscope.report import Checked, Report, text
from archscope.report.escape import width
from archscope.source import document_of_text, document_of_value

CONFIG = """{
  "model_type": "llama",
  "hidden_size": 4096,
  "num_attention_heads": 32,
  "num_key_value_heads": 7,
  "rope_scaling": {
    "type": "yarn"
  }
}
"""


def report_on(config: str, *findings: Diagnostic, name: str = "config.json") -> Report:
    document = document_of_text(name, config)
    return Report([*document.problems, *findings], [Checked(name, "checked", "exact")], {name: document})


def finding(place: Place, *related: Place, message: str = "it does not fit", help: str = "") -> Diagnostic:
    return Diagnostic("some-rule", Severity.ERROR, message, place, related, help)


def frame(report: Report) -> list[str]:
    """The lines of a report with one finding, without head line and summary."""
    return text.write(report, summary=False).rstrip("\n").split("\n")[1:]


def caret_text(source_line: str, caret_line: str) -> str:
    """The characters of the source line above the caret."""
    start = caret_line.index("^")
    end = caret_line.rindex("^") + 1
    columns, out = 0, ""
    for char in source_line:
        if start <= columns < end:
            out += char
        columns += width(char)
    return out


def test_the_whole_report(snapshot: Callable[[str, str], None]) -> None:
    document = document_of_text("models/a/config.json", CONFIG)
    heads, kv_heads = ("num_attention_heads",), ("num_key_value_heads",)
    findings = [
        Diagnostic("indivisible-kv-heads", Severity.ERROR, "32 query heads do not divide into 7 key/value heads",
                   document.place(kv_heads), (document.place(heads, note="query heads"),),
                   help="write a divisor of 32: 1, 2, 4, 8, 16 or 32"),
        Diagnostic("missing-rope-key", Severity.WARNING, "yarn needs factor",
                   document.place(("rope_scaling", "factor")),
                   (document.place(("head_dim",), note="head_dim is not in the file: derived 128"),
                    Place("models/a/generation_config.json", "/eos_token_id", note="set here"),)),
        Diagnostic("gated-ffn", Severity.INFO, "worth knowing", document.place(("rope_scaling",))),
        Diagnostic("file-too-large", Severity.ERROR, "the file is too large", Place("models/b/config.json")),
        Diagnostic("wrong-type", Severity.ERROR, "no text here", Place("<dict>", "/a/b"), help="write a number"),
    ]  # fmt: skip
    files = [Checked("models/a/config.json", "checked", "exact"), Checked("models/b/config.json", "checked"),
             Checked("models/c/config.json", "foreign")]  # fmt: skip
    snapshot(text.write(Report(findings, files, {document.name: document})), "report.txt")


def test_nothing_to_say() -> None:
    files = [Checked("a", "checked", "exact"), Checked("b", "checked", "inferred"), Checked("c", "foreign")]
    report = Report([], files, {})
    assert text.write(report, summary=False) == ""
    assert text.write(report) == "no findings in 2 files (structure: 1 exact, 1 inferred), 1 file of another kind\n"
    assert text.write(Report([], files[:1], {})) == "no findings in 1 file (structure exact)\n"


def test_numbers_of_findings_are_spelled_right() -> None:
    document = document_of_text("x", "{}")
    one = Diagnostic("a-rule", Severity.ERROR, "one", document.place(()))
    two = Diagnostic("a-rule", Severity.WARNING, "two", document.place(()))
    three = Diagnostic("a-rule", Severity.INFO, "three", document.place(()))
    lines = text.write(Report([one, two, three], [Checked("x", "checked", "exact")] * 2, {})).splitlines()
    assert lines[-1] == "3 findings: 1 error, 1 warning, 1 info in 2 files (structure: 2 exact)"


def test_a_related_place_in_another_file_names_it() -> None:
    config = document_of_text("config.json", '{"eos_token_id": 1}')
    other = document_of_text("generation_config.json", '{"eos_token_id": 2}')
    diagnostic = finding(config.place(("eos_token_id",)), other.place(("eos_token_id",), note="2 here"))
    report = Report([diagnostic], [], {config.name: config, other.name: other})
    assert frame(report) == [
        "  |",
        '1 | {"eos_token_id": 1}',
        "  |                  ^",
        " --> generation_config.json:1:18",
        "  |",
        '1 | {"eos_token_id": 2}',
        "  |                  - 2 here",
    ]


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ('{"a": 17}', ("a",)),
        ('\t\t{"a": 17}', ("a",)),
        ('{"日本語のキー": "日本", "a": 17}', ("a",)),
        ('{"e\u0301": 0, "a": 17}', ("a",)),
        ('{"\u202e": 0, "a": 17}', ("a",)),
        ('{"\U0001f600": 0, "a": 17}', ("a",)),
        ('{"x": "' + "y" * 20_000 + '", "a": 17}', ("a",)),
        ('{"a": 17, "x": "' + "y" * 20_000 + '"}', ("a",)),
        ('{"x": "' + "日" * 20_000 + '", "a": 17, "z": "' + "本" * 20_000 + '"}', ("a",)),
    ],
    ids=["plain", "tabs", "wide", "combining", "bidirectional", "emoji", "long-before", "long-after", "long-wide"],
)
def test_the_caret_stands_under_the_value(line: str, path: tuple[str, ...]) -> None:
    document = document_of_text("config.json", line)
    _, source, caret = frame(Report([finding(document.place(path))], [], {document.name: document}))
    assert caret_text(source, caret) == "17"
    assert width(source) <= 4 + text.MAX_WIDTH + 3


def test_a_value_longer_than_the_line_is_underlined_as_far_as_it_shows() -> None:
    document = document_of_text("config.json", '{"a": "' + "y" * 20_000 + '"}')
    _, source, caret = frame(Report([finding(document.place(("a",)))], [], {document.name: document}))
    assert len(source) <= 4 + text.MAX_WIDTH + 3
    assert caret.count("^") <= text.MAX_WIDTH


def test_a_value_of_many_lines_is_underlined_on_its_first() -> None:
    report = report_on(CONFIG, finding(document_of_text("config.json", CONFIG).place(("rope_scaling",))))
    assert frame(report)[1:] == ['6 |   "rope_scaling": {', "  |                   ^"]


def test_a_place_past_the_end_still_has_a_caret() -> None:
    report = report_on('{"a": 1')
    assert frame(report)[-1].endswith("^")
    assert "  | ^" in frame(report_on(""))


def test_colours_only_if_asked_for() -> None:
    report = report_on(CONFIG, finding(document_of_text("config.json", CONFIG).place(("hidden_size",)), help="more"))
    plain, colored = text.write(report), text.write(report, color=True)
    assert "\x1b" not in plain
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == plain
    assert colored != plain


@pytest.mark.parametrize(
    "evil", ["\x1b[2J", "\r", "\x07", "\u202e", "\u2066", "\x9b31m", "\u200b", "\U000e0041", "\x00"]
)
def test_hostile_text_is_shown_not_obeyed(evil: str) -> None:
    document = document_of_value("x", {f"k{evil}": 1})
    name = f"dir{evil}/config.json"
    place = Place(name, f"/k{evil}", note=evil)
    report = Report(
        [Diagnostic("a-rule", Severity.ERROR, f"message{evil}", place, (place,), f"help{evil}")],
        [Checked(name, "checked")],
        {name: document},
    )
    assert evil not in text.write(report)
    source = document_of_text(name, f'{{"k": "{evil}"}}')
    report = Report([finding(source.place(("k",)))], [], {name: source})
    assert evil not in text.write(report)
    assert evil not in text.write(report, color=True).replace("\x1b[0m", "").replace("\x1b[1m", "")


def test_a_message_cannot_forge_another_line() -> None:
    report = Report([finding(Place("x"), message="a\nx: error[forged] b", help="c\nd")], [], {})
    assert len(text.write(report, summary=False).splitlines()) == 2
