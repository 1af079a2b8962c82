"""`archscope verify`."""

from __future__ import annotations

import click

from archscope.cli.exits import CLEAN, FINDINGS
from archscope.cli.loading import load_model
from archscope.cli.output import emit, output_option
from archscope.report.escape import visible
from archscope.verification import Verification, verify


@click.command()
@click.argument("path", metavar="PATH")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Differences to list.")
@output_option
@click.option("--stdin-filename", metavar="NAME", help="What to call standard input (PATH is -).")
def command(path: str, limit: int, output: str | None, stdin_filename: str | None) -> int:
    """Compare archscope's tensors with the ones that the installed transformers builds.

    Needs torch (the extra `verify`); the model is built on the meta device, without weights or memory. Use it with a fork or
    a new release of transformers.

    \b
    Examples:
      archscope verify config.json
      archscope verify path/to/model --limit 100
    """
    model = load_model(path, stdin_filename)
    found = verify(model)
    emit(_text(found, model.fidelity, limit), output, inputs=(model.document.name,))
    return CLEAN if found.agrees else FINDINGS


def _text(found: Verification, fidelity: str, limit: int) -> str:
    instance = found.instance
    lines = [
        f"{instance.model_class}, transformers {instance.transformers}: {len(instance.shapes):,} tensors, "
        f"{instance.parameters:,} parameters",
        f"archscope ({fidelity}): {found.parameters:,} parameters",
    ]
    rows = [f"missing     {visible(name)} {shape}" for name, shape in found.missing.items()]
    rows += [f"unexpected  {visible(name)} {shape}" for name, shape in found.unexpected.items()]
    rows += [f"misshapen   {visible(n)} {ours}, transformers {theirs}" for n, (ours, theirs) in found.misshapen.items()]
    lines += rows[:limit]
    if len(rows) > limit:
        lines.append(f"... and {len(rows) - limit:,} more")
    lines.append("every name and shape is equal" if found.agrees else f"{len(rows):,} differences")
    return "\n".join(lines) + "\n"
