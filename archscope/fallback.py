"""Structures for model types without a builder: what transformers builds, what is stored, or a guess.

Only for who asks for a structure; rules never see these.
"""

from __future__ import annotations

from collections.abc import Mapping

from archscope import introspect
from archscope.blocks.assembly import Architecture
from archscope.blocks.from_tensors import Shape, from_tensors
from archscope.config import Config
from archscope.config.limits import implausible
from archscope.errors import IntrospectionError
from archscope.families.inferred import infer
from archscope.families.registry import BUILD_FAILURES
from archscope.source import Document, Repository
from archscope.structure.stored import is_computed_name, is_quantised_name

NOT_LEARNED = ("I", "U", "BOOL")
"""How the dtypes of tensors begin that nothing trains."""


def substitute(config: Config, document: Document, repository: Repository) -> Architecture | None:
    """The best architecture that can be had without a builder; None where there is nothing to go by."""
    return introspected(config, document) or from_weights(repository) or inferred(config)


def introspected(config: Config, document: Document) -> Architecture | None:
    """What the installed transformers builds on the meta device; None without torch, or where it knows no such type."""
    if any(implausible(config)) or not (introspect.available() and introspect.knows(config.model_type)):
        return None
    try:
        instance = introspect.instantiate(document.mapping)
    except IntrospectionError:
        # It refuses the values: the next best answer is wanted then, and `archscope verify` says why.
        return None
    return from_tensors(instance.shapes, buffers=instance.buffers, fidelity="introspected")


def from_weights(repository: Repository) -> Architecture | None:
    """What the headers of safetensors files say; None where shapes are missing, or are those of packed weights."""
    weights = repository.weights
    if weights is None or not weights.has_shapes or any(map(is_quantised_name, weights.tensors)):
        return None
    shapes: Mapping[str, Shape] = {
        name: one.shape for name, one in weights.tensors.items() if one.shape is not None and not is_computed_name(name)
    }
    buffers = (name for name, one in weights.tensors.items() if (one.dtype or "").startswith(NOT_LEARNED))
    return from_tensors(shapes, buffers=buffers, fidelity="from-weights")


def inferred(config: Config) -> Architecture | None:
    """A guess from the names of the fields; None where they do not make a model."""
    try:
        return infer(config)
    except BUILD_FAILURES:
        # A guess that does not work out is no statement about the file.
        return None
