"""What a config class does to its fields after they are set, as a list of formulas.

`__post_init__` of a config class fills fields from other fields. `steps_of` reads it (syntax tree, never by running
it) and writes each assignment as one row of our own notation, evaluated by `archscope.config.formulas`:

    {"set": FIELD, "when": CONDITION, "to": FORMULA}     a field, under a condition (absent: always)
    {"key": KEY, "when": ..., "to": ...}                 a key of the file, as if it had been written there
    {"drop": KEY}                                        a key of the file that is read and forgotten
    {"let": NAME, "to": ...}                             a value that later rows speak of
    {"do": NAME, ...}                                    a procedure of `archscope.config.procedures`
    {"base": true}                                       what the common base class does (sub-configs, rope, other keys)

Formulas are Python expressions over field names, with `key("k", d)` for a key of the file, `pop("k", d)` for one that
is forgotten afterwards and `given("k")` for whether it is there. A shape that this reading does not know is
`UntranslatableError`: such a class needs a procedure written by hand.
"""

from __future__ import annotations

import ast

from archscope.dev.expressions import Expressions, Reading, Step, UntranslatableError, names_of, source_tree

__all__ = ["Step", "UntranslatableError", "property_formula", "setter_steps", "steps_of"]

_SILENT = frozenset({"logger", "warnings"})


def steps_of(cls: type, fields: frozenset[str]) -> list[Step]:
    """The steps of a config class, from its own `__post_init__` down to that of the base class.

    Raises: UntranslatableError, naming the first piece that is not understood.
    """
    chain = [k for k in cls.__mro__ if "__post_init__" in vars(k)]
    return _read(Reading(cls, chain, fields), 0)


def property_formula(cls: type, held: property, fields: frozenset[str]) -> str:
    """The formula of a property, "" for one that is no formula."""
    reader = Reading(cls, [], fields)
    try:
        formula = ast.unparse(_Statements(reader, 0).property_value(held))
    except UntranslatableError:
        return ""
    return "" if reader.steps or "pop(" in formula or " _" in f" {formula}" else formula


def setter_steps(cls: type, held: property, fields: frozenset[str]) -> list[Step] | None:
    """What giving a value of a property's name does, the value being `let_value`.

    Returns: None where the class refuses it, or computes the value and has no way to set it.
    """
    if held.fset is None:
        return None
    reader, tree = Reading(cls, [], fields), source_tree(held.fset)
    if isinstance(tree.body[-1], ast.Raise):
        return None
    scope = _Statements(reader, 0)
    scope.locals[tree.args.args[-1].arg] = ast.Name("let_value")
    scope.block(tree.body, [])
    return reader.steps


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


def _read(reading: Reading, depth: int) -> list[Step]:
    """Append the steps of the method at this place of the chain."""
    if depth == len(reading.chain) - 1:
        reading.steps.append({"base": True})
        return reading.steps
    tree = source_tree(vars(reading.chain[depth])["__post_init__"])
    scope = _Statements(reading, depth)
    scope.last_read = {n.id: n.lineno for n in sorted(_loads(tree), key=lambda n: n.lineno)}
    scope.block(tree.body, [])
    return reading.steps


class _Statements(Expressions):
    """The statements of one method."""

    def __init__(self, reader: Reading, depth: int) -> None:
        super().__init__(reader, depth)
        # The last line that reads each local name, and the line that is being read now.
        self.last_read: dict[str, int] = {}
        self.line = 0

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
            raise UntranslatableError("return")
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
            raise UntranslatableError(f"statement {type(node).__name__}")

    def expression_statement(self, node: ast.expr, when: list[str]) -> None:
        if isinstance(node, ast.Constant):
            return
        if _is_super_call(node, "__post_init__"):
            self.super_call(node, when)
            return
        if not isinstance(node, ast.Call):
            raise UntranslatableError("expression statement")
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
        raise UntranslatableError(f"call {ast.unparse(node)[:80]}")

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
            raise UntranslatableError("conditional super().__post_init__")
        assert isinstance(node, ast.Call)
        for keyword in node.keywords:
            if keyword.arg is not None:
                self.add({"key": keyword.arg}, [], keyword.value)
        _read(self.reader, self.depth + 1)

    def branch(self, node: ast.If, when: list[str]) -> None:
        test = self.rewrite(node.test)
        text = ast.unparse(test)
        written = [self.target_name(t) for t in _targets(node)]
        if (_effects(node) > 1 and set(written) & names_of(text)) or "pop(" in text:
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
            raise UntranslatableError("for loop")
        for value in values.elts:
            self.locals[node.target.id] = value
            self.block(node.body, when)

    def assign(self, target: ast.expr, value: ast.expr, when: list[str]) -> None:
        if isinstance(target, ast.Name):
            new = self.rewrite(value)
            text = ast.unparse(new)
            if "pop(" in text or " for " in text:
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
        raise UntranslatableError(f"assignment to {ast.unparse(target)}")

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
            if field and self.last_read.get(local, 0) > self.line and field in names_of(text):
                self.locals[local] = ast.Name(self.let(text, []))


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
    return [
        t.value if isinstance(t, ast.Subscript) else t for t in found if isinstance(t, ast.Attribute | ast.Subscript)
    ]
