"""Records behave as the frozen dataclasses of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from archscope import records


def define(dataclass: Any) -> tuple[Any, Any, Any, Any]:
    """The same classes by one decorator or the other."""

    @dataclass(frozen=True, slots=True)
    class Point:
        """A point."""

        x: int
        y: int = 2
        tags: list[str] = dataclasses.field(default_factory=list)

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Base:
        """A base."""

        kind: ClassVar[str] = "base"
        name: str = ""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Derived(Base):
        """Derived."""

        kind: ClassVar[str] = "derived"
        size: int
        name: str = "d"

    @dataclass(frozen=True, eq=False)
    class Loose:
        """With a dictionary, equal to itself only."""

        x: int

        def __repr__(self) -> str:
            return "loose"

    return Point, Base, Derived, Loose


OURS = define(records.dataclass)
THEIRS = define(dataclasses.dataclass)
MAKERS: list[Callable[[tuple[Any, Any, Any, Any]], Any]] = [
    lambda classes: classes[0](1),
    lambda classes: classes[0](1, 3, ["a"]),
    lambda classes: classes[0](x=1, y=4),
    lambda classes: classes[1](),
    lambda classes: classes[1](name="n"),
    lambda classes: classes[2](size=3),
    lambda classes: classes[2](size=3, name="e"),
    lambda classes: classes[3](1),
]


@pytest.mark.parametrize("make", MAKERS)
def test_records_look_and_copy_alike(make: Callable[[Any], Any]) -> None:
    ours, theirs = make(OURS), make(THEIRS)
    assert repr(ours) == repr(theirs)
    assert dataclasses.asdict(ours) == dataclasses.asdict(theirs)
    assert [field.name for field in dataclasses.fields(ours)] == [field.name for field in dataclasses.fields(theirs)]
    assert repr(copy.deepcopy(ours)) == repr(ours)
    assert type(ours).__doc__ == type(theirs).__doc__
    assert type(ours).__match_args__ == type(theirs).__match_args__
    assert hasattr(ours, "__dict__") == hasattr(theirs, "__dict__")
    assert getattr(ours, "kind", None) == getattr(theirs, "kind", None)


@pytest.mark.parametrize("left", MAKERS)
@pytest.mark.parametrize("right", MAKERS)
def test_records_are_equal_alike(left: Callable[[Any], Any], right: Callable[[Any], Any]) -> None:
    assert (left(OURS) == right(OURS)) == (left(THEIRS) == right(THEIRS))


def test_records_hash_by_their_values() -> None:
    derived = OURS[2]
    assert hash(derived(size=1)) == hash(derived(size=1))
    assert len({derived(size=1), derived(size=1), derived(size=2)}) == 2
    with pytest.raises(TypeError, match="unhashable"):
        hash(OURS[0](1))


@pytest.mark.parametrize("arguments", [{}, {"x": 1, "z": 2}])
def test_wrong_arguments_are_refused(arguments: dict[str, int]) -> None:
    with pytest.raises(TypeError, match="__init__"):
        OURS[0](**arguments)
    with pytest.raises(TypeError, match="positional"):
        OURS[2](1)


def test_records_are_frozen() -> None:
    for record in (OURS[0](1), OURS[3](1)):
        with pytest.raises(dataclasses.FrozenInstanceError):
            record.x = 2
        with pytest.raises(dataclasses.FrozenInstanceError):
            del record.x


def test_records_can_be_changed_into_others() -> None:
    assert dataclasses.replace(OURS[2](size=1), size=2) == OURS[2](size=2)
    assert OURS[0](1).tags is not OURS[0](1).tags


def test_records_survive_pickling() -> None:
    from archscope.diagnostics import Place

    place = Place("config.json", "/a", 1, 2)
    assert pickle.loads(pickle.dumps(place)) == place


def test_what_is_not_supported_is_refused() -> None:
    with pytest.raises(AssertionError, match="__post_init__"):

        @records.dataclass(frozen=True)
        class Late:
            """Late."""

            x: int

            def __post_init__(self) -> None:
                """Do more."""


def test_open_classes_go_to_the_standard_library() -> None:
    @records.dataclass(slots=True)
    class Open:
        """Open."""

        x: int = 1

    one = Open()
    one.x = 2
    assert one == Open(2)
