"""`archscope rules`."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import Any

import click

from archscope.cli.exits import CLEAN
from archscope.cli.output import emit, output_option
from archscope.rules import all_rules
from archscope.rules.base import Rule

_Kind = type[Rule[Any]]


@click.command()
@click.option("--format", "format_", type=click.Choice(["table", "json", "markdown"]), default="table",
              show_default=True, help="How the list is written.")  # fmt: skip
@output_option
def command(format_: str, output: str | None) -> int:
    """List every rule with its severity and what it finds.

    \b
    Examples:
      archscope rules
      archscope rules --format json
    """
    emit(_WRITERS[format_](all_rules()), output)
    return CLEAN


def summary_of(kind: _Kind) -> str:
    """The first sentence of a rule's documentation."""
    return " ".join(inspect.cleandoc(kind.__doc__ or "").split("\n\n")[0].split())


def _table(rules: tuple[_Kind, ...]) -> str:
    room = max((len(kind.name) for kind in rules), default=0)
    return "".join(f"{kind.name:{room}}  {kind.severity.value:7}  {summary_of(kind)}\n" for kind in rules)


def _json(rules: tuple[_Kind, ...]) -> str:
    listed = [
        {
            "name": kind.name,
            "severity": kind.severity.value,
            "summary": summary_of(kind),
            "documentation": inspect.cleandoc(kind.__doc__ or ""),
        }
        for kind in rules
    ]
    return json.dumps({"version": 1, "rules": listed}, indent=2) + "\n"


def _markdown(rules: tuple[_Kind, ...]) -> str:
    head = "| rule | severity | what it finds |\n| --- | --- | --- |\n"
    rows = (f"| `{kind.name}` | {kind.severity.value} | {summary_of(kind).replace('|', chr(92) + '|')} |\n"
            for kind in rules)  # fmt: skip
    return head + "".join(rows)


_WRITERS: dict[str, Callable[[tuple[_Kind, ...]], str]] = {"table": _table, "json": _json, "markdown": _markdown}
