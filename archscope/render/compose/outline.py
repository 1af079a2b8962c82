"""Which parts of an architecture are stacks of the figure, and which are beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from archscope.blocks.assembly import Architecture, Head, Opaque, Stack, Tower
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, Group, join
from archscope.blocks.leaves import Embedding
from archscope.blocks.projectors import Projector
from archscope.records import dataclass

_MAIN = ("text", "decoder", "encoder")


@dataclass(frozen=True, slots=True)
class Part:
    """A block of the outline with the path of the module that holds it."""

    block: Block
    prefix: str

    @property
    def path(self) -> str:
        """The block's own path."""
        return join(self.prefix, self.block.name)


@dataclass(frozen=True, slots=True)
class Chain:
    """A further tower with its projectors; `before` says that it stands before the main stack, and so may feed it."""

    parts: tuple[Part, ...]
    before: bool


@dataclass(frozen=True, slots=True)
class Outline:
    """The stacks from left to right (none where nothing is known of the layers), and what is beside them.

    `shared` are token tables that stacks use, `heads` stand on the last stack, `others` are parts whose place in the
    flow is not known.
    """

    stacks: tuple[Part, ...]
    shared: tuple[Part, ...]
    heads: tuple[Part, ...]
    beside: tuple[Chain, ...]
    others: tuple[Part, ...]


def outline(architecture: Architecture) -> Outline:
    """The parts of an architecture by their use in a figure."""
    parts = list(_flatten(architecture.parts, ""))
    main = _main(parts)
    stacks = (*_partner(parts, main), main) if main is not None else ()
    used = {id(part) for part in stacks}
    rest = [part for part in parts if id(part) not in used]
    shared = tuple(part for part in rest if isinstance(part.block, Embedding) and _is_shared(part, stacks))
    heads = tuple(part for part in rest if isinstance(part.block, Head))[:1]
    taken = {id(part) for part in (*shared, *heads)}
    rest = [part for part in rest if id(part) not in taken]
    limit = parts.index(main) if main is not None else 0
    chains = tuple(Chain(chain, parts.index(chain[0]) < limit) for chain in _chains(rest))
    taken = {id(part) for chain in chains for part in chain.parts}
    return Outline(stacks, shared, heads, chains, tuple(part for part in rest if id(part) not in taken))


def _flatten(blocks: Sequence[Block], prefix: str) -> Iterator[Part]:
    for block in blocks:
        if isinstance(block, Group) and any(isinstance(part, Tower | Head | Projector) for part in block.parts):
            yield from _flatten(block.parts, join(prefix, block.name))
        else:
            yield Part(block, prefix)


def _main(parts: Sequence[Part]) -> Part | None:
    """The stack that reads or writes the text; the first one where there is none; one of unknown layers at last."""
    ranked = [part for part in parts if isinstance(part.block, Tower)]
    ranked.sort(key=lambda part: _rank(part.block))
    if ranked and (isinstance(ranked[0].block, Tower) and ranked[0].block.is_main):
        return ranked[0]
    hidden = [part for part in parts if isinstance(part.block, Opaque)]
    found = ranked or hidden
    return found[0] if found else None


def _rank(block: Block) -> int:
    return _MAIN.index(block.tower) if isinstance(block, Tower) and block.is_main else len(_MAIN)


def _partner(parts: Sequence[Part], main: Part) -> tuple[Part, ...]:
    """The encoder whose output the main stack attends to."""
    if not isinstance(main.block, Tower) or not crosses(main.block):
        return ()
    towers = [part for part in parts if isinstance(part.block, Tower) and part is not main]
    encoders = [part for part in towers if isinstance(part.block, Tower) and part.block.tower == "encoder"]
    found = encoders or (towers if main.block.tower == "decoder" else [])
    return tuple(found[:1])


def crosses(tower: Tower) -> bool:
    """Whether a tower attends to another sequence."""
    return any(
        isinstance(block, Attention) and block.is_cross
        for stack in tower.parts
        if isinstance(stack, Stack)
        for layer in stack.layers
        for sublayer in layer.sublayers
        for block in sublayer.blocks()
    )


def _is_shared(part: Part, stacks: Sequence[Part]) -> bool:
    tied = f"{part.path}.weight"
    return any(block.tied_to in (tied, part.path) for stack in stacks for block in stack.block.children())


def _chains(parts: Sequence[Part]) -> tuple[tuple[Part, ...], ...]:
    """Each further tower (or a part of unknown layers) with the projectors that follow it."""
    chains: list[list[Part]] = []
    early: list[Part] = []
    for part in parts:
        if isinstance(part.block, Tower | Opaque):
            chains.append([part])
        elif isinstance(part.block, Projector):
            (chains[-1] if chains else early).append(part)
    if early and not chains:
        chains.append([])
    if early:
        chains[0].extend(early)
    return tuple(map(tuple, chains))
