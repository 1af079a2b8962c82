"""`archscope tensors`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

import click

from archscope.cli.exits import CLEAN
from archscope.cli.loading import load_model, warn_of_fidelity
from archscope.cli.output import emit, output_option
from archscope.engine import Model
from archscope.errors import InputError
from archscope.report.escape import visible, width
from archscope.structure import Tensor


@click.command()
@click.argument("path", metavar="PATH")
@click.option("--format", "format_", type=click.Choice(["table", "json", "tsv"]), default="table", show_default=True,
              help="How tensors are written.")  # fmt: skip
@output_option
@click.option("--stdin-filename", metavar="NAME", help="What to call standard input (PATH is -).")
def command(path: str, format_: str, output: str | None, stdin_filename: str | None) -> int:
    """List every tensor that the model saves: name, shape, formula, data type.

    PATH is a config.json, a folder that holds one, or - for standard input.

    \b
    Examples:
      archscope tensors config.json
      archscope tensors config.json --format tsv | cut -f1
    """
    model = load_model(path, stdin_filename)
    if model.structure is None:
        raise InputError(f"{model.document.name}: no structure could be built, so there are no tensors to list; "
                         "see `archscope check`")  # fmt: skip
    emit(_WRITERS[format_](model), output, inputs=(model.document.name,))
    warn_of_fidelity(model)
    return CLEAN


def _shape(tensor: Tensor) -> str:
    return " × ".join(map(str, tensor.shape))


def _table(model: Model) -> str:
    rows = [("name", "shape", "formula", "dtype")]
    rows += [(visible(name), _shape(one), visible(one.formula), visible(one.dtype)) for name, one in _tensors(model)]
    widths = [max(width(row[column]) for row in rows) for column in range(3)]
    lines = [
        "  ".join([*(cell + " " * (room - width(cell)) for cell, room in zip(row, widths, strict=False)), row[3]])
        for row in rows
    ]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _tsv(model: Model) -> str:
    rows = [f"{visible(name)}\t{','.join(map(str, one.shape))}\t{visible(one.formula)}\t{visible(one.dtype)}\n"
            for name, one in _tensors(model)]  # fmt: skip
    return "".join(["name\tshape\tformula\tdtype\n", *rows])


def _json(model: Model) -> str:
    tensors = [
        {"name": name, "shape": list(one.shape), "formula": one.formula, "dtype": one.dtype}
        for name, one in _tensors(model)
    ]
    return json.dumps({"version": 1, "fidelity": model.fidelity, "tensors": tensors}, indent=2) + "\n"


def _tensors(model: Model) -> Iterable[tuple[str, Tensor]]:
    return model.tensors().items()


_WRITERS: dict[str, Callable[[Model], str]] = {"table": _table, "json": _json, "tsv": _tsv}
