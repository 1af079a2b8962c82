"""The structure: an architecture with its config, its places, its tensors and its graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from archscope.blocks.assembly import Architecture, Fidelity, Opaque
from archscope.blocks.base import Block, Flow
from archscope.config import Config
from archscope.structure import placed
from archscope.structure.placed import Placed
from archscope.structure.tensors import Tensor, tensors

if TYPE_CHECKING:
    import networkx

    from archscope.source import Weights
    from archscope.structure.graph import StructureGraph
    from archscope.structure.stored import Comparison


class Mismatch(NamedTuple):
    """An edge whose two ends do not have the same width."""

    at: Placed
    flow: Flow


class Structure:
    """The typed graph of one model.

    Everything is made when asked for: blocks and runs are there at once, the networkx graph and the tensor table are not.
    """

    def __init__(self, architecture: Architecture, config: Config) -> None:
        self.architecture = architecture
        self.config = config
        self._comparison: tuple[Weights, Comparison] | None = None

    def blocks(self) -> tuple[Placed, ...]:
        """Every different block once, parents before parts."""
        return self._blocks

    @cached_property
    def _blocks(self) -> tuple[Placed, ...]:
        return tuple(placed.visit(self.architecture))

    def find(self, path: str) -> Placed | None:
        """The block at a concrete module path ("model.layers.7.mlp"), None where there is none."""
        return placed.find(self.architecture, path)

    def of_type(self, kind: type[Block]) -> Iterator[Placed]:
        """Every different block of a class."""
        return (at for at in self._blocks if isinstance(at.block, kind))

    @cached_property
    def opaque(self) -> tuple[Placed, ...]:
        """The parts whose tensors are not known."""
        return tuple(self.of_type(Opaque))

    @cached_property
    def tensors(self) -> Mapping[str, Tensor]:
        """Every tensor by its name as saved on disk."""
        return tensors(self.architecture.parts, self.dtype)

    @property
    def dtype(self) -> str:
        """The dtype that the config declares, float32 where it declares none (torch's default)."""
        found = self.config.get("dtype")
        return found if isinstance(found, str) else "float32"

    @property
    def fidelity(self) -> Fidelity:
        """How the tensors are known; "inferred" where a part or a head is not, or a field stands in for a wrong value."""
        made = self.architecture.fidelity
        if self.architecture.partial or self.opaque:
            return "inferred"
        return "inferred" if made == "exact" and any(one.invalid for one in self.config.walk()) else made

    @property
    def is_exact(self) -> bool:
        """Whether every tensor is known, and proven against transformers."""
        return self.fidelity == "exact"

    @property
    def is_proven(self) -> bool:
        """Whether a builder made it that was proven against transformers: nothing else may be called an error."""
        return self.architecture.fidelity == "exact"

    def beside(self, weights: Weights) -> Comparison:
        """The tensors of this structure beside those of a repository, compared once."""
        from archscope.structure.stored import Comparison

        if self._comparison is None or self._comparison[0] is not weights:
            self._comparison = (weights, Comparison(self.tensors, weights.tensors))
        return self._comparison[1]

    @property
    def ties(self) -> tuple[tuple[str, str], ...]:
        """Pairs of a name that is not saved and the saved one whose tensor it shares."""
        return self.architecture.tied

    def mismatches(self) -> tuple[Mismatch, ...]:
        """The consistency pass: every edge inside a block whose two ends differ in width."""
        return tuple(
            Mismatch(at, flow)
            for at in self._blocks
            for flow in at.block.flows()
            if flow.source.width is not None
            and flow.target.width is not None
            and flow.source.width != flow.target.width
        )

    @cached_property
    def typed(self) -> StructureGraph:
        """Nodes and edges as pydantic models, ready to be written as JSON."""
        from archscope.structure.graph import lower

        return lower(self)

    @property
    def graph(self) -> networkx.MultiDiGraph[str]:
        """The structure as a networkx graph: node ids are module paths, data under "node" and "edge"."""
        return self.typed.to_networkx()
