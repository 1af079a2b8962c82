"""Types of fields, as transformers checks them: `int` refuses True and 1.0, `float` refuses 1.

Source: huggingface_hub dataclasses.py, `type_validator`.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Mapping
from typing import Any

Check = Callable[[Any], bool]


def check_type(annotation: str, value: Any) -> str | None:
    """Why a value does not fit an annotation ("expected int, got str"), or None where it does.

    Args:
        annotation: as in the snapshot: "int | None", "list[int] | tuple[int, ...]", "Literal['a', 'b']".
        value: a JSON value.
    """
    if checker(annotation)(value):
        return None
    return f"expected {annotation}, got {_described(value)}"


def _described(value: Any) -> str:
    if value is None:
        return "null"
    return _JSON_NAMES.get(type(value), type(value).__name__)


_JSON_NAMES: Mapping[type, str] = {bool: "bool", int: "int", float: "float", str: "str", list: "list", dict: "dict"}


@functools.lru_cache(maxsize=1024)
def checker(annotation: str) -> Check:
    """The test of an annotation. An annotation that is no expression accepts everything (it is checked nowhere)."""
    try:
        tree = ast.parse(annotation, mode="eval").body
    except SyntaxError:
        return _anything
    return _build(tree)


def accepts_null(annotation: str) -> bool:
    """Whether null is allowed."""
    return checker(annotation)(None)


def _anything(value: Any) -> bool:
    return True


def _nothing(value: Any) -> bool:
    # A config class or a typed dict: nothing that JSON holds is an instance of it.
    return False


_PLAIN: Mapping[str, Check] = {
    "int": lambda v: type(v) is int,
    "float": lambda v: type(v) is float,
    "bool": lambda v: type(v) is bool,
    "str": lambda v: type(v) is str,
    "list": lambda v: type(v) is list,
    "dict": lambda v: type(v) is dict,
    "None": lambda v: v is None,
    "NoneType": lambda v: v is None,
    "Any": _anything,
    "object": _anything,
    "Sequence": lambda v: type(v) in (list, str),
}


def _build(node: ast.expr) -> Check:
    if isinstance(node, ast.BinOp):
        return _union([_build(node.left), _build(node.right)])
    if isinstance(node, ast.Subscript):
        return _generic(ast.unparse(node.value), node.slice)
    if isinstance(node, ast.Constant) and node.value is None:
        return _PLAIN["None"]
    return _PLAIN.get(ast.unparse(node), _nothing)


def _union(parts: list[Check]) -> Check:
    first, *rest = parts
    if len(rest) == 1:
        second = rest[0]
        return lambda v: first(v) or second(v)
    return lambda v: any(part(v) for part in parts)


def _generic(name: str, argument: ast.expr) -> Check:
    arguments = argument.elts if isinstance(argument, ast.Tuple) else [argument]
    if name == "Literal":
        return _literal([ast.literal_eval(a) for a in arguments])
    if name == "Optional":
        return _union([_build(arguments[0]), _PLAIN["None"]])
    if name == "Union":
        return _union([_build(a) for a in arguments])
    if name in ("list", "Sequence"):
        item = _build(arguments[0])
        outer = _PLAIN[name]
        return lambda v: outer(v) and all(map(item, v))
    if name == "dict":
        key, value = (_build(a) for a in arguments)
        return lambda v: type(v) is dict and all(map(key, v)) and all(map(value, v.values()))
    return _nothing


def _literal(words: list[Any]) -> Check:
    # Bools are compared with bools only, ints with ints; anything else by equality.
    exact = frozenset((type(w), w) for w in words)
    return lambda v: type(v) in (bool, int, float, str, type(None)) and (type(v), v) in exact


# Stand-ins


def coerce(annotation: str, value: Any) -> tuple[bool, Any]:
    """A value of the right type that plainly means the same: "4096" and 4096.0 for 4096, 1 for 1.0, "true" for True.

    Returns: whether there is one, and it.
    """
    fits = checker(annotation)
    for candidate in _candidates(value):
        if fits(candidate):
            return True, candidate
    if isinstance(value, list) and len(value) <= 10_000:
        for kind in (_whole, _real):
            items = [kind(item) for item in value]
            if None not in items and fits(items):
                return True, items
    return False, None


def _whole(value: Any) -> int | None:
    if type(value) is int:
        return value
    if type(value) is float and value.is_integer():
        return int(value)
    if type(value) is str and len(value) <= 30 and value.strip().lstrip("+-").isdecimal():
        return int(value)
    return None


def _real(value: Any) -> float | None:
    if type(value) not in (int, float, str) or (type(value) is str and len(value) > 30):
        return None
    try:
        return float(value)
    except (OverflowError, ValueError):
        return None


def _candidates(value: Any) -> list[Any]:
    found: list[Any] = [v for v in (_whole(value), _real(value)) if v is not None]
    if isinstance(value, str) and value.lower() in ("true", "false"):
        found.append(value.lower() == "true")
    return found
