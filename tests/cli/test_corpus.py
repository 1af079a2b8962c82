"""The command line over every real file of the workshop."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from archscope.source import kind_of, read
from tests.cli.conftest import Cli


@pytest.mark.parametrize("folder", ["configs", "variants", "foreign", "companions"])
def test_no_real_file_breaks_the_program(cli: Cli, shared: Path, folder: str) -> None:
    files = sorted((shared / "corpus" / folder).rglob("*.json"))
    status, out, err = cli("check", *files, "--format", "json")
    assert status in (0, 1)
    assert err == ""
    report = json.loads(out)
    assert [file["path"] for file in report["files"]] == [str(path) for path in files]
    assert {file["status"] for file in report["files"]} <= {"checked", "foreign"}
    assert "internal-error" not in {diagnostic["rule"] for diagnostic in report["diagnostics"]}


@pytest.mark.parametrize("format_", ["text", "github"])
def test_every_finding_on_a_real_file_can_be_written(cli: Cli, shared: Path, format_: str) -> None:
    files = sorted((shared / "corpus" / "configs").glob("*.json"))
    status, out, err = cli("check", *files, "--format", format_)
    assert status in (0, 1)
    assert err == ""
    assert max(map(len, out.splitlines())) < 2000


def test_foreign_files_get_one_clear_note_each(cli: Cli, shared: Path) -> None:
    files = sorted((shared / "corpus" / "foreign").glob("*.json"))
    report = json.loads(cli("check", *files, "--format", "json", "--fail-on", "info").out)
    assert [diagnostic["rule"] for diagnostic in report["diagnostics"]] == ["foreign-file"] * len(files)
    assert {diagnostic["file"] for diagnostic in report["diagnostics"]} == {str(path) for path in files}
    assert {kind_of(read(path)) for path in files} == {"adapter", "diffusers", "original-params", "quantization"}
