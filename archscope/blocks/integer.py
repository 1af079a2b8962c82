"""Buffers of layers that carry an integer copy of themselves: quantised weights, scales, observed ranges.

Source: I-BERT (arXiv 2101.01321); transformers models/ibert/quant_modules.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from archscope.blocks.base import Block, Weight, join, weight
from archscope.blocks.leaves import Embedding, Linear, Norm

ROLE = "side buffer"


def integer_buffers(block: Block, prefix: str = "") -> Iterator[Weight]:
    """What is saved beside every matrix, table and norm in a block, named in full below `prefix`.

    Shapes: the integers as what they copy; one scale per row of a matrix and per table; one shift per norm.
    """
    path = join(prefix, block.name)
    if isinstance(block, Linear):
        yield _buffer(path, "weight_integer", block.out_features, block.in_features)
        yield _buffer(path, "fc_scaling_factor", block.out_features)
        if block.bias:
            yield _buffer(path, "bias_integer", block.out_features)
    elif isinstance(block, Embedding):
        yield _buffer(path, "weight_integer", block.num_embeddings, block.dim)
        yield _buffer(path, "weight_scaling_factor", 1)
    elif isinstance(block, Norm):
        yield _buffer(path, "shift", 1)
        yield from observed_range(join(path, "activation"))
    else:
        for part in block.children():
            yield from integer_buffers(part, path)


def observed_range(*names: str) -> Iterator[Weight]:
    """The least and greatest value seen at an activation, and its scale."""
    for name in names:
        for buffer in ("x_min", "x_max", "act_scaling_factor"):
            yield _buffer(name, buffer, 1)


def _buffer(path: str, name: str, *shape: int) -> Weight:
    return weight(join(path, name), *shape, parameter=False, role=ROLE)
