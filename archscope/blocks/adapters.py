"""Bottleneck adapters: small blocks d -> r -> d beside a frozen model, one of several at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from archscope.blocks.base import Block
from archscope.blocks.mlp import plain_mlp
from archscope.blocks.moe import Experts
from archscope.blocks.size import Size
from archscope.records import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Adapters(Experts):
    """Equal adapters under names; the input says which one a sequence uses.

    Source: X-MOD (arXiv 2205.06266).
    """

    names: tuple[str, ...]

    def indexed(self) -> Iterator[tuple[str, Block]]:
        """Pairs of name and adapter."""
        if self.expert is not None:
            for name in self.names:
                yield name, self.expert


def adapters(
    name: str,
    names: Sequence[object],
    hidden: int,
    width: int,
    activation: str,
    *,
    parts: tuple[str, str] = ("dense1", "dense2"),
    fields: tuple[str, ...] = (),
) -> Adapters:
    """One adapter with biases per different name."""
    found = tuple(dict.fromkeys(map(str, names)))
    r = Size(width, "r")
    return Adapters(
        name=name,
        role="adapters",
        names=found,
        count=len(found),
        active=1,
        hidden=hidden,
        width=r,
        gated=False,
        activation=activation,
        expert=plain_mlp(hidden, r, activation, name="", names=parts, role="adapter", fields=fields) if found else None,
        fields=fields,
    )
