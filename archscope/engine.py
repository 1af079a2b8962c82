"""The whole pipeline on one screen: source -> config -> families -> structure -> rules, costs, render."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from archscope.blocks.assembly import Fidelity
from archscope.config import Config, resolve
from archscope.diagnostics import Diagnostic, Severity
from archscope.families import registry
from archscope.families.registry import BUILD_FAILURES
from archscope.source import Document, Repository, foreign_diagnostic, kind_of
from archscope.structure import Structure, Tensor
from archscope.structure.soundness import require_sound

if TYPE_CHECKING:
    from archscope.costs.parameters import Parameters
    from archscope.rules.base import Context, Options


UNBUILDABLE = "unbuildable-model"


def load(source: str | Path | Mapping[str, Any] | Repository) -> Model:
    """Read a config.json, a model folder or a dict.

    Bad content never raises: it is in the model's diagnostics.

    Raises: InputError where there is nothing to read.
    """
    repository = source if isinstance(source, Repository) else Repository.open(source)
    return Model(repository, repository.config)


class Model:
    """One model: what its files say, what follows from them, and what is wrong with them."""

    def __init__(self, repository: Repository, document: Document) -> None:
        self.repository = repository
        self.document = document
        self._checked: dict[Options, tuple[Diagnostic, ...]] = {}

    @property
    def is_foreign(self) -> bool:
        """Whether the file is not the configuration of a model at all (an adapter's, a pipeline's, ...)."""
        return kind_of(self.document) != "model"

    @cached_property
    def config(self) -> Config:
        """The canonical fields with their origins."""
        return resolve(self.document)

    @cached_property
    def _built(self) -> tuple[Structure | None, Diagnostic | None]:
        """The structure, or why there is none.

        The values come from a file, so a builder may meet any numbers: arithmetic on them may fail, and then no model can
        have them. Of remote code nobody here knows the defaults, so there a failure says nothing.
        """
        if self.is_foreign:
            return None, None
        try:
            architecture = registry.build(self.config)
            structure = None if architecture is None else Structure(architecture, self.config)
            if structure is not None:
                require_sound(at.block for at in structure.blocks())
        except BUILD_FAILURES as error:
            return None, None if registry.is_remote(self.config.model_type) else self._unbuildable(error)
        return structure, None

    def _unbuildable(self, error: Exception) -> Diagnostic:
        reason = f"{type(error).__name__}: {error}"
        return Diagnostic(
            UNBUILDABLE,
            Severity.ERROR,
            f"no model can be built from these values ({reason[:200]})",
            self.document.place(()),
            help="mend the fields that the other diagnostics name; if there are none, please report this file",
        )

    @property
    def built(self) -> Structure | None:
        """The structure that a builder makes, which is all that rules look at; None for a type that has none."""
        return self._built[0]

    @cached_property
    def structure(self) -> Structure | None:
        """The typed graph; None where nothing could be built.

        For a type without a builder it comes from the installed transformers (where torch is, too), from the stored
        weights, or from the names of the fields: see `fidelity`.
        """
        built, failure = self._built
        if built is not None or failure is not None or self.is_foreign:
            return built
        from archscope.fallback import substitute

        architecture = substitute(self.config, self.document, self.repository)
        return None if architecture is None else Structure(architecture, self.config)

    @property
    def fidelity(self) -> Fidelity:
        """How the structure is known."""
        return "inferred" if self.structure is None else self.structure.fidelity

    def tensors(self) -> Mapping[str, Tensor]:
        """Every tensor by its name as saved on disk; empty where there is no structure."""
        return {} if self.structure is None else self.structure.tensors

    @cached_property
    def parameters(self) -> Parameters | None:
        """Parameter counts; None where there is no structure."""
        from archscope.costs.parameters import count

        return None if self.structure is None else count(self.structure.architecture)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What is wrong, as `check()` gives it."""
        return self.check()

    @property
    def documents(self) -> Mapping[str, Document]:
        """The documents that diagnostics point into, by name."""
        return {document.name: document for document in (self.document, *self.repository.opened)}

    def check(self, tensor_parallel: int | None = None, targets: tuple[str, ...] = ()) -> tuple[Diagnostic, ...]:
        """Everything that is wrong with the files, sorted by place.

        Args:
            tensor_parallel: the number of ranks that the model must split over.
            targets: consumers that must be able to read the files.
        """
        from archscope.rules.base import Options

        options = Options(tensor_parallel, tuple(targets))
        if options not in self._checked:
            self._checked[options] = tuple(sorted(self._check(options), key=Diagnostic.sort_key))
        return self._checked[options]

    def _check(self, options: Options) -> tuple[Diagnostic, ...]:
        from archscope.rules.runner import run

        if self.is_foreign:
            foreign = foreign_diagnostic(self.document)
            return (*self.document.problems, foreign) if foreign else self.document.problems
        found = run(self._context(options))
        if any(one.severity is Severity.ERROR and one.rule != UNBUILDABLE for one in found):
            # One fault, one finding: what cannot be built follows from what is wrong.
            return tuple(one for one in found if one.rule != UNBUILDABLE)
        return found

    def _context(self, options: Options) -> Context:
        from archscope.rules.base import Context

        return Context(
            repository=self.repository,
            document=self.document,
            root=self.config,
            config=self.config,
            structure=self.built,
            options=options,
            failure=self._built[1],
        )

    def draw(
        self, format: Literal["svg", "png", "dot"] = "svg", theme: Literal["auto", "light", "dark"] = "auto"
    ) -> str | bytes:
        """The annotated block diagram: text for svg and dot, bytes for png.

        Raises: RenderError where there is no structure to draw.
        """
        from archscope.render import draw

        return draw(self, format=format, theme=theme)
