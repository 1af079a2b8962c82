"""`archscope draw`."""

from __future__ import annotations

import os
from typing import Literal, cast

import click

from archscope.cli.exits import CLEAN
from archscope.cli.loading import load_model
from archscope.cli.output import emit

_FORMATS = ("svg", "png", "dot")
_Format = Literal["svg", "png", "dot"]
_Theme = Literal["auto", "light", "dark"]


@click.command()
@click.argument("path", metavar="PATH")
@click.option("-o", "--output", metavar="FILE", required=True, help="The figure to write; - is standard output.")
@click.option("--format", "format_", type=click.Choice(_FORMATS),
              help="What to write; by default what the name of FILE says.")  # fmt: skip
@click.option("--theme", type=click.Choice(["auto", "light", "dark"]), default="auto", show_default=True,
              help="auto follows the reader's preference where the format can.")  # fmt: skip
@click.option("--stdin-filename", metavar="NAME", help="What to call standard input (PATH is -).")
def command(path: str, output: str, format_: str | None, theme: str, stdin_filename: str | None) -> int:
    """Draw the annotated block diagram of a model.

    PATH is a config.json, a folder that holds one, or - for standard input.

    \b
    Examples:
      archscope draw config.json -o model.svg
      archscope draw path/to/model -o model.png --theme dark
      archscope draw config.json --format dot -o - | dot -Tpdf -o model.pdf
    """
    wanted = cast(_Format, format_ or _format_of(output))
    model = load_model(path, stdin_filename)
    figure = model.draw(format=wanted, theme=cast(_Theme, theme))
    emit(figure, output, inputs=(model.document.name,))
    return CLEAN


def _format_of(output: str) -> str:
    if output == "-":
        return "svg"
    suffix = os.path.splitext(output)[1].lower().removeprefix(".")
    if suffix in _FORMATS:
        return suffix
    raise click.UsageError(
        f"the name {output} does not say which format to write; end it in {', '.join(f'.{name}' for name in _FORMATS)}"
        " or give --format",
        click.get_current_context(),
    )
