"""Which rules' diagnostics to report."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from archscope.diagnostics import Diagnostic
from archscope.errors import UsageError

# A broken rule is never silenced.
_ALWAYS = "internal-error"


class Selection(NamedTuple):
    """Rules asked for (none means all) and rules, or rules at one pointer, left out."""

    select: frozenset[str]
    ignore: frozenset[str]

    def keeps(self, diagnostic: Diagnostic) -> bool:
        """Whether to report a diagnostic."""
        if diagnostic.rule == _ALWAYS:
            return True
        if diagnostic.rule in self.ignore or f"{diagnostic.rule}@{diagnostic.pointer}" in self.ignore:
            return False
        return not self.select or diagnostic.rule in self.select


def selection(select: Iterable[str], ignore: Iterable[str]) -> Selection:
    """The selection that option values, each perhaps a list with commas, stand for.

    Raises: UsageError for a name that no rule has, with the nearest that one has.
    """
    selected, ignored = _split(select), _split(ignore)
    if selected or ignored:
        from archscope.rules import rule

        for name in (*selected, *(entry.partition("@")[0] for entry in ignored)):
            try:
                rule(name)
            except UsageError as error:
                raise UsageError(f"{error} (`archscope rules` lists them)") from error
    return Selection(frozenset(selected), frozenset(ignored))


def _split(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(name.strip() for value in values for name in value.split(",") if name.strip())
