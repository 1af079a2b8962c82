"""Running the command line in this process."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from archscope.cli import run

LLAMA = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "vocab_size": 128,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
ADAPTER = {"peft_type": "LORA", "base_model_name_or_path": "a/b", "r": 8}


class Result(NamedTuple):
    """What a command did."""

    status: int
    out: str
    err: str


Cli = Callable[..., Result]


@pytest.fixture
def cli(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Runs one command line."""
    for name in ("ARCHSCOPE_OUTPUT_FORMAT", "ARCHSCOPE_DEBUG", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)

    def call(*arguments: object) -> Result:
        capfd.readouterr()
        status = run([str(argument) for argument in arguments])
        return Result(status, *capfd.readouterr())

    return call


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes a file below the temporary folder."""

    def call(name: str, value: Any = None, /, *, without: Iterable[str] = (), **changes: Any) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(value, bytes):
            path.write_bytes(value)
        elif isinstance(value, str):
            path.write_text(value, encoding="utf-8")
        else:
            config = {**(LLAMA if value is None else value), **changes}
            path.write_text(
                json.dumps({k: v for k, v in config.items() if k not in without}, indent=2), encoding="utf-8"
            )
        return path

    return call
