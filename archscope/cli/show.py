"""`archscope show`."""

from __future__ import annotations

import click

from archscope.cli.exits import CLEAN
from archscope.cli.loading import load_model
from archscope.cli.output import ColorChoice, color_option, emit, output_option, use_color


@click.command()
@click.argument("path", metavar="PATH")
@output_option
@click.option("--width", type=click.IntRange(min=40, max=400), metavar="N", help="Columns; by default the terminal's.")
@click.option(
    "--ascii/--no-ascii", default=None, help="ASCII characters only; by default where the output has no others."
)
@click.option("--stdin-filename", metavar="NAME", help="What to call standard input (PATH is -).")
@color_option
def command(
    path: str,
    output: str | None,
    width: int | None,
    ascii: bool | None,
    stdin_filename: str | None,
    color: ColorChoice,
) -> int:
    """Show a model as a card: structure, parameters, and where each number comes from.

    PATH is a config.json, a folder that holds one, or - for standard input.

    \b
    Examples:
      archscope show config.json
      archscope show path/to/model --width 80 --color never
    """
    from archscope.render.terminal import card

    model = load_model(path, stdin_filename)
    columns = width or _terminal_width(output)
    plain = _needs_ascii(output) if ascii is None else ascii
    text = card(model, width=columns, color=use_color(color, output), ascii=plain)
    emit(text if text.endswith("\n") else f"{text}\n", output, inputs=(model.document.name,))
    return CLEAN


def _needs_ascii(output: str | None) -> bool:
    """Whether the characters of boxes cannot be written where the card goes."""
    import sys

    if output not in (None, "-"):
        return False
    try:
        "╭─▶⊕╯×█▏·→".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return True
    return False


def _terminal_width(output: str | None) -> int:
    import shutil

    # A file is read later, on another screen.
    return 100 if output not in (None, "-") else max(40, min(shutil.get_terminal_size((100, 24)).columns, 160))
