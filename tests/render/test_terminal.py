"""The card for the terminal."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from archscope.render.terminal import card, card_of
from archscope.report.escape import width
from tests.render.drawings import SAMPLES, TYPES, drawn, sample


@pytest.mark.parametrize("name", ["llama-3.1-8b", "deepseek-v3", "gemma-3-27b", "t5-small", "mamba2-2.7b"])
def test_snapshot(name: str, snapshot: Callable[[str, str], None]) -> None:
    snapshot(card(sample(name), width=100, color=False), f"{name}.txt")


@pytest.mark.parametrize("name", [*SAMPLES, *TYPES])
@pytest.mark.parametrize("columns", [40, 80, 104, 300])
def test_lines_are_no_wider_than_the_terminal(name: str, columns: int) -> None:
    text = card_of(drawn(name)[0], width=columns, color=False)
    assert max(width(line) for line in text.splitlines()) <= min(columns, 104)


@pytest.mark.parametrize("name", SAMPLES)
def test_ascii_only(name: str) -> None:
    text = card_of(drawn(name)[0], width=90, color=True, ascii=True)
    assert text.isascii()


def test_colour_changes_nothing_but_colour() -> None:
    figure = drawn("deepseek-v3")[0]
    plain = card_of(figure, width=100, color=False)
    coloured = card_of(figure, width=100, color=True)
    assert "\x1b" not in plain
    assert "\x1b[38;5;208m" in coloured
    stripped = re.sub(r"\x1b\[[0-9;]*m", "", coloured)
    assert [line.rstrip() for line in stripped.splitlines()] == plain.splitlines()


def test_it_says_where_numbers_come_from() -> None:
    text = card(sample("llama-3.1-8b"), width=100, color=False)
    assert re.search(r"config\.json:\d+ num_key_value_heads = 8", text)
    assert "head_dim = 128 (derived: hidden_size // num_attention_heads)" in text
    assert "8,030,261,248" in text
    assert "16 GiB for one sequence of 131,072 tokens" in text
