"""Expressions of a config class's source, rewritten in the notation of formulas."""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any

Step = dict[str, Any]

_CALLS = frozenset(
    ["len", "int", "float", "bool", "list", "tuple", "min", "max", "sum", "round", "abs", "range", "enumerate", "zip",
     "sorted", "set", "str", "dict", "any", "all", "reversed"]
)  # fmt: skip
_METHODS = frozenset(
    [
        "get",
        "items",
        "keys",
        "values",
        "lower",
        "upper",
        "strip",
        "split",
        "index",
        "count",
        "startswith",
        "endswith",
        "copy",
    ]
)
_IDENTITY = frozenset({"deepcopy", "copy"})


class UntranslatableError(Exception):
    """A statement or expression that the notation has no word for."""


def source_tree(function: Any) -> ast.FunctionDef:
    """The syntax tree of a function. Raises: UntranslatableError for what is none."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    if not isinstance(tree, ast.FunctionDef):
        raise UntranslatableError("not a function")
    return tree


def _literal(value: Any) -> ast.expr:
    try:
        ast.literal_eval(repr(value))
    except (ValueError, SyntaxError) as error:
        raise UntranslatableError(f"constant {value!r:.60}") from error
    return ast.parse(repr(value), mode="eval").body


def names_of(text: str) -> set[str]:
    """The names in an expression."""
    return {n.id for n in ast.walk(ast.parse(text, mode="eval")) if isinstance(n, ast.Name)}


class Reading:
    """What is known of a class while its methods are read, and the steps found so far."""

    def __init__(self, cls: type, chain: list[type], fields: frozenset[str]) -> None:
        self.cls = cls
        self.chain = chain
        self.fields = fields
        self.aliases: dict[str, str] = dict(getattr(cls, "attribute_map", {}))
        self.steps: list[Step] = []
        self.lets = 0


class Expressions:
    """The expressions of one method: local names are replaced by what they stand for."""

    def __init__(self, reader: Reading, depth: int) -> None:
        self.reader = reader
        self.depth = depth
        self.locals: dict[str, ast.expr] = {}
        self.bound: set[str] = set()

    @property
    def steps(self) -> list[Step]:
        """The steps found so far."""
        return self.reader.steps

    def with_when(self, step: Step, when: list[str]) -> Step:
        """The step under all of these conditions."""
        if not when:
            return step
        texts = [f"({w})" if (len(when) > 1 and " or " in w) or " if " in w else w for w in when]
        return {**step, "when": " and ".join(texts)}

    def let(self, text: str, when: list[str]) -> str:
        """Keep a value for later steps, and the name it is kept under."""
        self.reader.lets += 1
        name = f"let_{self.reader.lets}"
        self.steps.append({**self.with_when({"let": name}, when), "to": text})
        return name

    # names

    def canonical(self, name: str) -> str:
        """The name under which the class stores a field."""
        return self.reader.aliases.get(name, name)

    def target_name(self, target: ast.expr) -> str:
        """The field that an assignment goes to, of this config or of a sub-config."""
        if isinstance(target, ast.Attribute):
            if isinstance(target.value, ast.Name) and target.value.id == "self":
                return self.canonical(target.attr)
            return ast.unparse(self.rewrite(target.value)) + "." + target.attr
        return ast.unparse(target)

    def constant(self, node: ast.expr) -> str:
        """The text of a literal. Raises: UntranslatableError for anything else."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
        raise UntranslatableError(f"{ast.unparse(node)} is not a literal name")

    # expressions

    def rewrite(self, node: ast.expr) -> ast.expr:
        """The expression in the notation of formulas. Raises: UntranslatableError."""
        method = getattr(self, "_rewrite_" + type(node).__name__.lower(), None)
        if method is None:
            raise UntranslatableError(f"expression {type(node).__name__}: {ast.unparse(node)[:60]}")
        result: ast.expr = method(node)
        return result

    def _rewrite_constant(self, node: ast.Constant) -> ast.expr:
        return node

    def _rewrite_name(self, node: ast.Name) -> ast.expr:
        if node.id in self.bound or node.id.startswith("let_"):
            return node
        if node.id in self.locals:
            return self.locals[node.id]
        raise UntranslatableError(f"name {node.id}")

    def _rewrite_namedexpr(self, node: ast.NamedExpr) -> ast.expr:
        value = self.rewrite(node.value)
        text = ast.unparse(value)
        if "pop(" in text:
            value = ast.Name(self.let(text, []))
        self.locals[node.target.id] = value
        return value

    def _rewrite_attribute(self, node: ast.Attribute) -> ast.expr:
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            return self._own_attribute(node.attr)
        if node.attr == "init_kwargs":
            return self._init_kwargs(node.value)
        return ast.Attribute(self.rewrite(node.value), node.attr)

    def _own_attribute(self, name: str) -> ast.expr:
        name = self.canonical(name)
        held = getattr(self.reader.cls, name, None)
        if name not in self.reader.fields and isinstance(held, property) and held.fget is not None:
            return self.property_value(held)
        if name not in self.reader.fields and isinstance(held, int | float | str | list | tuple | dict):
            return _literal(held)
        return ast.Name(name)

    def property_value(self, held: property) -> ast.expr:
        """What a property returns: assignments to local names, then a return, or a chain of `if ...: return`."""
        scope = type(self)(self.reader, self.depth)
        return scope._returned(source_tree(held.fget).body)

    def _returned(self, body: list[ast.stmt]) -> ast.expr:
        for place, node in enumerate(body):
            if isinstance(node, ast.Return) and node.value is not None:
                return self.rewrite(node.value)
            if isinstance(node, ast.If) and isinstance(node.body[-1], ast.Return):
                test, rest = self.rewrite(node.test), [*node.orelse, *body[place + 1 :]]
                return ast.IfExp(test, self._returned(node.body), self._returned(rest))
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                self.locals[node.targets[0].id] = self.rewrite(node.value)
            elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant | ast.Call)):
                break
        raise UntranslatableError("property with more than returns")

    def _init_kwargs(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Subscript) and "sub_configs_defaults" in ast.unparse(node.value):
            spec = self.reader.cls.sub_configs_defaults[self.constant(node.slice)]  # type: ignore[attr-defined]
            return _literal(dict(spec.init_kwargs))
        raise UntranslatableError(ast.unparse(node))

    def _rewrite_call(self, node: ast.Call) -> ast.expr:
        if isinstance(node.func, ast.Attribute):
            return self._method_call(node, node.func)
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in ("getattr", "hasattr"):
            return self._attribute_call(name, node.args)
        if name == "isinstance":
            return self._isinstance_call(node.args[0], node.args[1])
        if name in _CALLS:
            return self._plain_call(name, node)
        raise UntranslatableError(f"call {ast.unparse(node)[:60]}")

    def _plain_call(self, name: str, node: ast.Call) -> ast.expr:
        keywords = [ast.keyword(k.arg, self.rewrite(k.value)) for k in node.keywords]
        return ast.Call(ast.Name(name), [self.rewrite(a) for a in node.args], keywords)

    def _method_call(self, node: ast.Call, function: ast.Attribute) -> ast.expr:
        owner, method = function.value, function.attr
        if isinstance(owner, ast.Name) and owner.id == "kwargs" and method in ("get", "pop"):
            name = "key" if method == "get" else "pop"
            arguments = [ast.Constant(self.constant(node.args[0])), *(self.rewrite(a) for a in node.args[1:])]
            return ast.Call(ast.Name(name), arguments, [])
        if isinstance(owner, ast.Name) and owner.id == "functools" and ast.unparse(node.args[0]) == "operator.mul":
            return ast.Call(ast.Name("prod"), [self.rewrite(node.args[1])], [])
        if isinstance(owner, ast.Name) and owner.id in ("math", "np"):
            return ast.Call(ast.Name(method), [self.rewrite(a) for a in node.args], [])
        if isinstance(owner, ast.Name) and owner.id == "copy" and method in _IDENTITY:
            return self.rewrite(node.args[0])
        if method in _METHODS and not node.keywords:
            return ast.Call(ast.Attribute(self.rewrite(owner), method), [self.rewrite(a) for a in node.args], [])
        raise UntranslatableError(f"method {ast.unparse(function)[:60]}")

    def _attribute_call(self, name: str, args: list[ast.expr]) -> ast.expr:
        word = self.constant(self.rewrite(args[1]))
        if isinstance(args[0], ast.Name) and args[0].id == "self":
            held = self._own_attribute(word)
            if name == "hasattr":
                return ast.Call(ast.Name("has"), [ast.Constant(self.canonical(word))], [])
            if not isinstance(held, ast.Name) or self.canonical(word) in self.reader.fields:
                return held
            return ast.Call(ast.Name("field"), [ast.Constant(self.canonical(word)), *map(self.rewrite, args[2:])], [])
        owner = self.rewrite(args[0])
        function = "has_attribute" if name == "hasattr" else "attribute"
        return ast.Call(ast.Name(function), [owner, ast.Constant(word), *map(self.rewrite, args[2:])], [])

    def _isinstance_call(self, value: ast.expr, kinds: ast.expr) -> ast.expr:
        words = [ast.unparse(k) for k in (kinds.elts if isinstance(kinds, ast.Tuple) else [kinds])]
        known = {"list", "tuple", "dict", "str", "int", "float", "bool", "PreTrainedConfig", "Iterable", "Sequence"}
        if not set(words) <= known:
            raise UntranslatableError(f"isinstance {words}")
        return ast.Call(ast.Name("isinstance"), [self.rewrite(value), *(ast.Constant(w) for w in words)], [])

    def _rewrite_compare(self, node: ast.Compare) -> ast.expr:
        if isinstance(node.comparators[-1], ast.Name) and node.comparators[-1].id == "kwargs":
            call: ast.expr = ast.Call(ast.Name("given"), [self.rewrite(node.left)], [])
            return call if isinstance(node.ops[0], ast.In) else ast.UnaryOp(ast.Not(), call)
        return ast.Compare(self.rewrite(node.left), node.ops, [self.rewrite(c) for c in node.comparators])

    def _rewrite_boolop(self, node: ast.BoolOp) -> ast.expr:
        return ast.BoolOp(node.op, [self.rewrite(v) for v in node.values])

    def _rewrite_binop(self, node: ast.BinOp) -> ast.expr:
        return ast.BinOp(self.rewrite(node.left), node.op, self.rewrite(node.right))

    def _rewrite_unaryop(self, node: ast.UnaryOp) -> ast.expr:
        return ast.UnaryOp(node.op, self.rewrite(node.operand))

    def _rewrite_ifexp(self, node: ast.IfExp) -> ast.expr:
        test = self.rewrite(node.test)
        return ast.IfExp(test, self.rewrite(node.body), self.rewrite(node.orelse))

    def _rewrite_list(self, node: ast.List) -> ast.expr:
        return ast.List([self.rewrite(e) for e in node.elts])

    def _rewrite_tuple(self, node: ast.Tuple | ast.Set) -> ast.expr:
        return ast.List([self.rewrite(e) for e in node.elts])

    _rewrite_set = _rewrite_tuple

    def _rewrite_dict(self, node: ast.Dict) -> ast.expr:
        keys = [None if k is None else self.rewrite(k) for k in node.keys]
        return ast.Dict(keys, [self.rewrite(v) for v in node.values])

    def _rewrite_starred(self, node: ast.Starred) -> ast.expr:
        return ast.Starred(self.rewrite(node.value))

    def _rewrite_subscript(self, node: ast.Subscript) -> ast.expr:
        return ast.Subscript(self.rewrite(node.value), self.rewrite(node.slice))

    def _rewrite_slice(self, node: ast.Slice) -> ast.expr:
        parts = [None if p is None else self.rewrite(p) for p in (node.lower, node.upper, node.step)]
        return ast.Slice(*parts)

    def _rewrite_joinedstr(self, node: ast.JoinedStr) -> ast.expr:
        parts: list[ast.expr] = [
            ast.FormattedValue(self.rewrite(v.value), v.conversion) if isinstance(v, ast.FormattedValue) else v
            for v in node.values
        ]
        return ast.JoinedStr(parts)

    def _rewrite_listcomp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> ast.expr:
        generators, outer = self._generators(node.generators)
        result = ast.ListComp(self.rewrite(node.elt), generators)
        self.bound = outer
        return result

    _rewrite_generatorexp = _rewrite_setcomp = _rewrite_listcomp

    def _rewrite_dictcomp(self, node: ast.DictComp) -> ast.expr:
        generators, outer = self._generators(node.generators)
        result = ast.DictComp(self.rewrite(node.key), self.rewrite(node.value), generators)
        self.bound = outer
        return result

    def _generators(self, nodes: list[ast.comprehension]) -> tuple[list[ast.comprehension], set[str]]:
        outer, result = set(self.bound), []
        for node in nodes:
            source = self.rewrite(node.iter)
            self.bound |= {n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)}
            result.append(ast.comprehension(node.target, source, [self.rewrite(i) for i in node.ifs], 0))
        return result, outer
