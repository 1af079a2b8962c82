"""Everything in the README that a program prints is what it prints: `pytest --update` writes it anew."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from archscope.cli import run

_CONSOLE = re.compile(r"(?<=```console\n)\$ (archscope [^\n]+)\n(.*?)(?=```\n)", re.DOTALL)
_RULES = re.compile(r"(?<=<!-- rules -->\n).*?(?=<!-- /rules -->)", re.DOTALL)
_PYTHON = re.compile(r"```python\n(.*?)```", re.DOTALL)
_LINK = re.compile(r"\]\((?!https?://|#)([^)]+)\)")


@pytest.fixture
def printed(root: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[[str], str]:
    """What a command prints, run at the top of the checkout."""
    monkeypatch.chdir(root)
    monkeypatch.delenv("ARCHSCOPE_OUTPUT_FORMAT", raising=False)

    def call(command: str) -> str:
        capfd.readouterr()
        assert run(shlex.split(command)[1:]) in (0, 1)
        out, err = capfd.readouterr()
        assert err == ""
        return out

    return call


def test_the_readme_shows_what_is_printed(
    root: Path, printed: Callable[[str], str], request: pytest.FixtureRequest
) -> None:
    path = root / "README.md"
    written = path.read_text(encoding="utf-8")
    fresh, blocks = _CONSOLE.subn(lambda match: f"$ {match[1]}\n{printed(match[1])}", written)
    fresh, tables = _RULES.subn(lambda _: "\n" + printed("archscope rules --format markdown") + "\n", fresh)
    assert blocks >= 2
    assert tables == 1
    if request.config.getoption("--update"):
        path.write_text(fresh, encoding="utf-8", newline="\n")
    elif fresh != written:
        difference = difflib.unified_diff(written.splitlines(), fresh.splitlines(), "README", "now", lineterm="")
        pytest.fail("\n".join(difference))


def test_the_python_in_the_readme_runs(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(root)
    (program,) = _PYTHON.findall((root / "README.md").read_text(encoding="utf-8"))
    exec(compile(program, "README.md", "exec"), {})
    assert capsys.readouterr().out.endswith("exact 671026404352\n")


@pytest.mark.parametrize("sample", ["llama-3.1-8b", "deepseek-v3", "gemma-3-27b"])
def test_the_pictures_are_what_is_drawn(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, sample: str
) -> None:
    monkeypatch.chdir(root)
    kept = root / "samples" / sample / "model.svg"
    fresh = tmp_path / "model.svg"
    assert run(["draw", f"samples/{sample}", "-o", str(fresh)]) == 0
    if request.config.getoption("--update"):
        kept.write_bytes(fresh.read_bytes())
    assert fresh.read_bytes() == kept.read_bytes(), "the picture is out of date (pytest --update draws it anew)"


def test_what_the_readme_links_to_exists(root: Path) -> None:
    links = _LINK.findall((root / "README.md").read_text(encoding="utf-8"))
    assert links
    assert [link for link in links if not (root / link).exists()] == []
