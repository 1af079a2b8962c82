"""Loading the one model that a command is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from archscope.cli.inputs import one_input
from archscope.cli.output import complain
from archscope.errors import InputError
from archscope.source import foreign_diagnostic

if TYPE_CHECKING:
    from archscope.engine import Model


def load_model(path: str, stdin_filename: str | None = None) -> Model:
    """The model at a path.

    Raises: InputError if there is none, or the file is not the configuration of a model.
    """
    from archscope.engine import load

    model = load(one_input(path, stdin_filename).repository())
    if not model.is_foreign:
        return model
    reason = foreign_diagnostic(model.document)
    problems = [reason] if reason else list(model.document.problems)
    said = "; ".join(problem.message for problem in problems[:1])
    raise InputError(f"{model.document.name}: {said or 'not the configuration of a model'}")


def warn_of_errors(model: Model) -> None:
    """Say on standard error that the file has faults, so that nobody trusts what is made from it unseen."""
    errors = sum(diagnostic.severity.value == "error" for diagnostic in model.diagnostics)
    if errors:
        noun = "an error" if errors == 1 else f"{errors} errors"
        complain(f"{model.document.name} has {noun}: see `archscope check`")


def warn_of_fidelity(model: Model) -> None:
    """Say on standard error how the tensors are known, where that is not for certain."""
    if model.structure is not None and model.fidelity != "exact":
        reason = model.structure.architecture.partial
        complain(f"{model.document.name}: fidelity {model.fidelity}" + (f" ({reason})" if reason else ""))
