"""What a rule is, what it sees, and what it yields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, ClassVar, Generic, Literal, TypeVar

from archscope.config import Config, Origin
from archscope.diagnostics import Diagnostic, Fix, Place, Severity
from archscope.records import dataclass
from archscope.source import Document, Repository, path_of
from archscope.structure import Comparison, Placed, Structure

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Options:
    """What a check was asked for: the tensor-parallel degree to fit, and the consumers to satisfy."""

    tensor_parallel: int | None = None
    targets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule found: one fact with its numbers, lower case, no full stop, no advice (that goes to `help`)."""

    message: str
    primary: Place
    related: Sequence[Place] = ()
    help: str = ""
    fixes: tuple[Fix, ...] = ()
    severity: Severity | None = None


@dataclass(frozen=True, slots=True)
class Context:
    """What a rule may look at.

    `config` is the config that describes the target: a sub-config where the target is in a part of a composite model;
    `root` is that of the whole file. `placed` is set for rules over blocks. `failure` says why no structure could be built
    by a builder that there is.
    """

    repository: Repository
    document: Document
    root: Config
    config: Config
    structure: Structure | None
    options: Options
    placed: Placed | None = None
    failure: Diagnostic | None = None

    def at(self, name: str, note: str = "", *, key: bool = False) -> Place:
        """The place of a field of `config`, under whatever name the file has it.

        A field that is not in the file is placed at the nearest object that would hold it, and the note says where its
        value comes from.
        """
        origin = self.origin(name)
        if origin is None:
            return self.place(f"{self.config.pointer}/{name}" if name in self.config.raw else self.config.pointer, note)
        if origin.pointer:
            return self.place(origin.pointer, note, key=key)
        said = describe(origin, name, self.config.get(name))
        place = self.document.place(path_of(f"{self.config.pointer}/{name}"), note=f"{note}: {said}" if note else said)
        return place

    def place(self, pointer: str, note: str = "", *, key: bool = False) -> Place:
        """The place of a pointer in config.json."""
        return self.document.place(path_of(pointer), key=key, note=note)

    def origin(self, name: str) -> Origin | None:
        """Where the value of a field of `config` comes from, None for a field that it does not have."""
        return self.config.origin(name) if name in self.config else None

    def stored(self) -> Comparison | None:
        """The structure's tensors beside the stored ones; None where either is not known for certain."""
        structure, weights = self.structure, self.repository.weights
        if structure is None or weights is None or not weights.tensors or not structure.is_exact:
            return None
        return structure.beside(weights)

    def written(self, name: str) -> bool:
        """Whether the file itself says the field, under any of its names."""
        origin = self.origin(name)
        return origin is not None and bool(origin.pointer)


def describe(origin: Origin, name: str, value: object) -> str:
    """A value that the file does not have, with its reason: "default 8 (MistralConfig, transformers 5.24.0)"."""
    shown = str(value) if len(str(value)) <= 60 else f"{str(value)[:57]}..."
    return f"{name} is not in the file: {origin.kind} {shown} ({origin.source})"


class Rule(Generic[T]):
    """A kind of fault.

    The type parameter is what the rule looks at: Document (the text and its plain value), Config (every config and
    sub-config), Structure (the whole graph), or a block class (every different block of it). The docstring is the
    documentation: a sentence, then sections "What it checks", "Why it matters", "How to fix", "References".
    """

    name: ClassVar[str]
    severity: ClassVar[Severity]
    cases: ClassVar[tuple[Case, ...]] = ()
    requires: ClassVar[tuple[str, ...]] = ()
    """Rules that must have found nothing in this file before this one speaks."""

    def check(self, target: T, ctx: Context) -> Iterator[Finding]:
        """Yield what is wrong with the target."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Case:
    """An example of a rule: a config as text, or as fields over the defaults of a model type.

    `files` are further files of the repository (name to text); `encoding` is that of config.json;
    `weights` are the tensors of a model.safetensors, name to (dtype, shape). `options` are those of the check.
    """

    model_type: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)
    text: str | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    encoding: str = "utf-8"
    weights: Mapping[str, tuple[str, tuple[int, ...]]] = field(default_factory=dict)
    options: Options = Options()
    outcome: Literal["passes", "fails"] = "passes"
    at: str = ""
    count: int = 1
    also: tuple[str, ...] = ()


def Passes(  # noqa: N802 - reads as a declaration in a rule's cases
    model_type: str = "",
    *,
    text: str | None = None,
    encoding: str = "utf-8",
    files: Mapping[str, str] | None = None,
    weights: Mapping[str, tuple[str, tuple[int, ...]]] | None = None,
    options: Options | None = None,
    **fields: Any,
) -> Case:
    """A config that the rule must stay silent on, whatever others say."""
    return Case(model_type, fields, text, files or {}, encoding, weights or {}, options or Options())


def Fails(  # noqa: N802 - reads as a declaration in a rule's cases
    model_type: str = "",
    *,
    at: str,
    text: str | None = None,
    encoding: str = "utf-8",
    files: Mapping[str, str] | None = None,
    weights: Mapping[str, tuple[str, tuple[int, ...]]] | None = None,
    options: Options | None = None,
    count: int = 1,
    also: tuple[str, ...] = (),
    **fields: Any,
) -> Case:
    """A config that the rule must find `count` faults in, the first at the pointer `at`; `also` other rules may speak."""
    made = (files or {}, encoding, weights or {}, options or Options())
    return Case(model_type, fields, text, *made, "fails", at, count, also)
