"""`archscope fix`."""

from __future__ import annotations

import click

from archscope.cli.exits import CLEAN, COULD_NOT_RUN, FINDINGS
from archscope.cli.inputs import Input, find_inputs
from archscope.cli.output import complain, emit
from archscope.errors import InputError
from archscope.fixing import Fixed, fix, write


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--diff", "show_diff", is_flag=True, help="Print the changes and write nothing; exit 1 if there are any.")
@click.option("--unsafe", is_flag=True, help="Apply fixes too that may change the model, or are guesses.")
@click.option("--stdin-filename", metavar="NAME", help="What to call standard input (PATH is -).")
def command(paths: tuple[str, ...], show_diff: bool, unsafe: bool, stdin_filename: str | None) -> int:
    """Mend what can be mended for certain, and keep every other byte: formatting, key order, line ends.

    Safe fixes change no meaning: legacy spellings, 1 for 1.0, trailing commas, byte order marks. Standard input is written,
    mended, to standard output.

    \b
    Examples:
      archscope fix config.json
      archscope fix models/ --diff
      archscope fix config.json --unsafe
    """
    found = find_inputs(paths, stdin_filename)
    status = COULD_NOT_RUN if found.errors else CLEAN
    for error in found.errors:
        complain(error)
    changes = 0
    for one in found.inputs:
        try:
            changes += _one(one, show_diff, unsafe)
        except InputError as error:
            complain(str(error))
            status = COULD_NOT_RUN
    return FINDINGS if show_diff and changes and status == CLEAN else status


def _one(one: Input, show_diff: bool, unsafe: bool) -> int:
    """Mend one model; returns how many files change."""
    repository = one.repository()
    fixed = fix(repository, unsafe=unsafe)
    for name in fixed.left_alone:
        complain(f"{name} is not plain UTF-8 text, so it is left alone")
    if show_diff:
        emit(fixed.diff(), None, inputs=())
    elif one.path is None:
        text = repository.config.text
        emit(fixed.after.get(one.name, "" if text is None else text.text), None, inputs=())
    else:
        write(fixed)
        _say(fixed)
    return len(fixed.changed)


def _say(fixed: Fixed) -> None:
    for name in fixed.changed:
        complain(f"{name}: {', '.join(title for _, title in fixed.applied)}")
