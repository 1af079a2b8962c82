"""What a config class does to its fields after they are set, as a list of formulas.

`__post_init__` of a config class fills fields from other fields. `steps_of` reads it (syntax tree, never by running it) and
writes each assignment as one row of our own notation, evaluated by `archscope.config.formulas`:

    {"set": FIELD, "when": CONDITION, "to": FORMULA}     a field, under a condition (absent: always)
    {"key": KEY, "when": ..., "to": ...}                 a key of the file, as if it had been written there
    {"drop": KEY}                                        a key of the file that is read and forgotten
    {"let": NAME, "to": ...}                             a value that later rows speak of
    {"do": NAME, ...}                                    a procedure of `archscope.config.procedures`
    {"base": true}                                       what the common base class does (sub-configs, rope, other keys)

Formulas are Python expressions over field names, with `key("k", d)` for a key of the file, `pop("k", d)` for one that is
forgotten afterwards and `given("k")` for whether it is there. A shape that this reading does not know is `Untranslatable`:
such a class needs a procedure written by hand.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any

Step = dict[str, Any]

_CALLS = frozenset(
    "len int float bool list tuple min max sum round abs range enumerate zip sorted set str dict any all reversed".split()
)
_METHODS = frozenset("get items keys values lower upper strip split index count startswith endswith copy".split())
_IDENTITY = frozenset({"deepcopy", "copy"})
_SILENT = frozenset({"logger", "warnings"})


class Untranslatable(Exception):
    """A statement or expression that the notation has no word for."""


def steps_of(cls: type, fields: frozenset[str]) -> list[Step]:
    """The steps of a config class, from its own `__post_init__` down to that of the base class.

    Raises: Untranslatable, naming the first piece that is not understood.
    """
    chain = [k for k in cls.__mro__ if "__post_init__" in vars(k)]
    return _Reader(cls, chain, fields).read(0)


def property_formula(cls: type, held: property, fields: frozenset[str]) -> str:
    """The formula of a property, "" for one that is no formula."""
    reader = _Reader(cls, [], fields)
    try:
        formula = ast.unparse(_Scope(reader, 0).property_value(held))
    except Untranslatable:
        return ""
    return "" if reader.steps or "pop(" in formula or " _" in f" {formula}" else formula


def setter_steps(cls: type, held: property, fields: frozenset[str]) -> list[Step] | None:
    """What giving a value of a property's name does, the value being `let_value`.

    Returns: None where the class refuses it, or computes the value and has no way to set it.
    """
    if held.fset is None:
        return None
    reader, tree = _Reader(cls, [], fields), _source_tree(held.fset)
    if isinstance(tree.body[-1], ast.Raise):
        return None
    scope = _Scope(reader, 0)
    scope.locals[tree.args.args[-1].arg] = ast.Name("let_value")
    scope.block(tree.body, [])
    return reader.steps


def _source_tree(function: Any) -> ast.FunctionDef:
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    if not isinstance(tree, ast.FunctionDef):
        raise Untranslatable("not a function")
    return tree


def _is_super_call(node: ast.AST, method: str) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == method
        and (
            (isinstance(node.func.value, ast.Call) and getattr(node.func.value.func, "id", "") == "super")
            or (isinstance(node.func.value, ast.Name) and node.func.value.id == "PreTrainedConfig")
        )
    )


def _negate(node: ast.expr) -> ast.expr:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return node.operand
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        swaps: dict[type[ast.cmpop], ast.cmpop] = {ast.Is: ast.IsNot(), ast.IsNot: ast.Is(), ast.Eq: ast.NotEq()}
        swap = swaps.get(type(node.ops[0]))
        if swap is not None:
            return ast.Compare(node.left, [swap], node.comparators)
    return ast.UnaryOp(ast.Not(), node)


def _literal(value: Any) -> ast.expr:
    try:
        ast.literal_eval(repr(value))
    except (ValueError, SyntaxError) as error:
        raise Untranslatable(f"constant {value!r:.60}") from error
    return ast.parse(repr(value), mode="eval").body


def _names(text: str) -> set[str]:
    return {n.id for n in ast.walk(ast.parse(text, mode="eval")) if isinstance(n, ast.Name)}


class _Reader:
    """Reads the chain of `__post_init__` methods of one class into steps."""

    def __init__(self, cls: type, chain: list[type], fields: frozenset[str]) -> None:
        self.cls = cls
        self.chain = chain
        self.fields = fields
        self.aliases: dict[str, str] = dict(getattr(cls, "attribute_map", {}))
        self.steps: list[Step] = []
        self.lets = 0

    def read(self, depth: int) -> list[Step]:
        """Append the steps of the method at this place of the chain."""
        if depth == len(self.chain) - 1:
            self.steps.append({"base": True})
            return self.steps
        tree = _source_tree(vars(self.chain[depth])["__post_init__"])
        scope = _Scope(self, depth)
        scope.last_read = {
            n.id: n.lineno for n in sorted(_loads(tree), key=lambda n: n.lineno)
        }
        scope.block(tree.body, [])
        return self.steps


class _Scope:
    """The statements of one method: local names are replaced by what they stand for."""

    def __init__(self, reader: _Reader, depth: int) -> None:
        self.reader = reader
        self.depth = depth
        self.locals: dict[str, ast.expr] = {}
        self.bound: set[str] = set()
        # The last line that reads each local name, and the line that is being read now.
        self.last_read: dict[str, int] = {}
        self.line = 0

    # statements

    def block(self, body: list[ast.stmt], when: list[str]) -> None:
        for statement in body:
            self.statement(statement, when)

    def statement(self, node: ast.stmt, when: list[str]) -> None:
        self.line = node.end_lineno or node.lineno
        if isinstance(node, ast.Raise | ast.Pass | ast.Import | ast.ImportFrom | ast.Assert):
            return
        if isinstance(node, ast.Return):
            if node.value is not None and _is_super_call(node.value, "__post_init__"):
                self.super_call(node.value, when)
                return
            raise Untranslatable("return")
        if isinstance(node, ast.Expr):
            self.expression_statement(node.value, when)
        elif isinstance(node, ast.If):
            self.branch(node, when)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                self.assign(target, node.value, when)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self.assign(node.target, node.value, when)
        elif isinstance(node, ast.AugAssign):
            load = ast.parse(ast.unparse(node.target), mode="eval").body
            self.assign(node.target, ast.BinOp(load, node.op, node.value), when)
        elif isinstance(node, ast.For):
            self.unroll(node, when)
        else:
            raise Untranslatable(f"statement {type(node).__name__}")

    def expression_statement(self, node: ast.expr, when: list[str]) -> None:
        if isinstance(node, ast.Constant):
            return
        if _is_super_call(node, "__post_init__"):
            self.super_call(node, when)
            return
        if not isinstance(node, ast.Call):
            raise Untranslatable("expression statement")
        function = node.func
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            owner, method = function.value.id, function.attr
            if owner in _SILENT:
                return
            if owner == "kwargs" and method == "setdefault":
                key = self.constant(node.args[0])
                self.add({"key": key}, [*when, f"not given({key!r})"], node.args[1])
                return
            if owner == "kwargs" and method == "pop":
                self.steps.append(self.with_when({"drop": self.constant(node.args[0])}, when))
                return
            if owner == "self" and method == "set_output_features_output_indices":
                self.steps.append(self.with_when({"do": "backbone_stages"}, when))
                return
            if owner == "self" and method == "validate_layer_type":
                return
        if isinstance(function, ast.Attribute) and self.change_in_place(function, node.args, when):
            return
        if isinstance(function, ast.Name) and function.id == "setattr" and getattr(node.args[0], "id", "") == "self":
            name = self.constant(self.rewrite(node.args[1]))
            self.add({"set": self.canonical(name)}, when, node.args[2])
            return
        raise Untranslatable(f"call {ast.unparse(node)[:80]}")

    def change_in_place(self, function: ast.Attribute, arguments: list[ast.expr], when: list[str]) -> bool:
        """A method that changes a mapping or list held by a field, written as a new value of that field."""
        owner = function.value
        if not (isinstance(owner, ast.Attribute) and isinstance(owner.value, ast.Name) and owner.value.id == "self"):
            return False
        name, given = self.target_name(owner), [ast.unparse(self.rewrite(a)) for a in arguments]
        texts = {
            "setdefault": "{{{0}: {1}, **{name}}}",
            "update": "{{**{name}, **{0}}}",
            "pop": "{{k: v for k, v in {name}.items() if k != {0}}}",
            "append": "[*{name}, {0}]",
        }
        if function.attr not in texts:
            return False
        text = texts[function.attr].format(*given, name=name)
        self.steps.append({**self.with_when({"set": name}, when), "to": text})
        return True

    def change_item(self, target: ast.Subscript, value: ast.expr, when: list[str]) -> None:
        """`self.x[i] = v`, written as a new value of x."""
        name, new = self.target_name(target.value), ast.unparse(self.rewrite(value))
        index = ast.unparse(self.rewrite(target.slice))
        text = f"[*{name}[:-1], {new}]" if index == "-1" else f"{{**{name}, {index}: {new}}}"
        self.steps.append({**self.with_when({"set": name}, when), "to": text})

    def super_call(self, node: ast.AST, when: list[str]) -> None:
        if when:
            raise Untranslatable("conditional super().__post_init__")
        assert isinstance(node, ast.Call)
        for keyword in node.keywords:
            if keyword.arg is not None:
                self.add({"key": keyword.arg}, [], keyword.value)
        self.reader.read(self.depth + 1)

    def branch(self, node: ast.If, when: list[str]) -> None:
        test = self.rewrite(node.test)
        text = ast.unparse(test)
        written = [self.target_name(t) for t in _targets(node)]
        if (_effects(node) > 1 and set(written) & _names(text)) or "pop(" in text:
            text = self.let(text, when)
            test = ast.Name(text)
        before = dict(self.locals)
        self.block(node.body, [*when, text])
        after_body, self.locals = self.locals, dict(before)
        self.block(node.orelse, [*when, ast.unparse(_negate(test))])
        self.merge_locals(test, after_body, before)

    def merge_locals(self, test: ast.expr, body: dict[str, ast.expr], before: dict[str, ast.expr]) -> None:
        none = ast.Constant(None)
        for name in sorted({*body, *self.locals}):
            yes, no = body.get(name, before.get(name, none)), self.locals.get(name, before.get(name, none))
            self.locals[name] = yes if ast.dump(yes) == ast.dump(no) else ast.IfExp(test, yes, no)

    def unroll(self, node: ast.For, when: list[str]) -> None:
        values = self.rewrite(node.iter)
        if not isinstance(values, ast.List | ast.Tuple) or not isinstance(node.target, ast.Name) or node.orelse:
            raise Untranslatable("for loop")
        for value in values.elts:
            self.locals[node.target.id] = value
            self.block(node.body, when)

    def assign(self, target: ast.expr, value: ast.expr, when: list[str]) -> None:
        if isinstance(target, ast.Name):
            new = self.rewrite(value)
            text = ast.unparse(new)
            if "pop(" in text:
                new = ast.Name(self.let(text, when))
            self.locals[target.id] = new
            return
        if isinstance(target, ast.Attribute):
            self.add({"set": self.target_name(target)}, when, value)
            return
        if isinstance(target, ast.Subscript) and getattr(target.value, "id", "") == "kwargs":
            self.add({"key": self.constant(target.slice)}, when, value)
            return
        if isinstance(target, ast.Subscript) and getattr(getattr(target.value, "value", None), "id", "") == "self":
            self.change_item(target, value, when)
            return
        raise Untranslatable(f"assignment to {ast.unparse(target)}")

    def add(self, step: Step, when: list[str], value: ast.expr) -> None:
        new = self.rewrite(value)
        name = step.get("set", "")
        self.freeze(name)
        if name and isinstance(new, ast.IfExp):
            here, there = ast.unparse(new.body), ast.unparse(new.orelse)
            if here == name:
                when, new = [*when, ast.unparse(_negate(new.test))], new.orelse
            elif there == name:
                when, new = [*when, ast.unparse(new.test)], new.body
        elif name and isinstance(new, ast.BoolOp) and isinstance(new.op, ast.Or) and ast.unparse(new.values[0]) == name:
            rest = new.values[1] if len(new.values) == 2 else ast.BoolOp(ast.Or(), new.values[1:])
            when, new = [*when, f"not {name}"], rest
        self.steps.append({**self.with_when(step, when), "to": ast.unparse(new)})

    def freeze(self, field: str) -> None:
        """Keep the value of local names that speak of a field which is about to change."""
        for local, value in self.locals.items():
            text = ast.unparse(value)
            if field and self.last_read.get(local, 0) > self.line and field in _names(text):
                self.locals[local] = ast.Name(self.let(text, []))

    @property
    def steps(self) -> list[Step]:
        return self.reader.steps

    def with_when(self, step: Step, when: list[str]) -> Step:
        if not when:
            return step
        texts = [f"({w})" if len(when) > 1 and " or " in w or " if " in w else w for w in when]
        return {**step, "when": " and ".join(texts)}

    def let(self, text: str, when: list[str]) -> str:
        self.reader.lets += 1
        name = f"let_{self.reader.lets}"
        self.steps.append({**self.with_when({"let": name}, when), "to": text})
        return name

    # names

    def canonical(self, name: str) -> str:
        return self.reader.aliases.get(name, name)

    def target_name(self, target: ast.expr) -> str:
        if isinstance(target, ast.Attribute):
            if isinstance(target.value, ast.Name) and target.value.id == "self":
                return self.canonical(target.attr)
            return ast.unparse(self.rewrite(target.value)) + "." + target.attr
        return ast.unparse(target)

    def constant(self, node: ast.expr) -> str:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
        raise Untranslatable(f"{ast.unparse(node)} is not a literal name")

    # expressions

    def rewrite(self, node: ast.expr) -> ast.expr:
        method = getattr(self, "rewrite_" + type(node).__name__.lower(), None)
        if method is None:
            raise Untranslatable(f"expression {type(node).__name__}: {ast.unparse(node)[:60]}")
        result: ast.expr = method(node)
        return result

    def rewrite_constant(self, node: ast.Constant) -> ast.expr:
        return node

    def rewrite_name(self, node: ast.Name) -> ast.expr:
        if node.id in self.bound or node.id.startswith("let_"):
            return node
        if node.id in self.locals:
            return self.locals[node.id]
        raise Untranslatable(f"name {node.id}")

    def rewrite_namedexpr(self, node: ast.NamedExpr) -> ast.expr:
        value = self.rewrite(node.value)
        text = ast.unparse(value)
        if "pop(" in text:
            value = ast.Name(self.let(text, []))
        self.locals[node.target.id] = value
        return value

    def rewrite_attribute(self, node: ast.Attribute) -> ast.expr:
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            return self.own_attribute(node.attr)
        if node.attr == "init_kwargs":
            return self.init_kwargs(node.value)
        return ast.Attribute(self.rewrite(node.value), node.attr)

    def own_attribute(self, name: str) -> ast.expr:
        name = self.canonical(name)
        held = getattr(self.reader.cls, name, None)
        if name not in self.reader.fields and isinstance(held, property) and held.fget is not None:
            return self.property_value(held)
        if name not in self.reader.fields and isinstance(held, int | float | str | list | tuple | dict):
            return _literal(held)
        return ast.Name(name)

    def property_value(self, held: property) -> ast.expr:
        """What a property returns: assignments to local names, then a return, or a chain of `if ...: return`."""
        scope = _Scope(self.reader, self.depth)
        return scope.returned(_source_tree(held.fget).body)

    def returned(self, body: list[ast.stmt]) -> ast.expr:
        for place, node in enumerate(body):
            if isinstance(node, ast.Return) and node.value is not None:
                return self.rewrite(node.value)
            if isinstance(node, ast.If) and isinstance(node.body[-1], ast.Return):
                test, rest = self.rewrite(node.test), [*node.orelse, *body[place + 1 :]]
                return ast.IfExp(test, self.returned(node.body), self.returned(rest))
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                self.locals[node.targets[0].id] = self.rewrite(node.value)
            elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant | ast.Call)):
                break
        raise Untranslatable("property with more than returns")

    def init_kwargs(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Subscript) and "sub_configs_defaults" in ast.unparse(node.value):
            spec = self.reader.cls.sub_configs_defaults[self.constant(node.slice)]  # type: ignore[attr-defined]
            return _literal(dict(spec.init_kwargs))
        raise Untranslatable(ast.unparse(node))

    def rewrite_call(self, node: ast.Call) -> ast.expr:
        if isinstance(node.func, ast.Attribute):
            return self.method_call(node, node.func)
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in ("getattr", "hasattr"):
            return self.attribute_call(name, node.args)
        if name == "isinstance":
            return self.isinstance_call(node.args[0], node.args[1])
        if name in _CALLS:
            return self.plain_call(name, node)
        raise Untranslatable(f"call {ast.unparse(node)[:60]}")

    def plain_call(self, name: str, node: ast.Call) -> ast.expr:
        keywords = [ast.keyword(k.arg, self.rewrite(k.value)) for k in node.keywords]
        return ast.Call(ast.Name(name), [self.rewrite(a) for a in node.args], keywords)

    def method_call(self, node: ast.Call, function: ast.Attribute) -> ast.expr:
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
        raise Untranslatable(f"method {ast.unparse(function)[:60]}")

    def attribute_call(self, name: str, args: list[ast.expr]) -> ast.expr:
        word = self.constant(self.rewrite(args[1]))
        if isinstance(args[0], ast.Name) and args[0].id == "self":
            held = self.own_attribute(word)
            if name == "hasattr":
                return ast.Call(ast.Name("has"), [ast.Constant(self.canonical(word))], [])
            if not isinstance(held, ast.Name) or self.canonical(word) in self.reader.fields:
                return held
            return ast.Call(ast.Name("field"), [ast.Constant(self.canonical(word)), *map(self.rewrite, args[2:])], [])
        owner = self.rewrite(args[0])
        function = "has_attribute" if name == "hasattr" else "attribute"
        return ast.Call(ast.Name(function), [owner, ast.Constant(word), *map(self.rewrite, args[2:])], [])

    def isinstance_call(self, value: ast.expr, kinds: ast.expr) -> ast.expr:
        words = [ast.unparse(k) for k in (kinds.elts if isinstance(kinds, ast.Tuple) else [kinds])]
        known = {"list", "tuple", "dict", "str", "int", "float", "bool", "PreTrainedConfig", "Iterable", "Sequence"}
        if not set(words) <= known:
            raise Untranslatable(f"isinstance {words}")
        return ast.Call(ast.Name("isinstance"), [self.rewrite(value), *(ast.Constant(w) for w in words)], [])

    def rewrite_compare(self, node: ast.Compare) -> ast.expr:
        if isinstance(node.comparators[-1], ast.Name) and node.comparators[-1].id == "kwargs":
            call: ast.expr = ast.Call(ast.Name("given"), [self.rewrite(node.left)], [])
            return call if isinstance(node.ops[0], ast.In) else ast.UnaryOp(ast.Not(), call)
        return ast.Compare(self.rewrite(node.left), node.ops, [self.rewrite(c) for c in node.comparators])

    def rewrite_boolop(self, node: ast.BoolOp) -> ast.expr:
        return ast.BoolOp(node.op, [self.rewrite(v) for v in node.values])

    def rewrite_binop(self, node: ast.BinOp) -> ast.expr:
        return ast.BinOp(self.rewrite(node.left), node.op, self.rewrite(node.right))

    def rewrite_unaryop(self, node: ast.UnaryOp) -> ast.expr:
        return ast.UnaryOp(node.op, self.rewrite(node.operand))

    def rewrite_ifexp(self, node: ast.IfExp) -> ast.expr:
        test = self.rewrite(node.test)
        return ast.IfExp(test, self.rewrite(node.body), self.rewrite(node.orelse))

    def rewrite_list(self, node: ast.List) -> ast.expr:
        return ast.List([self.rewrite(e) for e in node.elts])

    def rewrite_tuple(self, node: ast.Tuple | ast.Set) -> ast.expr:
        return ast.List([self.rewrite(e) for e in node.elts])

    rewrite_set = rewrite_tuple

    def rewrite_dict(self, node: ast.Dict) -> ast.expr:
        keys = [None if k is None else self.rewrite(k) for k in node.keys]
        return ast.Dict(keys, [self.rewrite(v) for v in node.values])

    def rewrite_starred(self, node: ast.Starred) -> ast.expr:
        return ast.Starred(self.rewrite(node.value))

    def rewrite_subscript(self, node: ast.Subscript) -> ast.expr:
        return ast.Subscript(self.rewrite(node.value), self.rewrite(node.slice))

    def rewrite_slice(self, node: ast.Slice) -> ast.expr:
        parts = [None if p is None else self.rewrite(p) for p in (node.lower, node.upper, node.step)]
        return ast.Slice(*parts)

    def rewrite_joinedstr(self, node: ast.JoinedStr) -> ast.expr:
        parts: list[ast.expr] = [
            ast.FormattedValue(self.rewrite(v.value), v.conversion) if isinstance(v, ast.FormattedValue) else v
            for v in node.values
        ]
        return ast.JoinedStr(parts)

    def rewrite_listcomp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> ast.expr:
        generators, outer = self.generators(node.generators)
        result = ast.ListComp(self.rewrite(node.elt), generators)
        self.bound = outer
        return result

    rewrite_generatorexp = rewrite_setcomp = rewrite_listcomp

    def rewrite_dictcomp(self, node: ast.DictComp) -> ast.expr:
        generators, outer = self.generators(node.generators)
        result = ast.DictComp(self.rewrite(node.key), self.rewrite(node.value), generators)
        self.bound = outer
        return result

    def generators(self, nodes: list[ast.comprehension]) -> tuple[list[ast.comprehension], set[str]]:
        outer, result = set(self.bound), []
        for node in nodes:
            source = self.rewrite(node.iter)
            self.bound |= {n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)}
            result.append(ast.comprehension(node.target, source, [self.rewrite(i) for i in node.ifs], 0))
        return result, outer


def _effects(node: ast.If) -> int:
    """How many statements under a condition do more than log or raise."""
    calls = [n.value for n in ast.walk(node) if isinstance(n, ast.Expr) and isinstance(n.value, ast.Call)]
    owners = [getattr(getattr(c.func, "value", None), "id", "") for c in calls]
    assignments = [n for n in ast.walk(node) if isinstance(n, ast.Assign | ast.AnnAssign | ast.AugAssign)]
    return len(assignments) + sum(owner not in _SILENT for owner in owners)


def _loads(tree: ast.AST) -> list[ast.Name]:
    return [n for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]


def _targets(node: ast.If) -> list[ast.expr]:
    found: list[ast.expr] = []
    for child in ast.walk(node):
        if isinstance(child, ast.Assign):
            found += child.targets
        elif isinstance(child, ast.AnnAssign | ast.AugAssign):
            found.append(child.target)
    return [t.value if isinstance(t, ast.Subscript) else t for t in found if isinstance(t, ast.Attribute | ast.Subscript)]
