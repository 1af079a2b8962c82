"""Settings: where they are found, what they silence, what they refuse."""

from __future__ import annotations

from pathlib import Path

import pytest

from archscope import cli
from archscope.errors import UsageError
from archscope.settings import find, read

BAD = (
    '{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "num_attention_heads": 32, '
    '"num_key_value_heads": 5, "hidden_size": 4096, "num_hidden_layers": 2, "vocab_size": 10}'
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "models" / "a").mkdir(parents=True)
    (tmp_path / "models" / "a" / "config.json").write_text(BAD, encoding="utf-8")
    return tmp_path


def check(project: Path, *options: str) -> int:
    return cli.run(["check", str(project / "models" / "a" / "config.json"), *options])


def settings(project: Path, text: str, name: str = "archscope.toml") -> None:
    (project / name).write_text(text, encoding="utf-8")


def test_nothing_is_silenced_without_settings(project: Path) -> None:
    assert check(project) == 1


@pytest.mark.parametrize(
    "text",
    [
        'ignore = ["indivisible-kv-heads", "token-id-out-of-range"]',
        'ignore = ["indivisible-kv-heads@/num_key_value_heads", "token-id-out-of-range"]',
        '[per-path]\n"models/a" = ["indivisible-kv-heads", "token-id-out-of-range"]',
        '[per-path]\n"models/*" = ["indivisible-kv-heads", "token-id-out-of-range"]',
        'select = ["gated-ffn-four-times"]',
        'fail-on = "never"',
        '[severity]\nindivisible-kv-heads = "info"\ntoken-id-out-of-range = "info"',
    ],
)
def test_settings_silence(project: Path, text: str) -> None:
    settings(project, text)
    assert check(project) == 0
    assert check(project, "--isolated") == 1


@pytest.mark.parametrize(
    "text",
    [
        'ignore = ["indivisible-kv-heads@/num_attention_heads"]',
        '[per-path]\n"other/*" = ["indivisible-kv-heads"]',
    ],
)
def test_settings_for_other_places_do_not(project: Path, text: str) -> None:
    settings(project, text)
    assert check(project) == 1


def test_pyproject_is_read(project: Path) -> None:
    settings(project, "[tool.other]\nx = 1", "pyproject.toml")
    assert find(str(project / "models" / "a" / "config.json")).path == ""
    settings(project, '[tool.archscope]\nfail-on = "never"', "pyproject.toml")
    assert check(project) == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('ignroe = ["x-y"]', "did you mean 'ignore'"),
        ('ignore = ["indivisible-kv-head"]', "did you mean 'indivisible-kv-heads'"),
        ('ignore = "indivisible-kv-heads"', "not a list"),
        ('fail-on = "often"', "not one of"),
        ("tensor-parallel = 0", "not a whole number"),
        ("ignore = [", "not TOML"),
        ('[severity]\nindivisible-kv-heads = "loud"', "not one of"),
        ('ignore = ["indivisible-kv-heads@num_heads"]', "JSON pointer"),
    ],
)
def test_wrong_settings_are_refused(project: Path, text: str, said: str) -> None:
    settings(project, text)
    with pytest.raises(UsageError, match=said):
        read(str(project / "archscope.toml"))
    assert check(project) == 2


def test_unused_suppressions_are_reported_on_request(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings(project, 'ignore = ["indivisible-kv-heads", "softcap-not-positive"]')
    check(project, "--report-unused")
    said = capsys.readouterr().err
    assert "softcap-not-positive silences nothing" in said
    assert "indivisible-kv-heads silences" not in said


def test_check_fix(project: Path) -> None:
    path = project / "models" / "a" / "config.json"
    path.write_text('{"model_type": "llama", "rms_norm_eps": 1}', encoding="utf-8")
    check(project, "--fix")
    assert path.read_text(encoding="utf-8") == '{"model_type": "llama", "rms_norm_eps": 1.0}'
