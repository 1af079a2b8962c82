"""An architecture read off the names and shapes of saved tensors, for models that no builder describes.

The names say which modules there are and how layers repeat; what a module computes they do not say. So the result has
embeddings, norms, projections and stacks, but no attention or experts with their meaning.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from archscope.blocks.assembly import Architecture, Head, Layer, Stack, Tower
from archscope.blocks.base import Block, Group, Weight
from archscope.blocks.leaves import Linear, Norm, embedding, linear

Shape = tuple[int, ...]

_HEADS = ("lm_head", "embed_out", "score", "classifier", "qa_outputs", "cls", "output_layer")
_EMBEDDINGS = ("embed", "wte", "wpe", "shared")
_NORMS = ("norm", "ln_", "ln1", "ln2", "layernorm")


class _Node:
    __slots__ = ("children", "shape")

    def __init__(self) -> None:
        self.children: dict[str, _Node] = {}
        self.shape: Shape | None = None


def from_tensors(
    shapes: Mapping[str, Shape], *, buffers: Iterable[str] = (), tied: tuple[tuple[str, str], ...] = ()
) -> Architecture:
    """The architecture whose tensors are exactly these.

    Args:
        shapes: name as saved to shape; () where only the name is known.
        buffers: the names among them that are no parameters.
        tied: pairs of an unsaved name and the saved one whose tensor it shares.
    """
    root = _Node()
    for name, shape in shapes.items():
        node = root
        for step in name.split("."):
            node = node.children.setdefault(step, _Node())
        node.shape = tuple(shape)
    not_learned = frozenset(buffers)
    memo: dict[object, Block] = {}
    parts = tuple(_top(name, _block(name, node, name, not_learned, memo)) for name, node in root.children.items())
    return Architecture(parts=parts, tied=tied)


def _top(name: str, block: Block) -> Block:
    if name in _HEADS:
        return Head(parts=(block,), role="head", task="")
    if isinstance(block, Group):
        return Tower(name=block.name, parts=block.parts)
    return block


def _block(name: str, node: _Node, path: str, buffers: frozenset[str], memo: dict[object, Block]) -> Block:
    if node.shape is not None:
        own = Weight(name=name, shape=node.shape, parameter=path not in buffers)
        if not node.children:
            return own
        return Group(name="", parts=(own, _group(name, node, path, buffers, memo)))
    return _group(name, node, path, buffers, memo)


def _group(name: str, node: _Node, path: str, buffers: frozenset[str], memo: dict[object, Block]) -> Block:
    keys = list(node.children)
    if _consecutive(keys):
        return _stack(name, node, path, buffers, memo)
    leaf = _leaf(name, node, path, buffers)
    if leaf is not None:
        return leaf
    parts = tuple(_block(key, child, f"{path}.{key}", buffers, memo) for key, child in node.children.items())
    return Group(name=name, parts=parts)


def _leaf(name: str, node: _Node, path: str, buffers: frozenset[str]) -> Linear | Norm | Block | None:
    """A module of a weight and perhaps a bias, by the shape and the usual words of its name."""
    if not set(node.children) <= {"weight", "bias"} or any(c.children for c in node.children.values()):
        return None
    found = node.children.get("weight")
    shape = found.shape if found is not None else None
    bias = "bias" in node.children
    if shape is None or any(f"{path}.{key}" in buffers for key in node.children):
        return None
    low = name.lower()
    if len(shape) == 2 and not bias and any(word in low for word in _EMBEDDINGS):
        return embedding(name, *shape)
    if len(shape) == 2 and (not bias or node.children["bias"].shape == shape[:1]):
        return linear(name, shape[1], shape[0], bias)
    if len(shape) == 1 and any(word in low for word in _NORMS) and (not bias or node.children["bias"].shape == shape):
        return Norm(name=name, size=shape[0], kind="layer" if bias else "rms", bias=bias)
    return None


def _stack(name: str, node: _Node, path: str, buffers: frozenset[str], memo: dict[object, Block]) -> Block:
    """Numbered children; equal ones are one kind."""
    kinds: dict[object, int] = {}
    layers: list[Layer] = []
    order = []
    for key in sorted(node.children, key=int):
        child = node.children[key]
        sign = _signature(child, f"{path}.{key}", buffers)
        if sign not in kinds:
            kinds[sign] = len(layers)
            made = _block("", child, f"{path}.{key}", buffers, memo)
            parts = made.parts if isinstance(made, Group) else (replace(made, name=""),)
            layers.append(Layer(sublayers=(), extras=parts, width=0))
        order.append(kinds[sign])
    return Stack(name=name, layers=tuple(layers), order=tuple(order))


def _signature(node: _Node, path: str, buffers: frozenset[str]) -> object:
    own = (node.shape, path in buffers)
    return own, tuple((key, _signature(child, f"{path}.{key}", buffers)) for key, child in sorted(node.children.items()))


def _consecutive(keys: list[str]) -> bool:
    return all(key.isdecimal() for key in keys) and sorted(map(int, keys)) == list(range(len(keys)))
