"""archscope's tensors against those that the installed transformers builds for the same config."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from archscope.costs.parameters import count
from archscope.errors import IntrospectionError
from archscope.introspect import Instance, instantiate
from archscope.records import dataclass

if TYPE_CHECKING:
    from archscope.engine import Model

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Verification:
    """What differs.

    `missing` are tensors of transformers that archscope does not have, `unexpected` the other way round, `misshapen` those
    of both with (archscope's, transformers') shape.
    """

    instance: Instance
    parameters: int
    missing: Mapping[str, Shape]
    unexpected: Mapping[str, Shape]
    misshapen: Mapping[str, tuple[Shape, Shape]]

    @property
    def agrees(self) -> bool:
        """Whether names, shapes and the number of parameters are equal."""
        same = self.parameters == self.instance.parameters
        return same and not (self.missing or self.unexpected or self.misshapen)


def verify(model: Model) -> Verification:
    """Build the class on the meta device and compare tensor by tensor.

    Raises: IntrospectionError where transformers cannot build it, or archscope has nothing of its own to compare.
    """
    structure = model.built
    if structure is None:
        model_type = model.config.model_type
        raise IntrospectionError(f"archscope has no builder for model type {model_type[:80]!r}, so nothing to verify")
    instance = instantiate(model.document.mapping)
    ours = {name: tuple(map(int, tensor.shape)) for name, tensor in structure.tensors.items()}
    theirs = instance.shapes
    return Verification(
        instance=instance,
        parameters=count(structure.architecture).total,
        missing={name: shape for name, shape in theirs.items() if name not in ours},
        unexpected={name: shape for name, shape in ours.items() if name not in theirs},
        misshapen={n: (s, theirs[n]) for n, s in ours.items() if n in theirs and theirs[n] != s},
    )
