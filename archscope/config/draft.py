"""A config while it is being resolved: the only mutable thing of this package."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from archscope.config.annotations import check_type, checker, coerce
from archscope.config.formulas import FAILURES, MAX_LENGTH, ImplausibleSizeError, Scope, evaluate, names_in
from archscope.config.origin import Origin, Problem, escape
from archscope.config.schema import Field, Schema


class Draft(Scope):
    """Fields (`values`), keys that the class does not declare (`extras`), and what is known of each.

    It is the scope that formulas are evaluated in.
    """

    __slots__ = (
        "found",
        "moved",
        "owner_type",
        "pointer",
        "pointers",
        "problems",
        "raw",
        "schema",
        "values",
    )

    def __init__(self, schema: Schema | None, raw: Mapping[str, Any], pointer: str, owner_type: str = "") -> None:
        self.schema = schema
        self.raw = raw
        self.pointer = pointer
        self.owner_type = owner_type
        self.values: dict[str, Any] = {}
        self.extras: dict[str, Any] = {}
        self.lets: dict[str, Any] = {}
        self.budget = 0
        self.found: dict[str, Origin] = {}
        self.problems: dict[str, Problem] = {}
        # Keys that stand elsewhere in the file than in the object at `pointer`; "" for those that stand nowhere.
        self.pointers: dict[str, str] = {}
        # The same for keys that were moved into a sub-config, by its name.
        self.moved: dict[str, dict[str, str]] = {}

    # the scope of formulas

    def canonical(self, name: str) -> str:
        """The name under which the class stores a field."""
        return self.schema.aliases.get(name, name) if self.schema is not None else name

    def field(self, name: str) -> Any:
        """The value of a field, under any of its names. Raises: AttributeError."""
        try:
            return self.values[self.canonical(name)]
        except KeyError:
            return self.beyond(self.canonical(name))

    def beyond(self, name: str) -> Any:
        """What the class has beside its fields: a constant, or a value computed when it is read. Raises: FAILURES."""
        from archscope.config.computed import compute

        if self.schema is not None and name in self.schema.constants:
            return self.schema.constants[name]
        return compute(self, name)

    def has(self, name: str) -> bool:
        """Whether there is such a field."""
        return self.canonical(name) in self.values

    # filling

    def pointer_of(self, key: str) -> str:
        """Where a key of this object stands in the file, "" where it does not."""
        if key in self.pointers:
            return self.pointers[key]
        return f"{self.pointer}/{escape(key)}" if key in self.raw else ""

    def take(self, given: Mapping[str, Any]) -> None:
        """Set the declared fields: from the given keys after a check, else from the defaults; keep the other keys."""
        assert self.schema is not None
        fields, values, extras, aliases = self.schema.fields, self.values, self.extras, self.schema.aliases
        values.update(self.schema.defaults)
        for key, value in given.items() if not self.schema.renamed else self._in_class_order(given):
            value = decoded(value) if type(value) in (list, dict) else value
            field = fields.get(key)
            if field is None:
                extras[key] = value
            elif checker(field.annotation)(value) and _in_range(field, value):
                values[aliases.get(key, key)] = value
            else:
                values[aliases.get(key, key)] = self.stand_in(field, value, key)

    def _in_class_order(self, given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        # Where the class declares an alias of a field as a field too, what it sets last wins, be it a default.
        assert self.schema is not None
        renamed, aliases = self.schema.renamed, self.schema.aliases
        stored = {aliases[name] for name in renamed}
        for name, field in self.schema.fields.items():
            if name in given:
                yield name, given[name]
            elif name in renamed or name in stored:
                self.values[aliases.get(name, name)] = field.default
        yield from ((key, value) for key, value in given.items() if key not in self.schema.fields)

    def stand_in(self, field: Field, value: Any, key: str) -> Any:
        """A usable value for one that does not fit, and the note of why."""
        reason = check_type(field.annotation, value)
        checked = field.checked and key == field.name
        if reason is None:
            kind, reason = "range", _range_reason(field, value)
        else:
            kind = "null" if value is None else "type"
        if kind != "type" or field.checked or key != field.name:
            self.note(field.name, Problem(kind, reason, value, self.pointer_of(key), checked))  # type: ignore[arg-type]
        if kind == "range":
            return value
        fits, better = coerce(field.annotation, value)
        if fits:
            return better
        return value if not field.checked and value is not None else field.default

    def note(self, name: str, problem: Problem) -> None:
        """Record the first problem of a field."""
        self.problems.setdefault(name, problem)

    # steps

    def assign(self, name: str, value: Any, formula: str, fields: tuple[str, ...] | None = None) -> None:
        """Set a field to a derived value. A value that is what it was keeps its origin."""
        owner, name = self._owner(name)
        if name == "num_labels" and not owner.declares(name):
            owner.set_num_labels(value)
            return
        name = owner.canonical(name)
        if owner.set_property(name, value, ""):
            return
        old = owner.values.get(name, owner)
        if old is not owner and type(old) is type(value) and (old is value or old == value):
            return
        owner.values[name] = value
        owner.found[name] = Origin("derived", source=formula, fields=names_in(formula) if fields is None else fields)

    def set_property(self, name: str, value: Any, pointer: str) -> bool:
        """Give a value to what the class computes itself: whatever the class then does, or a note that it refuses.

        Returns: whether the class computes a value of this name.
        """
        held = self.schema.properties.get(name) if self.schema is not None else None
        if held is None or name in self.values:
            return False
        if held.steps is None:
            self.note(name, Problem("read-only", "the class computes this itself", value, pointer))
            return True
        self.lets["let_value"] = value
        for step in held.steps:
            self.run(step.kind, step.name, step.when, step.formula)
        return True

    def declares(self, name: str) -> bool:
        """Whether the class declares such a field."""
        return self.schema is not None and name in self.schema.fields

    def set_num_labels(self, count: Any) -> None:
        """Name the labels of a classifier: LABEL_0, LABEL_1, ... unless there are as many names already."""
        pointer = self.pointer_of("num_labels")
        if type(count) is not int:
            self.note("num_labels", Problem("type", "expected int", count, pointer))
            return
        if count > MAX_LENGTH:
            self.note("num_labels", Problem("size", f"implausible size: over {MAX_LENGTH} labels", count, pointer))
            return
        held = self.values.get("id2label")
        if not isinstance(held, dict) or len(held) != count:
            self.values["id2label"] = {i: f"LABEL_{i}" for i in range(count)}
            self.values["label2id"] = {f"LABEL_{i}": i for i in range(count)}
            for name in ("id2label", "label2id"):
                self.found[name] = Origin("derived", source="one label for each of num_labels", fields=("num_labels",))

    def _owner(self, name: str) -> tuple[Draft, str]:
        owner: Any = self
        *path, last = name.split(".")
        for part in path:
            owner = owner.field(part)
            if not isinstance(owner, Draft):
                raise AttributeError(f"{part} is no config")
        return owner, last

    def run(self, kind: str, name: str, when: str, formula: str) -> None:
        """One step that is a formula; what cannot be evaluated is noted and leaves the field as it was."""
        try:
            if when and not evaluate(when, self):
                return
            if kind == "drop":
                self.forget(name)
                return
            value = evaluate(formula, self)
            if kind == "let":
                self.lets[name] = value
            elif kind == "key":
                self.extras[name] = value
                self.pointers.setdefault(name, "")
            else:
                self.assign(name, value, formula)
        except ImplausibleSizeError as error:
            self.note(name, Problem("size", f"implausible size: {error}"))
        except FAILURES as error:
            if kind == "let":
                self.lets[name] = None
            self.note(name, Problem("derived", f"cannot be derived: {_why(error)}"))

    def put(self, name: str, formula: str, when: str = "") -> None:
        """Set a field by a formula."""
        self.run("set", name, when, formula)

    def set_aside(self, name: str, formula: str, when: str = "") -> None:
        """Keep a value under a name (`let_...`) for later formulas."""
        self.run("let", name, when, formula)

    def set_key(self, name: str, formula: str) -> None:
        """Act as if a key that the file does not have were written in it."""
        if name not in self.extras:
            self.run("key", name, "", formula)

    def take_from(self, name: str, value: Any, path: str, key: str) -> None:
        """Set a field from a key that this class reads under another name.

        Args:
            name: the field.
            value: what is written.
            path: where, below this object; "" for a place that is not in the file.
            key: as spelled there.
        """
        field = self.schema.fields.get(name) if self.schema is not None else None
        self.pointers[key] = pointer = self.pointer + path
        if field is not None and not checker(field.annotation)(value):
            value = self.stand_in(field, value, key)
        self.values[self.canonical(name)] = value
        self.found[self.canonical(name)] = Origin("alias", pointer, key)

    def sub_drafts(self) -> Iterator[tuple[str, Draft]]:
        """The sub-configs, by name."""
        return ((name, value) for name, value in self.values.items() if isinstance(value, Draft))


_FLOATS: Mapping[str, float] = {"Infinity": float("inf"), "-Infinity": float("-inf"), "NaN": float("nan")}


def decoded(value: Any) -> Any:
    """A value in which {"__float__": "Infinity"} is the float; looked for in the value itself and one level below.

    Source: transformers configuration_utils.py, `_decode_special_floats`, which saves such floats in this way.
    """
    if isinstance(value, dict):
        if len(value) == 1 and "__float__" in value and isinstance(value["__float__"], str):
            return _FLOATS.get(value["__float__"], value)
        if any(type(v) is dict and "__float__" in v for v in value.values()):
            return {k: decoded(v) if type(v) is dict else v for k, v in value.items()}
    elif isinstance(value, list) and any(type(v) is dict and "__float__" in v for v in value):
        return [decoded(v) if type(v) is dict else v for v in value]
    return value


def _why(error: BaseException) -> str:
    if isinstance(error, ZeroDivisionError):
        return "division by zero"
    text = " ".join(str(error).split())[:120]
    return text or type(error).__name__


def _in_range(field: Field, value: Any) -> bool:
    low, high, above, below = field.minimum, field.maximum, field.exclusive_minimum, field.exclusive_maximum
    if low is None and high is None and above is None and below is None:
        return True
    if type(value) not in (int, float):
        return True
    return (
        (low is None or value >= low)
        and (high is None or value <= high)
        and (above is None or value > above)
        and (below is None or value < below)
    )


def _range_reason(field: Field, value: Any) -> str:
    bounds = (
        ("at least", field.minimum),
        ("above", field.exclusive_minimum),
        ("at most", field.maximum),
        ("below", field.exclusive_maximum),
    )
    wanted = " and ".join(f"{word} {bound:g}" for word, bound in bounds if bound is not None)
    shown = (
        f"{value:d}"
        if isinstance(value, int) and abs(value) < 10**20
        else f"{value:g}"
        if isinstance(value, float)
        else "a huge number"
    )
    return f"must be {wanted}, got {shown}"
