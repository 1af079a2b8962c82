"""Runs the rules over what could be built, in an order that lets a rule wait for the ones it requires."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any, get_args

from archscope.blocks.base import Block
from archscope.config import Config
from archscope.diagnostics import Diagnostic, Severity
from archscope.rules import all_rules
from archscope.rules.base import Context, Finding, Rule
from archscope.source import Document
from archscope.structure import Structure

INTERNAL_ERROR = "internal-error"


def run(ctx: Context) -> tuple[Diagnostic, ...]:
    """The diagnostics of every rule, unsorted; a rule that crashes becomes an internal-error, the others still run."""
    spoke: set[str] = set()
    out: list[Diagnostic] = []
    targets = _Targets(ctx)
    for kind, target in _ordered():
        if spoke.intersection(kind.requires):
            continue
        found = list(_guarded(kind, target, targets))
        if found:
            spoke.add(kind.name)
        out += found
    return tuple(out)


def target_of(kind: type[Rule[Any]]) -> type:
    """The type parameter of a rule."""
    for base in kind.__orig_bases__:  # type: ignore[attr-defined]
        for argument in get_args(base):
            if isinstance(argument, type):
                return argument
    raise TypeError(f"{kind.__name__} does not say what it looks at: class {kind.__name__}(Rule[Config])")


def _guarded(kind: type[Rule[Any]], target: type, targets: _Targets) -> Iterator[Diagnostic]:
    try:
        yield from _diagnostics(kind, target, targets)
    except RecursionError:
        raise
    except Exception as error:
        message = f"rule {kind.name} failed on this file: {type(error).__name__}: {error}"
        place = targets.ctx.document.place(())
        yield Diagnostic(INTERNAL_ERROR, Severity.ERROR, message, place, help="please report this with the file")


def _diagnostics(kind: type[Rule[Any]], target: type, targets: _Targets) -> Iterator[Diagnostic]:
    rule = kind()
    seen = set()
    for one, here in targets.of(target):
        for finding in rule.check(one, here):
            key = (finding.message, finding.primary.pointer)
            if key not in seen:
                seen.add(key)
                yield _diagnostic(kind, finding, certain=target in (Document, Config) or targets.is_proven)


class _Targets:
    """What rules look at in one model, with the context of each, found once per kind of target."""

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        self._found: dict[type, tuple[tuple[Any, Context], ...]] = {}

    @property
    def is_proven(self) -> bool:
        """Whether what the structure says may be called an error."""
        return self.ctx.structure is None or self.ctx.structure.is_proven

    def of(self, target: type) -> tuple[tuple[Any, Context], ...]:
        if target not in self._found:
            self._found[target] = tuple(self._search(target))
        return self._found[target]

    def _search(self, target: type) -> Iterator[tuple[Any, Context]]:
        ctx = self.ctx
        if target is Document:
            yield ctx.document, ctx
        elif target is Config:
            for config in ctx.root.walk():
                yield config, ctx if config is ctx.root else replace(ctx, config=config)
        elif ctx.structure is None:
            return
        elif target is Structure:
            yield ctx.structure, ctx
        elif issubclass(target, Block):
            for placed in ctx.structure.of_type(target):
                yield placed.block, replace(ctx, config=ctx.root.at(placed.pointer), placed=placed)
        else:
            raise TypeError(f"no rule can look at {target.__name__}")


def _diagnostic(kind: type[Rule[Any]], finding: Finding, *, certain: bool) -> Diagnostic:
    severity = finding.severity or kind.severity
    return Diagnostic(
        rule=kind.name,
        severity=severity if certain or severity is not Severity.ERROR else Severity.WARNING,
        message=finding.message,
        place=finding.primary,
        related=tuple(finding.related),
        help=finding.help,
        fixes=finding.fixes,
    )


@cache
def _ordered() -> tuple[tuple[type[Rule[Any]], type], ...]:
    """Every rule with its target, after those that it requires.

    Raises: ValueError for a required rule that does not exist or a circle.
    """
    known = {kind.name: kind for kind in all_rules()}
    done: dict[str, type[Rule[Any]]] = {}

    def add(kind: type[Rule[Any]], waiting: tuple[str, ...]) -> None:
        if kind.name in waiting:
            raise ValueError(f"rules require each other in a circle: {' -> '.join((*waiting, kind.name))}")
        if kind.name in done:
            return
        for name in kind.requires:
            if name not in known:
                raise ValueError(f"{kind.name} requires {name}, which is no rule")
            add(known[name], (*waiting, kind.name))
        done[kind.name] = kind

    for kind in known.values():
        add(kind, ())
    return tuple((kind, target_of(kind)) for kind in done.values())
