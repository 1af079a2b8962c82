"""The notation of derived values, and its bounds."""

from __future__ import annotations

from typing import Any

import pytest

from archscope.config.draft import Draft
from archscope.config.formulas import FAILURES, ImplausibleSizeError, evaluate, names_in


def scope(**values: Any) -> Draft:
    draft = Draft(None, {}, "")
    draft.values.update(values)
    return draft


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("hidden_size // num_attention_heads", 16),
        ("2 * hidden_size - 1", 127),
        ("['a' if (i + 1) % 2 else 'b' for i in range(3)]", ["a", "b", "a"]),
        ("['full'] * 2 + ['sliding']", ["full", "full", "sliding"]),
        ("[i * j for i in range(3) for j in range(2) if i != j]", [0, 0, 0, 2]),
        ("{i: word for i, word in enumerate(words)}", {0: "x", 1: "y"}),
        ("{**table, 'b': 2}", {"a": 1, "b": 2}),
        ("[*words[:-1], 'z']", ["x", "z"]),
        ("words[::-1]", ["y", "x"]),
        ("table.get('a', 5) if 'a' in table else 0", 1),
        ("nothing or hidden_size", 64),
        ("nothing is None and hidden_size > 1", True),
        ("0 < num_attention_heads <= 4", True),
        ("f'stage{num_attention_heads}'", "stage4"),
        ("sum(words and [1, 2])", 3),
        ("int(prod([2, 3])) + len(words) + max(1, 2) + ceil(0.5)", 11),
        ("isinstance(words, 'list', 'tuple')", True),
        ("field('absent', 7)", 7),
        ("has('hidden_size') and not has('absent')", True),
    ],
)
def test_values(formula: str, expected: Any) -> None:
    given = scope(hidden_size=64, num_attention_heads=4, words=["x", "y"], table={"a": 1}, nothing=None)
    assert evaluate(formula, given) == expected


def test_keys_of_the_file() -> None:
    draft = scope()
    draft.extras["pattern"] = 4
    assert evaluate("key('pattern', 6)", draft) == 4
    assert evaluate("pop('pattern', 6)", draft) == 4
    assert evaluate("pop('pattern', 6)", draft) == 6, "a key that was popped is gone"
    assert evaluate("given('pattern')", draft) is False


def test_sub_configs() -> None:
    outer, inner = scope(), scope(hidden_size=8)
    outer.values["text_config"] = inner
    assert evaluate("text_config.hidden_size", outer) == 8
    assert evaluate("attribute(text_config, 'absent', 3)", outer) == 3
    assert evaluate("has_attribute(text_config, 'hidden_size')", outer) is True


@pytest.mark.parametrize(
    "formula",
    [
        "1 // zero",
        "absent + 1",
        "words['a']",
        "words[9]",
        "words.append(3)",
        "words.__class__",
        "hidden_size.real",
        "int('x')",
        "2 ** 100000",
        "'x' * huge",
        "[0] * huge",
        "range(huge)",
        "[i for i in range(huge)]",
        "['a'] * huge2",
        "huge / 3.5 * 1e308 * 1e308 // 0",
        "[i for i in range(9999) for j in range(9999)]",
        "[i for i in range(99999) if i in range(99999) and i in many]",
    ],
)
def test_what_cannot_be_evaluated(formula: str) -> None:
    given = scope(zero=0, words=["x"], hidden_size=4, huge=10**9, huge2=10**400, many=list(range(90_000)))
    with pytest.raises(FAILURES):
        evaluate(formula, given)


def test_lists_that_are_too_long_are_told_apart() -> None:
    with pytest.raises(ImplausibleSizeError, match="1000000000 entries"):
        evaluate("['full_attention'] * n", scope(n=10**9))


def test_names_in_a_formula() -> None:
    formula = "[min(a, i) for i in range(b)] + key('c', d) if given('e') else let_1"
    assert set(names_in(formula)) == {"a", "b", "c", "d", "e"}
