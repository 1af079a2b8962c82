"""`archscope families`."""

from __future__ import annotations

import json
from collections.abc import Callable
from difflib import get_close_matches
from importlib import resources
from typing import NamedTuple

import click

from archscope.cli.exits import CLEAN
from archscope.cli.output import emit, output_option
from archscope.errors import InputError
from archscope.families import registry
from archscope.families.missing import MISSING
from archscope.report.escape import visible


class _Row(NamedTuple):
    """One model type. `fidelity` is the best that a config of the type gets."""

    model_type: str
    family: str
    fidelity: str
    verified: str


@click.command()
@click.argument("model_types", nargs=-1, metavar="[MODEL_TYPE]...")
@click.option("--format", "format_", type=click.Choice(["table", "json", "markdown"]), default="table",
              show_default=True, help="How the list is written.")  # fmt: skip
@output_option
def command(model_types: tuple[str, ...], format_: str, output: str | None) -> int:
    """List the model types that archscope builds, and what each builder was compared with.

    Types of remote code are "inferred": their names and shapes follow published checkpoints, since no release of transformers
    has their classes. Types that are not listed are introspected (with torch), read off the weights, or guessed.

    \b
    Examples:
      archscope families
      archscope families deepseek_v3 chatglm
      archscope families --format markdown -o families.md
    """
    emit(_WRITERS[format_](_rows(model_types)), output)
    return CLEAN


def _rows(wanted: tuple[str, ...]) -> list[_Row]:
    index = registry.index()
    text = resources.files("archscope.families").joinpath("verified.json").read_text(encoding="utf-8")
    verified = json.loads(text)
    for model_type in wanted:
        if model_type not in index:
            near = get_close_matches(model_type, index, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise InputError(f"archscope has no builder for model type {visible(model_type)!r}{hint}")
    return [
        _Row(
            model_type,
            module.removeprefix(registry.REMOTE),
            "inferred" if registry.is_remote(model_type) else "exact",
            verified.get(model_type, "nothing"),
        )
        for model_type, module in sorted(index.items(), key=lambda item: item[0].lower())
        if not wanted or model_type in wanted
    ]


def _table(rows: list[_Row]) -> str:
    titled = [_Row("model type", "family", "fidelity", "compared with"), *rows]
    widths = [max(len(row[column]) for row in titled) for column in range(3)]
    lines = [
        "  ".join([*(f"{cell:{room}}" for cell, room in zip(row, widths, strict=False)), row[3]]) for row in titled
    ]
    lines += [f"{name}: not built, {reason}" for name, reason in MISSING.items()]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _json(rows: list[_Row]) -> str:
    listed = [row._asdict() for row in rows]
    return json.dumps({"version": 1, "families": listed, "missing": dict(MISSING)}, indent=2) + "\n"


def _markdown(rows: list[_Row]) -> str:
    head = "| model type | family | fidelity | compared with |\n| --- | --- | --- | --- |\n"
    lines = (f"| `{row.model_type}` | {row.family} | {row.fidelity} | {row.verified} |\n" for row in rows)
    missing = (f"| `{name}` | | not built | {reason} |\n" for name, reason in MISSING.items())
    return "".join([head, *lines, *missing])


_WRITERS: dict[str, Callable[[list[_Row]], str]] = {"table": _table, "json": _json, "markdown": _markdown}
