"""`archscope check`."""

from __future__ import annotations

import io
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.cli.conftest import ADAPTER, Cli

Write = Callable[..., Path]
BROKEN = '{"model_type": "llama", "architectures": ["LlamaForCausalLM"],}'
on_unix = pytest.mark.skipif(sys.platform == "win32", reason="needs the special files of Unix")


def test_a_clean_file(cli: Cli, write: Write) -> None:
    path = write("config.json")
    result = cli("check", path)
    assert result == (0, "no findings in 1 file (structure exact)\n", "")
    assert cli("check", path, "--quiet") == (0, "", "")


def test_a_finding(cli: Cli, write: Write) -> None:
    path = write("config.json", num_key_value_heads=3)
    status, out, err = cli("check", path)
    assert (status, err) == (1, "")
    first, *_, last = out.splitlines()
    assert first.startswith(f"{path}:11:26: error[indivisible-kv-heads] ")
    assert last == "1 finding: 1 error, 0 warnings, 0 info in 1 file (structure exact)"
    assert cli("check", path, "-q").out == out.rpartition("\n\n")[0] + "\n"


@pytest.mark.parametrize(
    ("fail_on", "statuses"),
    [("error", (1, 0, 0)), ("warning", (1, 1, 0)), ("info", (1, 1, 1)), ("never", (0, 0, 0))],
)
def test_fail_on_sets_the_least_severity(cli: Cli, write: Write, fail_on: str, statuses: tuple[int, ...]) -> None:
    error = write("error/config.json", num_key_value_heads=3)
    warning = write("warning/config.json", attention_bais=True)
    info = write("info/config.json", intermediate_size=256)
    for path, status, word in zip((error, warning, info), statuses, ("error", "warning", "info"), strict=True):
        result = cli("check", path, "--fail-on", fail_on)
        assert f" {word}[" in result.out
        assert result.status == status


def test_select_and_ignore(cli: Cli, write: Write) -> None:
    path = write("config.json", num_key_value_heads=3, attention_bais=True)

    def rules(*arguments: str) -> set[str]:
        report = json.loads(cli("check", path, "--format", "json", *arguments).out)
        return {diagnostic["rule"] for diagnostic in report["diagnostics"]}

    both = {"indivisible-kv-heads", "unknown-field"}
    assert rules() == both
    assert rules("--select", "unknown-field") == {"unknown-field"}
    assert rules("--select", "unknown-field,indivisible-kv-heads") == both
    assert rules("--ignore", "unknown-field", "--ignore", "indivisible-kv-heads") == set()
    assert rules("--ignore", "unknown-field@/attention_bais") == {"indivisible-kv-heads"}
    assert rules("--ignore", "unknown-field@/attention_bias") == both
    assert rules("--select", "unknown-field", "--ignore", "unknown-field") == set()
    assert rules("--select", "") == both


@pytest.mark.parametrize("option", ["--select", "--ignore"])
def test_an_unknown_rule_is_refused_with_the_nearest_name(cli: Cli, write: Write, option: str) -> None:
    status, out, err = cli("check", write("config.json"), option, "indivisible-kv-head")
    assert (status, out) == (2, "")
    assert "'indivisible-kv-head'" in err
    assert "did you mean 'indivisible-kv-heads'?" in err


def test_the_source_rooms_diagnostics_are_rules_too(cli: Cli, write: Write) -> None:
    names = ["invalid-json", "duplicate-key", "trailing-comma", "nonfinite-number", "json-comment", "byte-order-mark",
             "wrong-encoding", "too-deep", "file-too-large", "not-an-object", "foreign-file"]  # fmt: skip
    assert cli("check", write("config.json"), "--ignore", ",".join(names)).err == ""


def test_a_folder_is_searched(cli: Cli, write: Write, tmp_path: Path) -> None:
    write("b/config.json", num_key_value_heads=3)
    write("a/deep/config.json")
    write("adapter/config.json", ADAPTER)
    write("app/config.json", '{\n  // settings\n  "port": 80,\n}')
    write("list/config.json", "[1]")
    for hidden in (".git", ".cache/x", "node_modules/x"):
        write(f"{hidden}/config.json", num_key_value_heads=3)
    status, out, err = cli("check", tmp_path, "--format", "json")
    assert (status, err) == (1, "")
    report = json.loads(out)
    found = {os.path.relpath(file["path"], tmp_path): file["status"] for file in report["files"]}
    assert found == {
        os.path.join("a", "deep", "config.json"): "checked",
        os.path.join("adapter", "config.json"): "foreign",
        os.path.join("app", "config.json"): "foreign",
        os.path.join("b", "config.json"): "checked",
        os.path.join("list", "config.json"): "foreign",
    }
    assert {diagnostic["rule"] for diagnostic in report["diagnostics"]} == {"indivisible-kv-heads"}
    assert "2 files (structure: 2 exact), 3 files of another kind" in cli("check", tmp_path).out


def test_what_a_search_cannot_read_is_not_passed_over(cli: Cli, write: Write, tmp_path: Path) -> None:
    write("config.json", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    status, out, _ = cli("check", tmp_path)
    assert status == 1
    assert "git lfs pull" in out


def test_a_foreign_file_that_is_named_gets_a_note(cli: Cli, write: Write) -> None:
    status, out, _ = cli("check", write("adapter_config.json", ADAPTER))
    assert status == 0
    assert "info[foreign-file]" in out


def test_globs(cli: Cli, write: Write, tmp_path: Path) -> None:
    write("a/config.json", num_key_value_heads=3)
    write("b/config.json")
    write("b/adapter_config.json", ADAPTER)
    assert "in 2 files" in cli("check", tmp_path / "*" / "config.json").out
    assert "in 2 files" in cli("check", tmp_path / "**" / "*.json").out
    assert "in 2 files" in cli("check", tmp_path / "*").out
    status, out, err = cli("check", tmp_path / "*.yaml")
    assert (status, out) == (2, "")
    assert "no file matches" in err


def test_a_file_is_checked_once(cli: Cli, write: Write, tmp_path: Path) -> None:
    path = write("config.json")
    assert "in 1 file " in cli("check", path, tmp_path, tmp_path / "." / "config.json").out


def test_a_path_alone_is_checked(cli: Cli, write: Write, tmp_path: Path) -> None:
    path = write("config.json", num_key_value_heads=3)
    assert cli(path) == cli("check", path)
    assert cli(tmp_path, "--quiet").status == 1


def test_missing_paths_do_not_keep_others_from_being_checked(cli: Cli, write: Write, tmp_path: Path) -> None:
    status, out, err = cli(
        "check", tmp_path / "none.json", write("config.json", num_key_value_heads=3), tmp_path / "none"
    )
    assert status == 2
    assert "indivisible-kv-heads" in out
    assert [line.rpartition(os.sep)[2] for line in err.splitlines()] == [
        "none.json does not exist",
        "none does not exist",
    ]


@pytest.mark.parametrize("arguments", [(), ("--format", "json")])
def test_no_input_is_no_success(cli: Cli, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    (tmp_path / "empty").mkdir()
    status, _, err = cli("check", tmp_path / "empty", *arguments)
    assert status == 2
    assert "there is no config.json in" in err
    assert cli("check", *arguments).status == 2


def stdin(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_standard_input(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin(monkeypatch, BROKEN.encode())
    status, out, _ = cli("check", "-")
    assert status == 1
    assert out.startswith("<stdin>:1:62: error[trailing-comma]")
    stdin(monkeypatch, BROKEN.encode())
    assert cli("check", "-", "--stdin-filename", "a/config.json").out.startswith("a/config.json:1:62: ")
    stdin(monkeypatch, b" " * (17 * 1024 * 1024))
    status, _, err = cli("check", "-")
    assert status == 2
    assert "larger than 16 MiB" in err


def test_formats(cli: Cli, write: Write, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write("config.json", num_key_value_heads=3)
    schema = json.loads((root / "schemas" / "report.schema.json").read_text(encoding="utf-8"))
    report = json.loads(cli("check", path, "--format", "json").out)
    jsonschema.validate(report, schema, cls=jsonschema.Draft202012Validator)
    assert report["summary"] == {"files": 1, "errors": 1, "warnings": 0, "infos": 0}
    assert cli("check", path, "--format", "github").out.startswith("::error file=")
    monkeypatch.setenv("ARCHSCOPE_OUTPUT_FORMAT", "github")
    assert cli("check", path).out.startswith("::error file=")
    assert json.loads(cli("check", path, "--format", "json").out) == report
    monkeypatch.setenv("ARCHSCOPE_OUTPUT_FORMAT", "yaml")
    assert cli("check", path).status == 2


def test_colours(cli: Cli, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write("config.json", num_key_value_heads=3)
    assert "\x1b[" not in cli("check", path).out
    assert "\x1b[" in cli("check", path, "--color", "always").out
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert "\x1b[" in cli("check", path).out
    assert "\x1b[" not in cli("check", path, "--color", "never").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in cli("check", path).out
    assert "\x1b[" in cli("check", path, "--color", "always").out


def test_output_goes_to_a_file_as_a_whole(cli: Cli, write: Write, tmp_path: Path) -> None:
    path = write("config.json", num_key_value_heads=3)
    wanted = cli("check", path).out
    out = tmp_path / "report.txt"
    out.write_text("old")
    out.chmod(0o640)
    assert cli("check", path, "-o", out) == (1, "", "")
    assert out.read_text(encoding="utf-8") == wanted
    if sys.platform != "win32":
        assert out.stat().st_mode & 0o777 == 0o640
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["config.json", "report.txt"]


def test_output_never_replaces_the_input(cli: Cli, write: Write) -> None:
    path = write("config.json")
    before = path.read_bytes()
    status, _, err = cli("check", path, "-o", path)
    assert status == 2
    assert "is the file that was read" in err
    assert path.read_bytes() == before


def test_output_that_cannot_be_written(cli: Cli, write: Write, tmp_path: Path) -> None:
    path = write("config.json")
    for target in (tmp_path / "none" / "report.txt", tmp_path):
        status, out, err = cli("check", path, "-o", target)
        assert (status, out) == (2, "")
        assert "cannot be written" in err
    assert [entry.name for entry in tmp_path.iterdir()] == ["config.json"]


def test_tensor_parallel_is_a_positive_number(cli: Cli, write: Write) -> None:
    path = write("config.json")
    assert cli("check", path, "--tensor-parallel", "2").status == 0
    assert cli("check", path, "--tensor-parallel", "0").status == 2


def test_targets_are_readers_to_satisfy(cli: Cli, write: Write) -> None:
    path = write("config.json", rope_parameters={"rope_type": "default", "rope_theta": 5e5})
    assert cli("check", path).out.startswith("no findings")
    result = cli("check", path, "--target", "vllm,transformers<5")
    assert (result.status, "rope-parameters-for-old-reader" in result.out) == (0, True)


def deep(opening: str) -> bytes:
    return (opening * 10_000).encode()


BAD: dict[str, Any] = {
    "empty": b"",
    "blank": b" \n\t ",
    "binary": bytes(range(256)) * 100,
    "pickle": b"\x80\x04\x95" + b"\x00" * 100,
    "large": b"{" + b" " * 50_000_000 + b"}",
    "deep-lists": deep("["),
    "deep-objects": deep('{"a":'),
    "list": b"[1, 2]",
    "string": b'"llama"',
    "null": b"null",
    "not-a-number": b'{"model_type": "llama", "rms_norm_eps": NaN, "rope_theta": -Infinity}',
    "huge-number": b'{"model_type": "llama", "hidden_size": 1' + b"0" * 400 + b"}",
    "overlong-number": b'{"model_type": "llama", "hidden_size": 1' + b"0" * 6000 + b"}",
    "billion-layers": b'{"model_type": "llama", "num_hidden_layers": 1000000000}',
    "negative": b'{"model_type": "llama", "hidden_size": -4096, "num_attention_heads": -1}',
    "zeros": b'{"model_type": "llama", "hidden_size": 0, "num_attention_heads": 0, "num_key_value_heads": 0}',
    "wrong-types": b'{"model_type": ["llama"], "architectures": "x", "hidden_size": {}, "num_hidden_layers": "two"}',
    "byte-order-mark": b"\xef\xbb\xbf" + b'{"model_type": "llama"}',
    "utf-16": '{"model_type": "llama"}'.encode("utf-16"),
    "utf-32": '{"model_type": "llama"}'.encode("utf-32"),
    "broken-utf-8": b'{"model_type": "llama", "name": "\xff\xfe"}',
    "half-a-pair": b'{"model_type": "llama", "\\ud800": "\\udfff"}',
    "control": b'{"model_type": "llama", "name": "\x1b[31m\x00"}',
    "hostile-name": '{"model_type": "llama\u202e\x1b]0;x\x07", "architectures": ["::error::x%0A"]}'.encode(),
}
CLEAN = {"billion-layers", "half-a-pair"}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("format_", ["text", "json", "github"])
def test_bad_input_ends_well(cli: Cli, write: Write, tmp_path: Path, name: str, format_: str) -> None:
    path = write("config.json", BAD[name])
    start = time.monotonic()
    status, out, err = cli("check", path, "--format", format_, "--fail-on", "warning")
    assert time.monotonic() - start < 20
    assert status in ((0, 1) if name in CLEAN else (1,)), err
    assert "Traceback" not in out + err
    assert "internal" not in out + err
    assert not set(out) & set(map(chr, (*range(9), *range(11, 32), 127, 0x202E)))
    if status == 1:
        assert out
    if format_ == "json":
        json.loads(out)
    assert [entry.name for entry in tmp_path.iterdir()] == ["config.json"]


@on_unix
@pytest.mark.parametrize("kind", ["pipe", "missing", "device", "folder", "loop"])
def test_what_is_no_file_ends_well(cli: Cli, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "config.json"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "loop":
        path.symlink_to(path)
    status, out, err = cli("check", "/dev/zero" if kind == "device" else path)
    assert (status, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert err.startswith("error: ")
    if kind in ("pipe", "loop"):
        assert cli("check", tmp_path).status == 2


def test_a_crash_on_one_file_is_told_and_does_not_stop_the_others(
    cli: Cli, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    from archscope.engine import Model

    healthy = Model.check

    def check(self: Model, tensor_parallel: int | None = None, targets: tuple[str, ...] = ()) -> Any:
        if "bad" in self.document.name:
            raise ZeroDivisionError("by \x1b zero")
        return healthy(self, tensor_parallel, targets)

    monkeypatch.setattr(Model, "check", check)
    bad, good = write("bad/config.json"), write("good/config.json", num_key_value_heads=3)
    status, out, err = cli("check", bad, good)
    assert status == 3
    assert "indivisible-kv-heads" in out
    assert "ZeroDivisionError: by \\x1b zero" in err
    assert "report it" in err
    assert "Traceback" not in err
    monkeypatch.setenv("ARCHSCOPE_DEBUG", "1")
    assert "Traceback" in cli("check", bad).err
    report = json.loads(cli("check", bad, "--format", "json").out)
    assert report["files"][0]["status"] == "failed"


def test_an_internal_error_of_a_rule_is_never_silenced(cli: Cli, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    from archscope.diagnostics import Diagnostic, Place, Severity
    from archscope.engine import Model

    broken = Diagnostic("internal-error", Severity.ERROR, "rule x failed", Place("config.json"))
    monkeypatch.setattr(Model, "check", lambda *_: (broken,))
    status, out, _ = cli("check", write("config.json"), "--select", "unknown-field", "--fail-on", "never")
    assert status == 3
    assert "internal-error" in out
