"""The command group; a command's module is imported when that command runs."""

from __future__ import annotations

import importlib
import os
from glob import has_magic
from typing import Any

import click

from archscope import __version__

_COMMANDS = ("check", "draw", "show", "explain", "rules", "families", "tensors", "verify", "fix")


class _Commands(click.Group):
    """Finds commands in modules of their name, and takes a path without a command as `check`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"archscope.cli.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        first = args[0]
        if first in _COMMANDS or (first.startswith("-") and first != "-"):
            return super().resolve_command(ctx, args)
        if first == "-" or os.path.lexists(first) or has_magic(first):
            return super().resolve_command(ctx, ["check", *args])
        from difflib import get_close_matches

        near = get_close_matches(first, _COMMANDS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"the commands are {', '.join(_COMMANDS)}"
        raise click.UsageError(f"there is no command and no file {first!r}; {hint}", ctx)


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit status: 0 clean, 1 findings, 2 could not run, 3 internal error.",
)
@click.version_option(__version__, prog_name="archscope", message="%(prog)s %(version)s")
def app(**_: Any) -> None:
    """Read a Hugging Face config.json: check it, draw it, count it. No weights, no torch, no network.

    \b
    Examples:
      archscope check config.json
      archscope draw config.json -o model.svg
      archscope show path/to/model
      archscope explain indivisible-kv-heads
    """
