"""Evaluates the formulas of the snapshot ("hidden_size // num_attention_heads") over the values of one config.

A formula is a Python expression of a small kind, kept in schemas/ or in `procedures`; it is parsed and walked here,
never given to `eval`. The values it meets come from a file that may say anything, so every list has a bounded length
and a formula that cannot be evaluated raises one of `FAILURES`.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from archscope.config.vocabulary import (
    BINARY,
    COMPARE,
    FAILURES,
    FUNCTIONS,
    MAX_LENGTH,
    MAX_WORK,
    METHODS,
    UNARY,
    ImplausibleSizeError,
    Scope,
    attribute,
    bounded,
    spend,
)

__all__ = ["FAILURES", "MAX_LENGTH", "ImplausibleSizeError", "Scope", "compiled", "evaluate", "names_in"]

Locals = Mapping[str, Any]
Compiled = Callable[[Scope, Locals], Any]
_NOTHING: Locals = {}


def evaluate(formula: str, scope: Scope) -> Any:
    """The value of a formula. Raises: one of FAILURES."""
    scope.budget = MAX_WORK
    return compiled(formula)(scope, _NOTHING)


@functools.lru_cache(maxsize=4096)
def compiled(formula: str) -> Compiled:
    """The formula as a closure. Raises: SyntaxError or KeyError for what is none (a fault of the snapshot)."""
    return _compile(ast.parse(formula, mode="eval").body, frozenset())


@functools.lru_cache(maxsize=4096)
def names_in(formula: str) -> tuple[str, ...]:
    """The fields that a formula speaks of, in the order of their first mention."""
    tree = ast.parse(formula, mode="eval").body
    bound = {n.id for node in ast.walk(tree) if isinstance(node, ast.comprehension) for n in ast.walk(node.target)
             if isinstance(n, ast.Name)}  # fmt: skip
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    found: dict[str, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id not in bound and id(node) not in called:
            found[node.id] = None
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("key", "pop", "field", "given", "has"):
            found[ast.literal_eval(node.args[0])] = None
    return tuple(n for n in found if not n.startswith("let_"))


# Compilation: one small closure a node


def _compile(node: ast.expr, bound: frozenset[str]) -> Compiled:
    return _NODES[type(node)](node, bound)


def _constant(node: ast.Constant, bound: frozenset[str]) -> Compiled:
    value = node.value
    return lambda scope, local: value


def _name(node: ast.Name, bound: frozenset[str]) -> Compiled:
    name = node.id
    if name in bound:
        return lambda scope, local: local[name]
    if name.startswith("let_"):
        return lambda scope, local: scope.lets[name]
    return lambda scope, local: scope.field(name)


def _attribute_node(node: ast.Attribute, bound: frozenset[str]) -> Compiled:
    owner, name = _compile(node.value, bound), node.attr
    return lambda scope, local: attribute(owner(scope, local), name)


def _binary(node: ast.BinOp, bound: frozenset[str]) -> Compiled:
    left, right, apply = _compile(node.left, bound), _compile(node.right, bound), BINARY[type(node.op)]
    return lambda scope, local: apply(left(scope, local), right(scope, local))


def _unary(node: ast.UnaryOp, bound: frozenset[str]) -> Compiled:
    operand, apply = _compile(node.operand, bound), UNARY[type(node.op)]
    return lambda scope, local: apply(operand(scope, local))


def _boolean(node: ast.BoolOp, bound: frozenset[str]) -> Compiled:
    parts = [_compile(v, bound) for v in node.values]
    stop_at = isinstance(node.op, ast.Or)

    def run(scope: Scope, local: Locals) -> Any:
        for part in parts:
            value = part(scope, local)
            if bool(value) is stop_at:
                return value
        return value

    return run


def _comparison(node: ast.Compare, bound: frozenset[str]) -> Compiled:
    first = _compile(node.left, bound)
    rest = [(_compare(op), _compile(c, bound)) for op, c in zip(node.ops, node.comparators, strict=True)]

    def run(scope: Scope, local: Locals) -> bool:
        left = first(scope, local)
        for apply, part in rest:
            right = part(scope, local)
            if not apply(scope, left, right):
                return False
            left = right
        return True

    return run


def _compare(kind: ast.cmpop) -> Callable[[Scope, Any, Any], bool]:
    apply = COMPARE[type(kind)]
    if isinstance(kind, ast.In | ast.NotIn):
        wanted = isinstance(kind, ast.In)

        def contains(scope: Scope, item: Any, many: Any) -> bool:
            # Comparing with an entry is cheaper than running through a row of a loop.
            spend(scope, len(many) // 16)
            return apply(many, item) is wanted

        return contains
    return lambda scope, left, right: apply(left, right)


def _choice(node: ast.IfExp, bound: frozenset[str]) -> Compiled:
    test, yes, no = (_compile(n, bound) for n in (node.test, node.body, node.orelse))
    return lambda scope, local: yes(scope, local) if test(scope, local) else no(scope, local)


def _sequence(node: ast.List | ast.Tuple, bound: frozenset[str]) -> Compiled:
    parts = [
        (isinstance(e, ast.Starred), _compile(e.value if isinstance(e, ast.Starred) else e, bound)) for e in node.elts
    ]

    def run(scope: Scope, local: Locals) -> list[Any]:
        result: list[Any] = []
        for spread, part in parts:
            value = part(scope, local)
            if spread:
                result.extend(value)
            else:
                result.append(value)
        bounded(len(result))
        return result

    return run


def _mapping(node: ast.Dict, bound: frozenset[str]) -> Compiled:
    parts = [(None if k is None else _compile(k, bound), _compile(v, bound)) for k, v in
             zip(node.keys, node.values, strict=True)]  # fmt: skip

    def run(scope: Scope, local: Locals) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        for key, part in parts:
            if key is None:
                result.update(part(scope, local))
            else:
                result[key(scope, local)] = part(scope, local)
        return result

    return run


def _subscript(node: ast.Subscript, bound: frozenset[str]) -> Compiled:
    owner = _compile(node.value, bound)
    if isinstance(node.slice, ast.Slice):
        nothing: Compiled = lambda scope, local: None  # noqa: E731
        low, high, step = (nothing if p is None else _compile(p, bound) for p in
                           (node.slice.lower, node.slice.upper, node.slice.step))  # fmt: skip
        return lambda scope, local: owner(scope, local)[
            slice(low(scope, local), high(scope, local), step(scope, local))
        ]
    index = _compile(node.slice, bound)
    return lambda scope, local: owner(scope, local)[index(scope, local)]


def _text(node: ast.JoinedStr, bound: frozenset[str]) -> Compiled:
    parts = [_compile(v.value if isinstance(v, ast.FormattedValue) else v, bound) for v in node.values]
    return lambda scope, local: "".join(str(part(scope, local)) for part in parts)


def _loops(generators: list[ast.comprehension], bound: frozenset[str], body: Callable[[frozenset[str]], Any]) -> Any:
    """The rows of local names that nested `for ... if ...` clauses run through, and the body compiled for them."""
    first, *rest = generators
    source = _compile(first.iter, bound)
    names = [n.id for n in (first.target.elts if isinstance(first.target, ast.Tuple) else [first.target])]  # type: ignore[attr-defined]
    inner_bound = bound | set(names)
    tests = [_compile(i, inner_bound) for i in first.ifs]
    inner, compiled_body = _loops(rest, inner_bound, body) if rest else (None, body(inner_bound))

    def rows(scope: Scope, local: Locals) -> Iterator[Locals]:
        row = dict(local)  # one mapping for all rows: each is used up before the next is asked for
        for value in source(scope, local):
            spend(scope, 1)
            if len(names) == 1:
                row[names[0]] = value
            else:
                row.update(zip(names, value, strict=True))
            if all(test(scope, row) for test in tests):
                if inner is None:
                    yield row
                else:
                    yield from inner(scope, row)

    return rows, compiled_body


def _comprehension(node: ast.ListComp, bound: frozenset[str]) -> Compiled:
    rows, element = _loops(node.generators, bound, lambda inner: _compile(node.elt, inner))

    def run(scope: Scope, local: Locals) -> list[Any]:
        result: list[Any] = []
        for row in rows(scope, local):
            result.append(element(scope, row))
            if len(result) > MAX_LENGTH:
                raise ImplausibleSizeError(f"a list of more than {MAX_LENGTH} entries")
        return result

    return run


def _dict_comprehension(node: ast.DictComp, bound: frozenset[str]) -> Compiled:
    rows, pair = _loops(node.generators, bound, lambda inner: (_compile(node.key, inner), _compile(node.value, inner)))
    return lambda scope, local: {pair[0](scope, row): pair[1](scope, row) for row in rows(scope, local)}


def _call(node: ast.Call, bound: frozenset[str]) -> Compiled:
    if isinstance(node.func, ast.Attribute):
        return _method(node, node.func, bound)
    assert isinstance(node.func, ast.Name)
    name = node.func.id
    if name in _READERS:
        return _READERS[name](node, bound)
    function = FUNCTIONS[name]
    arguments = [_compile(a, bound) for a in node.args]
    keywords = {k.arg or "": _compile(k.value, bound) for k in node.keywords}
    if keywords:
        return lambda scope, local: function(
            *[a(scope, local) for a in arguments], **{k: v(scope, local) for k, v in keywords.items()}
        )
    return lambda scope, local: function(*[a(scope, local) for a in arguments])


def _method(node: ast.Call, function: ast.Attribute, bound: frozenset[str]) -> Compiled:
    owner, name = _compile(function.value, bound), function.attr
    arguments = [_compile(a, bound) for a in node.args]

    def run(scope: Scope, local: Locals) -> Any:
        value = owner(scope, local)
        if name not in METHODS.get(type(value), ()):
            raise AttributeError(f"{type(value).__name__} has no {name}")
        return getattr(value, name)(*[a(scope, local) for a in arguments])

    return run


def _default(node: ast.Call, bound: frozenset[str]) -> tuple[str, Compiled | None]:
    return ast.literal_eval(node.args[0]), _compile(node.args[1], bound) if len(node.args) > 1 else None


def _key(node: ast.Call, bound: frozenset[str]) -> Compiled:
    name, default = _default(node, bound)

    def run(scope: Scope, local: Locals) -> Any:
        if name in scope.extras:
            return scope.extras[name]
        return default(scope, local) if default else None

    return run


def _pop(node: ast.Call, bound: frozenset[str]) -> Compiled:
    name, read = _default(node, bound)[0], _key(node, bound)

    def run(scope: Scope, local: Locals) -> Any:
        value = read(scope, local)
        scope.forget(name)
        return value

    return run


def _field(node: ast.Call, bound: frozenset[str]) -> Compiled:
    name, default = _default(node, bound)

    def run(scope: Scope, local: Locals) -> Any:
        return scope.field(name) if default is None or scope.has(name) else default(scope, local)

    return run


def _given(node: ast.Call, bound: frozenset[str]) -> Compiled:
    name = _default(node, bound)[0]
    return lambda scope, local: name in scope.extras


def _has(node: ast.Call, bound: frozenset[str]) -> Compiled:
    name = _default(node, bound)[0]
    return lambda scope, local: scope.has(name)


_READERS: Mapping[str, Callable[[ast.Call, frozenset[str]], Compiled]] = {
    "key": _key,
    "pop": _pop,
    "field": _field,
    "given": _given,
    "has": _has,
}
_NODES: Mapping[type, Callable[[Any, frozenset[str]], Compiled]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute_node,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _boolean,
    ast.Compare: _comparison,
    ast.IfExp: _choice,
    ast.List: _sequence,
    ast.Tuple: _sequence,
    ast.Dict: _mapping,
    ast.Subscript: _subscript,
    ast.JoinedStr: _text,
    ast.ListComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _dict_comprehension,
    ast.Call: _call,
}
