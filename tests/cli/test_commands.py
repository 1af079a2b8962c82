"""The command line as a whole, and the commands other than check."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import archscope
from archscope.cli.app import app
from tests.cli.conftest import ADAPTER, Cli

Write = Callable[..., Path]
COMMANDS = sorted(app.list_commands(None))  # type: ignore[arg-type]


def test_help_names_every_command(cli: Cli) -> None:
    status, out, err = cli("--help")
    assert (status, err) == (0, "")
    assert all(f"  {name} " in out for name in COMMANDS)
    assert "Exit status: 0 clean, 1 findings, 2 could not run, 3 internal error." in out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_examples(cli: Cli, name: str) -> None:
    status, out, err = cli(name, "--help")
    assert (status, err) == (0, "")
    assert f"\n  Examples:\n    archscope {name}" in out
    assert max(map(len, out.splitlines())) <= 100
    assert cli(name, "-h").out == out


def test_version(cli: Cli) -> None:
    assert cli("--version") == (0, f"archscope {archscope.__version__}\n", "")


def test_no_command_shows_help(cli: Cli) -> None:
    status, out, err = cli()
    assert status == 2
    assert "Usage: archscope" in out + err


def test_an_unknown_command_names_the_nearest(cli: Cli) -> None:
    status, out, err = cli("chekc", "config.json")
    assert (status, out) == (2, "")
    assert "did you mean 'check'?" in err
    assert "the commands are check, " in cli("xyzzy").err


@pytest.mark.parametrize("arguments", [["check", "--nonsense"], ["check", "x", "--format", "yaml"], ["--nonsense"]])
def test_wrong_usage_could_not_run(cli: Cli, arguments: list[str]) -> None:
    status, out, err = cli(*arguments)
    assert (status, out) == (2, "")
    assert "Error: " in err


@pytest.mark.parametrize("name", ["draw", "show", "tensors"])
def test_commands_on_one_model_refuse_what_is_none(cli: Cli, write: Write, tmp_path: Path, name: str) -> None:
    output = tmp_path / "out.svg"
    extra = ["-o", output] if name == "draw" else []
    for path in (write("adapter.json", ADAPTER), write("list.json", "[1]"), write("empty.json", ""), tmp_path / "none"):
        status, out, err = cli(name, path, *extra)
        assert (status, out) == (2, "")
        assert len(err.splitlines()) == 1
        assert str(path) in err
    assert not output.exists()


def test_draw_follows_the_name_of_the_figure(cli: Cli, write: Write, tmp_path: Path) -> None:
    path = write("config.json")
    for name, start in (("a.svg", b"<svg"), ("a.SVG", b"<svg"), ("a.png", b"\x89PNG\r\n\x1a\n"), ("a.dot", b"digraph")):
        out = tmp_path / name
        assert cli("draw", path, "-o", out) == (0, "", "")
        assert out.read_bytes().startswith(start)
    assert cli("draw", path, "-o", tmp_path / "a.txt", "--format", "svg").status == 0
    assert (tmp_path / "a.txt").read_bytes() == (tmp_path / "a.svg").read_bytes()
    assert cli("draw", path, "-o", "-").out == (tmp_path / "a.svg").read_text(encoding="utf-8")


def test_draw_refuses_what_it_cannot_do(cli: Cli, write: Write, tmp_path: Path) -> None:
    path = write("config.json")
    for out in ("a", "a.jpeg", "a.svg.gz"):
        status, _, err = cli("draw", path, "-o", tmp_path / out)
        assert status == 2
        assert "--format" in err
    assert cli("draw", path).status == 2
    status, _, err = cli("draw", path, "-o", path, "--format", "svg")
    assert status == 2
    assert "is the file that was read" in err
    assert [entry.name for entry in tmp_path.iterdir()] == ["config.json"]


def test_show(cli: Cli, write: Write, tmp_path: Path) -> None:
    path = write("config.json")
    status, out, err = cli("show", path, "--width", "72")
    assert (status, err) == (0, "")
    assert "LlamaForCausalLM" in out
    assert max(map(len, out.splitlines())) <= 72
    assert "\x1b[" not in out
    assert "\x1b[" in cli("show", path, "--color", "always").out
    assert cli("show", path, "--width", "72", "-o", tmp_path / "card.txt").out == ""
    assert (tmp_path / "card.txt").read_text(encoding="utf-8") == out
    assert cli("show", path, "--width", "3").status == 2


def test_tensors(cli: Cli, write: Write, tmp_path: Path) -> None:
    path = write("config.json", tie_word_embeddings=False)
    tensors = json.loads(cli("tensors", path, "--format", "json").out)
    assert (tensors["version"], tensors["fidelity"]) == (1, "exact")
    by_name = {tensor["name"]: tensor for tensor in tensors["tensors"]}
    assert len(by_name) == 3 + 2 * 9
    assert by_name["model.layers.1.self_attn.k_proj.weight"]["shape"] == [16, 64]
    head, *rows = cli("tensors", tmp_path, "--format", "tsv").out.splitlines()
    assert head.split("\t") == ["name", "shape", "formula", "dtype"]
    assert [row.split("\t")[0] for row in rows] == list(by_name)
    assert rows[0].split("\t")[1] == "128,64"
    table = cli("tensors", path).out.splitlines()
    assert len(table) == len(rows) + 1
    assert len({line.index("×") for line in table if "k_proj" in line}) == 1


def test_rules_in_every_format(cli: Cli) -> None:
    from archscope.rules import all_rules

    names = [rule.name for rule in all_rules()]
    assert len(names) >= 20
    assert [line.split()[0] for line in cli("rules").out.splitlines()] == names
    listed = json.loads(cli("rules", "--format", "json").out)
    assert [rule["name"] for rule in listed["rules"]] == names
    assert all(rule["summary"] and rule["documentation"] for rule in listed["rules"])
    rows = cli("rules", "--format", "markdown").out.splitlines()[2:]
    assert [row.split("`")[1] for row in rows] == names


def test_every_rule_is_explained(cli: Cli) -> None:
    from archscope.rules import all_rules

    for rule in all_rules():
        status, out, err = cli("explain", rule.name)
        assert (status, err) == (0, "")
        assert out.startswith(f"{rule.name} ({rule.severity})\n\n")
        assert "What it checks" in out


def test_fields_are_explained(cli: Cli) -> None:
    out = cli("explain", "num_key_value_heads").out
    assert out.startswith("num_key_value_heads (field of config.json)\n")
    assert "indivisible-kv-heads" in out
    assert "also written hidden_size: " in cli("explain", "n_embd").out
    assert "another name of n_embd: " in cli("explain", "hidden_size").out
    assert "every model type" in cli("explain", "architectures").out


def test_an_unknown_thing_to_explain_names_the_nearest(cli: Cli) -> None:
    status, out, err = cli("explain", "num_key_value_head")
    assert (status, out) == (2, "")
    assert "'num_key_value_heads'" in err


def subprocess_environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(archscope.__file__).parent.parent), "PYTHONWARNINGS": "error"}


def test_the_module_runs_as_a_program(root: Path) -> None:
    run = subprocess.run([sys.executable, "-m", "archscope", "--version"], capture_output=True, text=True, cwd=root,
                         env=subprocess_environment(), check=True)  # fmt: skip
    assert run.stdout == f"archscope {archscope.__version__}\n"


@pytest.mark.skipif(sys.platform == "win32", reason="pipes of Unix")
@pytest.mark.parametrize("arguments", [["rules"], ["check", "-", "--format", "json"], ["tensors", "-"]])
def test_a_reader_that_leaves_causes_no_complaint(root: Path, arguments: list[str]) -> None:
    """The pipe is closed before anything is written to it."""
    reader, writer = os.pipe()
    os.close(reader)
    config = (root / "samples" / "llama-3.1-8b" / "config.json").read_bytes()
    run = subprocess.run([sys.executable, "-m", "archscope", *arguments], input=config, stdout=writer,
                         stderr=subprocess.PIPE, cwd=root, env=subprocess_environment(), check=False)  # fmt: skip
    os.close(writer)
    assert (run.returncode, run.stderr) == (0, b"")


def test_characters_that_the_terminal_lacks_become_escapes(root: Path) -> None:
    environment = {**subprocess_environment(), "PYTHONIOENCODING": "ascii"}
    run = subprocess.run([sys.executable, "-m", "archscope", "tensors", "samples/bert-base"],
                         capture_output=True, cwd=root, env=environment, check=True)  # fmt: skip
    assert b"\\xd7" in run.stdout
