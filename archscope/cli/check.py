"""`archscope check`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, NamedTuple, cast

import click

from archscope.cli.exits import CLEAN, COULD_NOT_RUN, FINDINGS, INTERNAL_ERROR
from archscope.cli.inputs import Input, find_inputs
from archscope.cli.output import ColorChoice, color_option, complain, emit, output_option, report_crash, use_color
from archscope.cli.selection import Selection, selection
from archscope.cli.settings import SettingsFinder, mend
from archscope.diagnostics import Diagnostic, Severity
from archscope.errors import InputError
from archscope.report import Checked, Report, Status, Writer
from archscope.source import Document

if TYPE_CHECKING:
    from archscope.engine import Model

_WRITERS = {"text": "text", "json": "as_json", "github": "github"}
_LIMITS = ("error", "warning", "info", "never")


class _Outcome(NamedTuple):
    """What came of one file."""

    file: Checked
    diagnostics: tuple[Diagnostic, ...] = ()
    documents: tuple[Document, ...] = ()


@click.command()
@click.argument("paths", nargs=-1, metavar="PATH...")
@click.option("--format", "format_", type=click.Choice(list(_WRITERS)), default="text", show_default=True,
              envvar="ARCHSCOPE_OUTPUT_FORMAT", show_envvar=True, help="How findings are written.")  # fmt: skip
@output_option
@click.option("--fail-on", type=click.Choice(_LIMITS), show_default="error",
              help="The least severity that makes the exit status 1.")  # fmt: skip
@click.option("--select", multiple=True, metavar="RULE,...", help="Report these rules only.")
@click.option("--ignore", multiple=True, metavar="RULE,...",
              help="Leave these rules out; RULE@/json/pointer does so at one place only.")  # fmt: skip
@click.option(
    "--tensor-parallel", type=click.IntRange(min=1), metavar="N", help="Check that the model splits over N ranks."
)
@click.option("--target", "--targets", "targets", multiple=True, metavar="READER,...",
              help="Programs that must be able to read the file, such as 'transformers<5'.")  # fmt: skip
@click.option(
    "--fix", "fixes", is_flag=True, help="First mend what can be mended for certain, as `archscope fix` does."
)
@click.option("--config", metavar="FILE", help="Settings, instead of the nearest archscope.toml or pyproject.toml.")
@click.option("--isolated", is_flag=True, help="No settings but those of the command line.")
@click.option("--report-unused", is_flag=True, help="Say which suppressions of the settings silenced nothing.")
@click.option("--stdin-filename", metavar="NAME", help="What to call standard input (PATH is -).")
@click.option("-q", "--quiet", is_flag=True, help="No summary: print findings only.")
@color_option
def command(
    paths: tuple[str, ...],
    format_: str,
    output: str | None,
    fail_on: str | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    tensor_parallel: int | None,
    targets: tuple[str, ...],
    fixes: bool,
    config: str | None,
    isolated: bool,
    report_unused: bool,
    stdin_filename: str | None,
    quiet: bool,
    color: ColorChoice,
) -> int:
    """Check config.json files and say what does not fit, where, and what to write instead.

    PATH is a file, a folder (every config.json below it), a glob in quotes, or - for standard input. Files of other
    kinds (adapters, diffusers, tokenizers) that a search finds are passed over.

    \b
    Examples:
      archscope check config.json
      archscope check models/ --fail-on warning
      archscope check config.json --tensor-parallel 8 --target 'transformers<5'
      archscope check . --format github
      archscope check config.json --ignore rope-theta-not-positive
      archscope check models/ --fix
      git show HEAD:config.json | archscope check - --stdin-filename config.json
    """
    if not paths:
        raise click.UsageError("no PATH given; name a config.json, a folder, a glob, or - for standard input",
                               click.get_current_context())  # fmt: skip
    chosen = selection(select, ignore)
    found = find_inputs(paths, stdin_filename)
    readers = tuple(name.strip() for value in targets for name in value.split(",") if name.strip())
    asked = Asked(chosen, tensor_parallel, readers, SettingsFinder(config, isolated))
    if fixes:
        mend(found.inputs)
    outcomes = [_checked(one, asked) for one in found.inputs]
    report = _report(outcomes)
    if report_unused:
        for line in asked.settings.unused():
            complain(line)
    write = cast(Writer, importlib.import_module(f"archscope.report.{_WRITERS[format_]}").write)
    for error in (*found.errors, *(one.file.note for one in outcomes if one.file.status == "unreadable")):
        complain(error)
    read = tuple(one.path for one in found.inputs if one.path is not None)
    if any(file.status != "unreadable" for file in report.files) or format_ == "json":
        text = write(report, color=use_color(color, output), summary=not quiet)
        if text or output is not None:
            emit(text, output, inputs=read)
    return _status(report, bool(found.errors), fail_on or asked.settings.fail_on or "error")


class Asked(NamedTuple):
    """What the command line asks for, over what the settings say."""

    selection: Selection
    tensor_parallel: int | None
    targets: tuple[str, ...]
    settings: SettingsFinder


def _checked(one: Input, asked: Asked) -> _Outcome:
    from archscope.engine import load

    settings = asked.settings.of(one.path)
    try:
        model = load(one.repository())
        if model.is_foreign and not one.named and not _is_broken(model):
            return _Outcome(Checked(one.name, "foreign"))
        found = model.check(asked.tensor_parallel or settings.tensor_parallel, asked.targets or settings.targets)
        left = asked.settings.applied(settings, found, one.path or one.name)
        diagnostics = tuple(filter(asked.selection.keeps, left))
        status: Status = "foreign" if model.is_foreign and not _is_broken(model) else "checked"
        fidelity = None if model.built is None else model.built.fidelity
        documents = tuple(model.documents.values()) if diagnostics else ()
        return _Outcome(Checked(one.name, status, fidelity), diagnostics, documents)
    except InputError as error:
        return _Outcome(Checked(one.name, "unreadable", note=str(error)))
    except Exception as error:
        # One file must not keep the others from being checked.
        report_crash(error, one.name)
        return _Outcome(Checked(one.name, "failed", note=f"{type(error).__name__}: {error}"))


def _is_broken(model: Model) -> bool:
    """Whether so little of the file could be read that its kind is anyone's guess."""
    return model.document.value is None and bool(model.document.problems)


def _report(outcomes: list[_Outcome]) -> Report:
    diagnostics = sorted((one for outcome in outcomes for one in outcome.diagnostics), key=Diagnostic.sort_key)
    documents = {document.name: document for outcome in outcomes for document in outcome.documents}
    return Report(diagnostics, [outcome.file for outcome in outcomes], documents)


def _status(report: Report, some_missing: bool, fail_on: str) -> int:
    if any(file.status == "failed" for file in report.files):
        return INTERNAL_ERROR
    if any(diagnostic.rule == "internal-error" for diagnostic in report.diagnostics):
        return INTERNAL_ERROR
    if some_missing or any(file.status == "unreadable" for file in report.files):
        return COULD_NOT_RUN
    if fail_on != "never":
        least = Severity(fail_on).rank
        if any(diagnostic.severity.rank >= least for diagnostic in report.diagnostics):
            return FINDINGS
    return CLEAN
