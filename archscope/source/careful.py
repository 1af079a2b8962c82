"""JSON that knows where everything stands and reads on after a mistake."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

from archscope.diagnostics import Diagnostic, Edit, Fix, Severity
from archscope.source.lexer import Lexer, Token, shown
from archscope.source.limits import MAX_DEPTH, MAX_PROBLEMS
from archscope.source.pointer import Path, pointer
from archscope.source.spans import SpanIndex, SpanNode
from archscope.source.text import SourceText, Span

_CLOSES = {"{": "}", "[": "]"}
_Step: TypeAlias = "Callable[[Token], _Step | None]"


class Parsed(NamedTuple):
    """What could be read, where it stands, and what is wrong with it."""

    value: Any
    spans: SpanIndex
    problems: tuple[Diagnostic, ...]


def locate(source: SourceText) -> Parsed:
    """Read a document with the span of every key and value, whatever the state of its text."""
    return _Parser(source).run()


class _EnoughError(Exception):
    """Too many problems: the rest of the text is not worth reading."""


class _Frame:
    """An open object or array."""

    __slots__ = ("comma", "key", "kind", "node", "path", "slot", "value")

    def __init__(self, kind: str, start: int, path: Path) -> None:
        self.kind = kind
        self.value: Any = {} if kind == "{" else []
        self.node = SpanNode(start, is_object=kind == "{")
        self.path = path
        self.slot = 0  # in the parent's node
        self.key: tuple[str, int, int] | None = None
        self.comma = -1  # offset of a comma that nothing followed yet

    def member(self) -> Path:
        """The path of the member or item being read; the container's own before a key."""
        if self.kind == "[":
            return (*self.path, len(self.value))
        return (*self.path, self.key[0]) if self.key else self.path


class _Repeat(NamedTuple):
    """A key written twice in one object."""

    name: str
    first: Span
    second: Span
    before: Any
    frame: _Frame


class _Parser:
    """A table-free state machine: each step takes a token and returns the next step."""

    def __init__(self, source: SourceText) -> None:
        self.source = source
        self.lexer = Lexer(source, self.report)
        self.problems: list[Diagnostic] = []
        self.counts: dict[str, int] = {}
        self.stack: list[_Frame] = []
        self.repeats: list[_Repeat] = []
        self.root: Any = None
        self.root_node: SpanNode | None = None
        self.root_span: Span | None = None
        self.last_end = 0

    def run(self) -> Parsed:
        """Read the whole text."""
        step: _Step | None = self.read_value
        try:
            while step is not None:
                step = step(self.lexer.next())
        except _EnoughError:
            self.note_the_rest()
        while self.stack:
            self.close(len(self.source.text))
        for repeat in self.repeats:
            self.report_repeat(repeat)
        problems = [self.with_count(problem) for problem in self.problems]
        problems.sort(key=Diagnostic.sort_key)
        return Parsed(self.root, SpanIndex(self.root_node, self.root_span), tuple(problems))

    # Problems

    def report(
        self,
        rule: str,
        severity: Severity,
        message: str,
        span: Span,
        *,
        help: str = "",
        fix: Fix | None = None,
        path: Path | None = None,
    ) -> None:
        """Record a problem, on what is being read unless a path says otherwise; stop when the text is hopeless."""
        count = self.counts[rule] = self.counts.get(rule, 0) + 1
        if count > MAX_PROBLEMS:
            if rule in ("invalid-json", "too-deep"):
                raise _EnoughError
            return
        place = self.source.place(span, pointer(self.path() if path is None else path))
        self.problems.append(Diagnostic(rule, severity, message, place, (), help, (fix,) if fix else ()))

    def fault(self, message: str, span: Span, *, help: str = "", fix: Fix | None = None) -> None:
        """Record a syntax error."""
        self.report("invalid-json", Severity.ERROR, message, span, help=help, fix=fix)

    def with_count(self, problem: Diagnostic) -> Diagnostic:
        """Say how many more of its kind the last reported problem stands for."""
        more = self.counts[problem.rule] - MAX_PROBLEMS
        if more <= 0 or problem is not [other for other in self.problems if other.rule == problem.rule][-1]:
            return problem
        return replace(problem, message=f"{problem.message} (and {more:,} more of this kind)")

    def note_the_rest(self) -> None:
        """Say that reading stopped."""
        last = next(problem for problem in reversed(self.problems) if problem.rule in ("invalid-json", "too-deep"))
        self.counts[last.rule] = MAX_PROBLEMS
        self.problems[self.problems.index(last)] = replace(
            last, help=f"{last.help}{'; ' if last.help else ''}the text after this place is not read"
        )

    def path(self) -> Path:
        """The path of what is being read."""
        return self.stack[-1].member() if self.stack else ()

    # Values

    def put(self, value: object, start: int, end: int) -> int:
        """Give a value its place in the open container; returns its slot there."""
        self.last_end = end
        if not self.stack:
            self.root, self.root_span = value, Span(start, end)
            return 0
        frame = self.stack[-1]
        if frame.kind == "[":
            slot = frame.node.add(start, end, None)
            frame.value.append(value)
        else:
            key = frame.key
            assert key is not None
            name = key[0]
            if name in frame.value:
                first = frame.node.key_span(frame.node.slot(name) or 0)
                assert first is not None
                if len(self.repeats) < MAX_PROBLEMS:
                    self.repeats.append(_Repeat(name, first, Span(*key[1:]), frame.value[name], frame))
                else:
                    self.counts["duplicate-key"] = self.counts.get("duplicate-key", 0) + 1
            slot = frame.node.add(start, end, key)
            frame.value[name] = value
            frame.key = None
        frame.comma = -1
        return slot

    def open(self, token: Token) -> _Step:
        """Start an object or array; one too many levels down is skipped."""
        if len(self.stack) >= MAX_DEPTH:
            self.report("too-deep", Severity.ERROR, f"values are nested more than {MAX_DEPTH} levels deep",
                        Span(token.start, token.end))  # fmt: skip
            raise _EnoughError
        frame = _Frame(token.kind, token.start, self.path())
        parent = self.stack[-1] if self.stack else None
        frame.slot = self.put(frame.value, token.start, token.end)
        if parent is None:
            self.root_node = frame.node
        else:
            parent.node.children[frame.slot] = frame.node
        self.stack.append(frame)
        return self.skim(frame)

    def skim(self, frame: _Frame) -> _Step:
        """Start reading what comes next in a container, and take the plain members of an object at one go."""
        if frame.kind == "[":
            return self.read_value
        while member := self.lexer.next_member(frame.value):
            frame.key = member.key
            self.put(member.value, member.start, member.end)
            if member.comma is None:
                return self.read_separator
            frame.comma = member.comma
        return self.read_key

    def close(self, end: int) -> _Step:
        """End the innermost object or array."""
        frame = self.stack.pop()
        frame.node.end = self.last_end = end
        if self.stack:
            self.stack[-1].node.close(frame.slot, end)
        elif self.root_span:
            self.root_span = Span(self.root_span.start, end)
        return self.read_separator if self.stack else self.read_end

    # Steps

    def read_value(self, token: Token) -> _Step | None:
        """After `[`, `:` or a comma in an array, and at the start."""
        frame = self.stack[-1] if self.stack else None
        if token.kind in ("{", "["):
            return self.open(token)
        if token.kind in ("string", "scalar"):
            self.put(token.value, token.start, token.end)
            return self.read_separator if frame else self.read_end
        if token.kind == "word":
            return self.read_word(token)
        if frame is None:
            self.refuse_start(token)
            return None
        if token.kind == "]" and frame.kind == "[":
            return self.close_after(frame, token)
        if token.kind in (",", "}") and frame.kind == "{":
            self.fault(f"no value for {shown(frame.key[0] if frame.key else '')}", self.key_place(frame))
            frame.key = None
            return self.read_separator(token)
        if token.kind == ",":
            self.fault("no value before the comma", Span(token.start, token.end))
            return self.read_value
        return self.stray(token, self.read_value)

    def read_word(self, token: Token) -> _Step:
        """A word without quotes where a value belongs."""
        span = Span(token.start, token.end)
        self.fault(f"{shown(token.value)} is not a JSON value", span, help="strings stand in double quotes")
        if not self.stack:
            raise _EnoughError
        self.put(token.value, token.start, token.end)
        return self.read_separator

    def refuse_start(self, token: Token) -> None:
        """A text that does not start with a value."""
        if token.kind == "end":
            self.fault("the file is empty", Span(0, 0), help="a config.json is one JSON object")
        else:
            self.fault(f"the text starts with {self.written(token)}, not with a JSON value",
                       Span(token.start, token.end), help="a config.json is one JSON object")  # fmt: skip

    def read_key(self, token: Token) -> _Step | None:
        """After `{` or a comma in an object."""
        frame = self.stack[-1]
        span = Span(token.start, token.end)
        if token.kind == "string":
            frame.key = (token.value, token.start, token.end)
            return self.read_colon
        if token.kind == "}":
            return self.close_after(frame, token)
        if token.kind in ("word", "scalar"):
            written = self.written(token)
            self.fault(f"the key {written} is not in double quotes", span)
            frame.key = (written, token.start, token.end)
            return self.read_colon
        if token.kind in ("{", "["):
            self.fault(f"{token.kind} stands where a key belongs", span)
            raise _EnoughError
        if token.kind == ",":
            self.fault("no key and value before the comma", span)
            return self.read_key
        return self.stray(token, self.read_key)

    def read_colon(self, token: Token) -> _Step | None:
        """After a key."""
        frame = self.stack[-1]
        if token.kind == ":":
            return self.read_value
        if token.kind in (",", "}"):
            self.fault(f"no value for {shown(frame.key[0] if frame.key else '')}", self.key_place(frame))
            frame.key = None
            return self.read_separator(token)
        if token.kind in ("string", "scalar", "word", "{", "["):
            self.fault(f"no colon after {shown(frame.key[0] if frame.key else '')}", self.key_place(frame))
            return self.read_value(token)
        if token.kind == "junk" and token.value == "=":
            self.fault("= stands where a colon belongs", Span(token.start, token.end))
            return self.read_value
        return self.stray(token, self.read_colon)

    def read_separator(self, token: Token) -> _Step | None:
        """After a value in an object or array."""
        frame = self.stack[-1]
        following = self.read_key if frame.kind == "{" else self.read_value
        if token.kind == ",":
            frame.comma = token.start
            return self.skim(frame)
        if token.kind == _CLOSES[frame.kind]:
            return self.close(token.end)
        if token.kind in ("string", "scalar", "word", "{", "["):
            fix = Fix("insert a comma", (Edit(self.source.name, self.last_end, self.last_end, ","),))
            self.fault("no comma after this value", Span(max(self.last_end - 1, 0), self.last_end), fix=fix)
            return following(token)
        if token.kind == "junk" and token.value == ";":
            self.fault("; stands where a comma belongs", Span(token.start, token.end))
            return following
        return self.stray(token, self.read_separator)

    def read_end(self, token: Token) -> None:
        """After the outermost value."""
        if token.kind != "end":
            self.fault(f"{self.written(token)} stands after the end of the document", Span(token.start, token.end))

    def close_after(self, frame: _Frame, token: Token) -> _Step:
        """A bracket closes right after the opening one or after a comma."""
        if frame.comma >= 0:
            span = Span(frame.comma, frame.comma + 1)
            fix = Fix("remove the comma", (Edit(self.source.name, *span, ""),), safe=True)
            self.report("trailing-comma", Severity.ERROR, f"a comma stands before {token.kind}", span,
                        help="JSON has no trailing commas", fix=fix, path=frame.path)  # fmt: skip
        return self.close(token.end)

    def stray(self, token: Token, again: _Step) -> _Step | None:
        """A token that fits nowhere here: the end, a bracket of another kind, a colon, junk."""
        span = Span(token.start, token.end)
        kinds = [frame.kind for frame in self.stack]
        if token.kind == "end":
            opened = self.stack[-1].node.start
            line = self.source.position(opened)[0]
            self.fault(f"the text ends before the {kinds[-1]} of line {line} is closed", span)
            return None
        if token.kind in ("}", "]"):
            opener = "{" if token.kind == "}" else "["
            self.fault(f"{token.kind} closes no {opener}", span)
            if opener not in kinds:
                return again
            while self.stack[-1].kind != opener:
                self.close(token.start)
            self.stack[-1].key = None
            return self.close(token.end)
        self.fault(f"unexpected {self.written(token)}", span)
        return again

    def key_place(self, frame: _Frame) -> Span:
        """Span of the key being read."""
        return Span(*frame.key[1:]) if frame.key else Span(frame.node.start, frame.node.start + 1)

    def written(self, token: Token) -> str:
        """A token as it stands in the text, shortened."""
        return shown(self.source.text[token.start : token.end])

    def report_repeat(self, repeat: _Repeat) -> None:
        """State a repeated key, once both of its values are complete."""
        last = repeat.frame.value[repeat.name]
        same = type(last) is type(repeat.before) and last == repeat.before
        path = pointer((*repeat.frame.path, repeat.name))
        detail = "twice with the same value" if same else "twice with different values"
        self.counts["duplicate-key"] = self.counts.get("duplicate-key", 0) + 1
        self.problems.append(
            Diagnostic(
                "duplicate-key",
                Severity.WARNING if same else Severity.ERROR,
                f"the key {shown(repeat.name)} is written {detail}",
                self.source.place(repeat.second, path),
                (self.source.place(repeat.first, path, "first written here"),),
                help="remove one of them; readers take the last",
            )
        )
