"""The functions and operators that formulas may use; every list that they make has a bounded length."""

from __future__ import annotations

import ast
import functools
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

MAX_LENGTH = 100_000
FAILURES = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)

# How many list entries one formula may look at: some loop over the layers for each layer.
MAX_WORK = 2_000_000


class ImplausibleSizeError(ValueError):
    """A list longer than any model has layers, or more work than any model's lists give."""


class Scope:
    """What a formula can read: fields, keys of the file, and values set aside by earlier steps."""

    __slots__ = ("budget", "extras", "lets")

    budget: int
    extras: dict[str, Any]
    lets: dict[str, Any]

    def field(self, name: str) -> Any:
        """The value of a field. Raises: one of FAILURES where there is none."""
        raise NotImplementedError

    def has(self, name: str) -> bool:
        """Whether there is such a field."""
        raise NotImplementedError

    def forget(self, name: str) -> None:
        """Drop a key of the file that a formula has read."""
        self.extras.pop(name, None)


def bounded(size: Any) -> int:
    """A length, if it is one. Raises: TypeError, ImplausibleSizeError."""
    if not isinstance(size, int):
        raise TypeError(f"{type(size).__name__} where a count is due")
    if size > MAX_LENGTH:
        raise ImplausibleSizeError(
            f"a list of {size} entries" if size < 10**30 else "a list of more than 10^30 entries"
        )
    return size


# Functions of the notation


def _range(*bounds: Any) -> range:
    for bound in bounds:
        bounded(bound)
    result = range(*bounds)
    bounded(len(result))
    return result


def _isinstance(value: Any, *words: str) -> bool:
    return any(_KINDS[word](value) for word in words)


_KINDS: Mapping[str, Callable[[Any], bool]] = {
    "list": lambda v: isinstance(v, list),
    "tuple": lambda v: isinstance(v, tuple),
    "Sequence": lambda v: isinstance(v, list | str),
    "Iterable": lambda v: isinstance(v, list | tuple | dict | str),
    "dict": lambda v: isinstance(v, dict),
    "str": lambda v: isinstance(v, str),
    "int": lambda v: isinstance(v, int),
    "float": lambda v: isinstance(v, float),
    "bool": lambda v: isinstance(v, bool),
    "PreTrainedConfig": lambda v: isinstance(v, Scope),
}


def spend(scope: Scope, work: int) -> None:
    """Account for work. Raises: ImplausibleSizeError where it is more than a formula may do."""
    scope.budget -= work
    if scope.budget < 0:
        raise ImplausibleSizeError("the lists that it makes are too long")


def attribute(owner: Any, name: str, *default: Any) -> Any:
    """A field of a sub-config. Raises: AttributeError, where there is no default either."""
    if isinstance(owner, Scope):
        return owner.field(name) if not default or owner.has(name) else default[0]
    if default:
        return default[0]
    raise AttributeError(name)


def _int(value: Any) -> int:
    if isinstance(value, str) and len(value) > 100:
        raise ValueError("not a number")
    return int(value)


def _text(value: Any) -> str:
    # Python refuses to write out integers of thousands of digits.
    return "a huge number" if isinstance(value, int) and abs(value) > 10**100 else str(value)


def _sum(values: Any, start: Any = 0) -> Any:
    return functools.reduce(_add, values, start)


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **{f.__name__: f for f in (len, float, bool, min, max, round, abs, sorted, dict, any, all)},
    "int": _int,
    "str": _text,
    "list": list,
    "tuple": list,
    "set": lambda v: list(dict.fromkeys(v)),
    "sum": _sum,
    "range": _range,
    "enumerate": lambda v, start=0: [[i, e] for i, e in enumerate(v, start)],
    "zip": lambda *v: [list(e) for e in zip(*v, strict=False)],
    "reversed": lambda v: list(reversed(v)),
    "ceil": math.ceil,
    "floor": math.floor,
    "log2": math.log2,
    "sqrt": math.sqrt,
    "prod": math.prod,
    "isinstance": _isinstance,
    "attribute": attribute,
    "has_attribute": lambda owner, name: owner.has(name) if isinstance(owner, Scope) else False,
}
METHODS: Mapping[type, frozenset[str]] = {
    dict: frozenset({"get", "items", "keys", "values", "copy"}),
    str: frozenset({"lower", "upper", "strip", "split", "startswith", "endswith", "count"}),
    list: frozenset({"index", "count", "copy"}),
}


def _add(a: Any, b: Any) -> Any:
    if isinstance(a, list | str) and isinstance(b, list | str):
        bounded(len(a) + len(b))
    return operator.add(a, b)


def _multiply(a: Any, b: Any) -> Any:
    for many, times in ((a, b), (b, a)):
        if isinstance(many, list | str):
            bounded(bounded(times) * len(many))
            return many * times
    return operator.mul(a, b)


def _power(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int) and (abs(b) > 128 or abs(a) > 10**9):
        raise OverflowError("a power out of any use")
    return operator.pow(a, b)


BINARY: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: _add,
    ast.Sub: operator.sub,
    ast.Mult: _multiply,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
    ast.BitOr: operator.or_,
}
COMPARE: Mapping[type, Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: operator.contains,
    ast.NotIn: operator.contains,
}
UNARY: Mapping[type, Callable[[Any], Any]] = {ast.Not: operator.not_, ast.USub: operator.neg, ast.UAdd: operator.pos}
