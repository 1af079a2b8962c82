"""How the filling of a config class is read from its source."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from archscope.dev.steps import UntranslatableError, property_formula, setter_steps, steps_of

FIELDS = frozenset({"hidden_size", "heads", "head_dim", "layers", "words", "scale", "window"})


class Base:
    attribute_map: ClassVar[dict[str, str]] = {"num_heads": "heads"}

    def __post_init__(self, **kwargs: Any) -> None: ...


class Plain(Base):
    hidden_size: int
    heads: int

    def __post_init__(self, **kwargs: Any) -> None:
        pattern = kwargs.pop("pattern", 6)
        if self.head_dim is None:  # type: ignore[has-type]
            self.head_dim = self.hidden_size // self.num_heads  # type: ignore[attr-defined]
        self.scale = self.scale or 2 * self.head_dim  # type: ignore[has-type]
        self.window = self.window if self.window is not None else 4  # type: ignore[has-type]
        if self.words is None:  # type: ignore[has-type]
            self.words = ["a" if (i + 1) % pattern else "b" for i in range(self.layers)]  # type: ignore[attr-defined]
        kwargs.setdefault("factor", 0.5)
        super().__post_init__(**kwargs)


def test_shapes() -> None:
    assert steps_of(Plain, FIELDS) == [
        {"let": "let_1", "to": "pop('pattern', 6)"},
        {"set": "head_dim", "when": "head_dim is None", "to": "hidden_size // heads"},
        {"set": "scale", "when": "not scale", "to": "2 * head_dim"},
        {"set": "window", "when": "window is None", "to": "4"},
        {
            "set": "words",
            "when": "words is None",
            "to": "['a' if (i + 1) % let_1 else 'b' for i in range(layers)]",
        },
        {"key": "factor", "when": "not given('factor')", "to": "0.5"},
        {"base": True},
    ]


class Heir(Plain):
    def __post_init__(self, **kwargs: Any) -> None:
        super().__post_init__(**kwargs)
        self.words[-1] = "b"
        if self.scale > 3 and "wide" in kwargs:
            self.scale = 3
            self.window = self.scale


def test_inheritance_and_conditions_that_their_own_body_changes() -> None:
    steps = steps_of(Heir, FIELDS)
    assert steps[: len(steps_of(Plain, FIELDS))] == steps_of(Plain, FIELDS)
    assert steps[-4:] == [
        {"set": "words", "to": "[*words[:-1], 'b']"},
        {"let": "let_2", "to": "scale > 3 and given('wide')"},
        {"set": "scale", "when": "let_2", "to": "3"},
        {"set": "window", "when": "let_2", "to": "scale"},
    ]


class Stale(Base):
    def __post_init__(self, **kwargs: Any) -> None:
        before = self.layers + 1  # type: ignore[has-type]
        self.layers = 3
        self.scale = before
        super().__post_init__(**kwargs)


def test_a_local_name_keeps_the_value_of_its_time() -> None:
    assert steps_of(Stale, FIELDS) == [
        {"let": "let_1", "to": "layers + 1"},
        {"set": "layers", "to": "3"},
        {"set": "scale", "to": "let_1"},
        {"base": True},
    ]


class Odd(Base):
    def __post_init__(self, **kwargs: Any) -> None:
        while self.layers:  # type: ignore[attr-defined]
            break
        super().__post_init__(**kwargs)


def test_what_is_not_understood_is_said() -> None:
    with pytest.raises(UntranslatableError, match="While"):
        steps_of(Odd, FIELDS)


class Computing(Base):
    @property
    def width(self) -> Any:
        if self.heads is None:  # type: ignore[attr-defined]
            return None
        half = self.hidden_size / 2  # type: ignore[attr-defined]
        return half * self.heads  # type: ignore[attr-defined]

    @width.setter
    def width(self, value: Any) -> None:
        self.hidden_size = value * 2

    @property
    def fixed(self) -> int:
        return 3

    @fixed.setter
    def fixed(self, value: int) -> None:
        raise NotImplementedError


def test_computed_values() -> None:
    assert property_formula(Computing, Computing.width, FIELDS) == "None if heads is None else hidden_size / 2 * heads"  # type: ignore[arg-type]
    assert setter_steps(Computing, Computing.width, FIELDS) == [{"set": "hidden_size", "to": "let_value * 2"}]  # type: ignore[arg-type]
    assert setter_steps(Computing, Computing.fixed, FIELDS) is None  # type: ignore[arg-type]
