"""Fixes: what they mend, and what they leave alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from archscope.diagnostics import Edit
from archscope.engine import load
from archscope.errors import InputError
from archscope.fixing import apply, fix, write
from archscope.source import Repository, document_of_bytes

ROOT = Path(__file__).resolve().parents[1]
CORPUS = ROOT.parent / "shared" / "corpus"


def fixed_text(text: str, *, unsafe: bool = False) -> str:
    made = fix(Repository.of_document(document_of_bytes("config.json", text.encode())), unsafe=unsafe)
    return made.after.get("config.json", text)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"model_type": "llama", "rms_norm_eps": 1}', '{"model_type": "llama", "rms_norm_eps": 1.0}'),
        ('{"model_type": "llama",\r\n\t"head_dim": 128.0}', '{"model_type": "llama",\r\n\t"head_dim": 128}'),
        ('\ufeff{"model_type": "llama", }', '{"model_type": "llama" }'),
        (
            '{"model_type": "llama", "rope_scaling": {"type": "linear", "factor": 2.0}}',
            '{"model_type": "llama", "rope_scaling": {"rope_type": "linear", "factor": 2.0}}',
        ),
    ],
)
def test_safe_fixes(before: str, after: str) -> None:
    assert fixed_text(before) == after
    assert fixed_text(after) == after


def test_guesses_are_only_applied_when_asked_for() -> None:
    text = '{"model_type": "llama", "num_hiden_layers": 2, "hidden_size": 64}'
    assert fixed_text(text) == text
    assert '"num_hidden_layers": 2' in fixed_text(text, unsafe=True)


def test_edits_are_made_from_the_end() -> None:
    assert apply("abcdef", [Edit("f", 0, 1, "xx"), Edit("f", 4, 5, "")]) == "xxbcdf"


def test_files_are_written_whole_and_other_bytes_kept(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(b'{\r\n   "model_type" :"llama",\r\n "rms_norm_eps":1 }\r\n\r\n')
    path.chmod(0o640)
    write(fix(Repository.open(path)))
    assert path.read_bytes() == b'{\r\n   "model_type" :"llama",\r\n "rms_norm_eps":1.0 }\r\n\r\n'
    assert path.stat().st_mode & 0o777 == 0o640
    assert [one.name for one in tmp_path.iterdir()] == ["config.json"]


def test_a_file_in_another_encoding_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    data = '{"model_type": "llama", "rms_norm_eps": 1}'.encode("utf-16")
    path.write_bytes(data)
    made = fix(Repository.open(path))
    write(made)
    assert path.read_bytes() == data
    assert made.left_alone == (str(path),)


def test_a_file_that_changed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text('{"model_type": "llama", "rms_norm_eps": 1}', encoding="utf-8")
    made = fix(Repository.open(path))
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match="has changed"):
        write(made)
    assert path.read_text(encoding="utf-8") == "{}"


@pytest.mark.skipif(not CORPUS.exists(), reason="the corpus of real files is not here")
def test_over_the_corpus() -> None:
    """Fixing twice changes nothing more, and adds no diagnostic."""
    files = sorted((CORPUS / "configs").glob("*.json"))
    assert len(files) > 500
    touched = 0
    for path in files:
        made = fix(Repository.open(path))
        if not made.changed:
            continue
        touched += 1
        text = made.after[str(path)]
        document = document_of_bytes(str(path), text.encode())
        again = fix(Repository.of_document(document))
        assert not again.changed, path
        before, after = load(path).check(), load(Repository.of_document(document)).check()
        assert len(after) < len(before), path
        assert {(d.rule, d.pointer) for d in after if d.rule not in {b.rule for b in before}} == set(), path
        if not {d.rule for d in before} & {"invalid-json", "trailing-comma", "json-comment"}:
            assert _numbers(json.loads(text)) == _numbers(json.loads(path.read_text(encoding="utf-8"))), path
    assert touched > 10


def _numbers(value: object) -> object:
    """A value with keys of one meaning made one, so that only a change of meaning shows."""
    if isinstance(value, dict):
        return {("rope_type" if key == "type" else key): _numbers(item) for key, item in value.items()}
    if value == "su":
        return "longrope"
    return [_numbers(item) for item in value] if isinstance(value, list) else value
