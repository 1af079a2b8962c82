"""An architecture read off the names and shapes of saved tensors, for models that no builder describes.

The names say which modules there are and how layers repeat; what a module computes they do not say. So the result has
embeddings, norms, projections and stacks, but no attention or experts with their meaning.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from archscope.blocks.assembly import Architecture, Fidelity, Head, Layer, Stack, Tower
from archscope.blocks.base import Block, Group, Weight
from archscope.blocks.leaves import Norm, embedding, linear

Shape = tuple[int, ...]

MOST_STEPS = 64
MOST_DIGITS = 6
_HEADS = ("lm_head", "embed_out", "score", "classifier", "qa_outputs", "cls", "output_layer")
_EMBEDDINGS = ("embed", "wte", "wpe", "shared")
_NORMS = ("norm", "ln_", "ln1", "ln2", "layernorm")


class _Node:
    """A module or tensor: `shape` is set for a tensor, `learned` is False for a buffer."""

    __slots__ = ("children", "learned", "shape")

    def __init__(self) -> None:
        self.children: dict[str, _Node] = {}
        self.shape: Shape | None = None
        self.learned = True


def from_tensors(
    shapes: Mapping[str, Shape], *, buffers: Iterable[str] = (), fidelity: Fidelity = "from-weights"
) -> Architecture | None:
    """The architecture whose tensors are exactly these; None where there are none, or names that no module has.

    Args:
        shapes: name as saved to shape.
        buffers: the names among them that are no parameters.
        fidelity: how they are known.
    """
    root = _Node()
    not_learned = frozenset(buffers)
    for name, shape in shapes.items():
        steps = name.split(".")
        if len(steps) > MOST_STEPS or not all(steps):
            return None
        node = root
        for step in steps:
            node = node.children.setdefault(step, _Node())
        node.shape, node.learned = tuple(shape), name not in not_learned
    parts = tuple(_top(name, _block(name, node)) for name, node in root.children.items())
    return Architecture(parts=parts, fidelity=fidelity) if parts else None


def _top(name: str, block: Block) -> Block:
    if name in _HEADS:
        return Head(parts=(block,), role="head", task="")
    if isinstance(block, Group) and block.name:
        return Tower(name=block.name, parts=block.parts)
    return block


def _block(name: str, node: _Node) -> Block:
    if node.shape is None:
        return _module(name, node)
    own = Weight(name=name, shape=node.shape, parameter=node.learned)
    return Group(name="", parts=(own, _module(name, node))) if node.children else own


def _module(name: str, node: _Node) -> Block:
    if _is_numbered(node):
        return _stack(name, node)
    leaf = _leaf(name, node)
    if leaf is not None:
        return leaf
    return Group(name=name, parts=tuple(_block(key, child) for key, child in node.children.items()))


def _leaf(name: str, node: _Node) -> Block | None:
    """A module of a weight and perhaps a bias, by the shape and the usual words of its name."""
    if not set(node.children) <= {"weight", "bias"} or any(c.children or not c.learned for c in node.children.values()):
        return None
    found, bias = node.children.get("weight"), node.children.get("bias")
    shape = found.shape if found is not None else None
    if shape is None:
        return None
    low = name.lower()
    if len(shape) == 2 and bias is None and any(word in low for word in _EMBEDDINGS):
        return embedding(name, *shape, role="embedding")
    if len(shape) == 2 and (bias is None or bias.shape == shape[:1]):
        return linear(name, shape[1], shape[0], bias is not None)
    if len(shape) == 1 and any(word in low for word in _NORMS) and (bias is None or bias.shape == shape):
        return Norm(name=name, size=shape[0], kind="rms" if bias is None else "layer", bias=bias is not None)
    return None


def _stack(name: str, node: _Node) -> Block:
    """Numbered children; equal ones are one kind."""
    kinds: dict[object, int] = {}
    layers: list[Layer] = []
    order = []
    for key in sorted(node.children, key=int):
        child = node.children[key]
        sign = _signature(child)
        if sign not in kinds:
            kinds[sign] = len(layers)
            made = _block("", child)
            parts = made.parts if isinstance(made, Group) else (replace(made, name=""),)
            layers.append(Layer(sublayers=(), extras=parts, width=0))
        order.append(kinds[sign])
    return Stack(name=name, role="layers", layers=tuple(layers), order=tuple(order))


def _signature(node: _Node) -> object:
    parts = tuple((key, _signature(child)) for key, child in sorted(node.children.items()))
    return node.shape, node.learned, parts


def _is_numbered(node: _Node) -> bool:
    """Whether the children are numbered from 0 on without a gap, as a list of modules is."""
    keys = node.children.keys()
    if not all(key.isascii() and key.isdecimal() and len(key) <= MOST_DIGITS for key in keys):
        return False
    return {str(number) for number in range(len(keys))} == set(keys)
