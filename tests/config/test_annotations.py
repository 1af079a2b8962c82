"""Type checks, with the strictness of huggingface_hub's dataclasses."""

from __future__ import annotations

from typing import Any

import pytest

from archscope.config.annotations import check_type, coerce

ACCEPTED = [
    ("int", 3),
    ("float", 1.0),
    ("float | int", 1),
    ("bool", True),
    ("str | None", None),
    ("list[int] | None", [1, 2]),
    ("list[int] | tuple[int, ...]", []),
    ("dict | PreTrainedConfig | None", {"a": 1}),
    ("RopeParameters | dict | None", {}),
    ("dict[str, int]", {"a": 1}),
    ("Literal['cls', 'mean']", "mean"),
    ("Literal['regression'] | None", None),
    ("Optional[Literal['all', 'vision']]", None),
    ("Sequence[list[int] | tuple[int, ...]]", [[1], [2, 3]]),
    ("list[float | int | None] | None", [1.0, None, 2]),
    ("Any", object()),
    ("torch.dtype |", "an annotation that is no expression checks nothing"),
]
REFUSED = [
    ("int", True, "expected int, got bool"),
    ("int", 4096.0, "expected int, got float"),
    ("int", "4096", "expected int, got str"),
    ("int", None, "expected int, got null"),
    ("float", 1, "expected float, got int"),
    ("float | None", False, "expected float | None, got bool"),
    ("bool", "false", "expected bool, got str"),
    ("list[int]", [1, 2.0], "expected list[int], got list"),
    ("tuple[int, int]", [1, 2], "expected tuple[int, int], got list"),
    ("dict[str, int]", {"a": "b"}, "expected dict[str, int], got dict"),
    ("LlamaConfig | None", {}, "expected LlamaConfig | None, got dict"),
    ("Literal[1]", True, "expected Literal[1], got bool"),
    ("Literal['a']", ["a"], "expected Literal['a'], got list"),
]


@pytest.mark.parametrize(("annotation", "value"), ACCEPTED)
def test_accepted(annotation: str, value: Any) -> None:
    assert check_type(annotation, value) is None


@pytest.mark.parametrize(("annotation", "value", "reason"), REFUSED)
def test_refused(annotation: str, value: Any, reason: str) -> None:
    assert check_type(annotation, value) == reason


@pytest.mark.parametrize(
    ("annotation", "value", "better"),
    [
        ("int", "4096", 4096),
        ("int | None", 4096.0, 4096),
        ("float", 1, 1.0),
        ("float", "1e-5", 1e-5),
        ("bool | None", "False", False),
        ("list[int]", [256.0, "3"], [256, 3]),
    ],
)
def test_what_is_plainly_meant(annotation: str, value: Any, better: Any) -> None:
    found, stand_in = coerce(annotation, value)
    assert found
    assert stand_in == better
    assert check_type(annotation, stand_in) is None


@pytest.mark.parametrize(
    ("annotation", "value"),
    [("int", "many"), ("int", 2.5), ("int", [1]), ("bool", 1), ("int", "9" * 5000), ("float", 10**400), ("int", None)],
)
def test_what_nobody_can_tell(annotation: str, value: Any) -> None:
    assert coerce(annotation, value) == (False, None)
