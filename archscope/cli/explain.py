"""`archscope explain`."""

from __future__ import annotations

import click

from archscope.cli.exits import CLEAN
from archscope.cli.output import emit, output_option
from archscope.errors import UsageError


@click.command()
@click.argument("name", metavar="RULE_OR_FIELD")
@output_option
def command(name: str, output: str | None) -> int:
    """Explain a rule, or a field of config.json: who declares it, its defaults, its other names.

    \b
    Examples:
      archscope explain indivisible-kv-heads
      archscope explain num_key_value_heads
    """
    emit(_explanation(name), output)
    return CLEAN


def _explanation(name: str) -> str:
    from archscope.cli.explain_field import explain_field, known_fields
    from archscope.cli.explain_rule import explain_rule
    from archscope.rules import all_rules

    for kind in all_rules():
        if kind.name == name:
            return explain_rule(kind)
    text = explain_field(name)
    if text:
        return text
    from difflib import get_close_matches

    near = get_close_matches(name, [*(kind.name for kind in all_rules()), *known_fields()], n=3)
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "`archscope rules` lists the rules"
    raise UsageError(f"there is no rule and no field {name!r}; {hint}")
