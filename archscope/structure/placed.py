"""Where blocks stand: paths with layer numbers or ranges of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from archscope.blocks.assembly import Architecture, Layer, Stack, Tower
from archscope.blocks.base import Block, Repeating, join
from archscope.records import dataclass


@dataclass(frozen=True, slots=True)
class Placed:
    """A block with its place.

    Attributes:
        path: module path as in saved names; the number of a repeated layer is a range list ("0-4,6-10") or "*" where the
            numbers are too irregular to list.
        times: how often it occurs in the model.
        numbers: the layer numbers of the innermost stack that holds it, () outside of one.
        pointer: where in the file the config stands that describes it.
        trail: the blocks around it, outermost first.
    """

    path: str
    block: Block
    times: int
    numbers: tuple[int, ...]
    pointer: str
    trail: tuple[Block, ...]


def visit(architecture: Architecture) -> Iterator[Placed]:
    """Every different block once, parents before parts."""
    for part in architecture.parts:
        yield from _visit(Placed("", part, 1, (), "", ()))


def _visit(at: Placed) -> Iterator[Placed]:
    block = at.block
    pointer = block.pointer if isinstance(block, Tower) else at.pointer
    here = Placed(join(at.path, block.name), block, at.times, at.numbers, pointer, at.trail)
    yield here
    trail = (*at.trail, block)
    if isinstance(block, Stack):
        for kind, layer in enumerate(block.layers):
            numbers = tuple(i for i, k in enumerate(block.order) if k == kind)
            path = join(here.path, ranges(numbers))
            yield from _visit(Placed(path, layer, at.times * len(numbers), numbers, pointer, trail))
    elif isinstance(block, Repeating):
        for part, count in block.kinds():
            path = join(here.path, f"0-{count - 1}") if count > 1 else here.path
            yield from _visit(Placed(path, part, at.times * count, at.numbers, pointer, trail))
    else:
        for part in block.children():
            yield from _visit(Placed(here.path, part, at.times, at.numbers, pointer, trail))


MOST_RANGES = 8


def ranges(numbers: tuple[int, ...]) -> str:
    """Ascending numbers as ranges: "0-2,5"; with a step ("5-59:6") where they are evenly spaced; "*" past eight pieces."""
    if len(numbers) > 2:
        step = numbers[1] - numbers[0]
        if step > 1 and all(b - a == step for a, b in pairwise(numbers)):
            return f"{numbers[0]}-{numbers[-1]}:{step}"
    pieces: list[list[int]] = []
    for number in numbers:
        if pieces and number == pieces[-1][1] + 1:
            pieces[-1][1] = number
        else:
            pieces.append([number, number])
    if len(pieces) > MOST_RANGES:
        return "*"
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in pieces)


def find(architecture: Architecture, path: str) -> Placed | None:
    """The block at a concrete path such as "model.layers.7.mlp", None where there is none."""
    for part in architecture.parts:
        found = _find(Placed("", part, 1, (), "", ()), path.split("."))
        if found is not None:
            return found
    return None


def _find(at: Placed, rest: list[str]) -> Placed | None:
    block = at.block
    own = block.name.split(".") if block.name else []
    if rest[: len(own)] != own:
        return None
    rest = rest[len(own) :]
    pointer = block.pointer if isinstance(block, Tower) else at.pointer
    here = Placed(join(at.path, block.name), block, at.times, at.numbers, pointer, at.trail)
    if not rest:
        return here
    trail = (*at.trail, block)
    if isinstance(block, Repeating) and block.striped:
        rest = [*rest[1:2], rest[0], *rest[2:]]
    for index, part, numbers in _indexed(block, rest[0]):
        below = Placed(join(here.path, index), part, 1, numbers or at.numbers, pointer, trail)
        tail = rest[1:] if index else rest
        found = _find(below, tail) if tail or part.name else below
        if found is not None:
            return found
    return None


def _indexed(block: Block, segment: str) -> Iterator[tuple[str, Block, tuple[int, ...]]]:
    """The parts that a path segment may lead to, with the index it uses up."""
    if isinstance(block, Stack):
        if segment.isdecimal() and len(segment) < 9 and int(segment) < len(block):
            yield segment, block.layer(int(segment)), (int(segment),)
    elif isinstance(block, Repeating):
        for part, count in block.kinds():
            if count == 1 and not segment.isdecimal():
                yield "", part, ()
            elif segment.isdecimal() and len(segment) < 9 and int(segment) < count:
                yield segment, part, ()
    else:
        for part in block.children():
            yield "", part, ()


def layer_of(placed: Placed) -> Layer | None:
    """The layer around a block."""
    return next((block for block in reversed(placed.trail) if isinstance(block, Layer)), None)
