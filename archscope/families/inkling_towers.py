"""Inkling's towers: patches folded layer by layer into one vector, and a table of audio codes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import ceil, log
from struct import pack, unpack

from archscope.blocks.assembly import Architecture
from archscope.blocks.base import Block
from archscope.blocks.leaves import embedding, linear, regroup, rms_norm
from archscope.blocks.size import Size
from archscope.blocks.towers import is_mounted, tower_model
from archscope.config import Config
from archscope.families.registry import family

Scale = tuple[int, int, int, int]

NEAR = 1e-5
"""Distances closer than this may be taken either way in single precision."""


@family("inkling_audio")
def inkling_audio(c: Config) -> Architecture:
    """The codes of all codebooks in one table; a frame is the sum of its codes.

    Source: transformers, models/inkling/modeling_inkling.py (InklingAudioModel); inside the whole model the names are
    those of its first release (conversion_mapping.py).
    """
    d, first = Size(c.text_hidden_size, "d_text"), is_mounted(c)
    codes = embedding(
        "encoder" if first else "embed_audio_tokens.embed_audio_tokens",
        c.num_codebooks * c.codebook_size,
        c.hidden_size,
        of="code",
        role="embedding",
    )
    norm = rms_norm("final_norm" if first else "norm", d)
    return tower_model(c, d, codes, norm, tower="audio", classes=("InklingAudioModel",))


@family("inkling_vision")
def inkling_vision(c: Config) -> Architecture:
    """Matrices that join neighbouring pixels, then frames, into ever wider vectors: no attention.

    Source: transformers, models/inkling/modeling_inkling.py (InklingVisionModel, plan_out_scales); inside the whole
    model the names are those of its first release (conversion_mapping.py).
    """
    d, count, first = Size(c.text_hidden_size, "d_text"), c.num_hidden_layers, is_mounted(c)
    coarse = c.get("dtype") != "float32"
    scales, known = _scales(c.temporal_patch_size, c.patch_size, count, c.num_channels, coarse)
    parts: list[Block] = []
    for index, (before, after) in enumerate(pairwise(scales)):
        last = index == count - 1
        folded = before[3] * (after[0] // before[0]) * (after[1] // before[1]) * (after[2] // before[2])
        out = d if last else after[3]
        matrix = f"layers.linear_{index}" if first else f"encoder_layers.{index}.projection"
        norm = f"layers.norm_{index}" if first else f"encoder_layers.{index}.layer_norm"
        parts += [regroup("fold", before[3], folded), linear(matrix, folded, out)]
        parts += [] if last else [rms_norm(norm, out)]
    reason = "" if known else "shapes that are as near as others to what a layer should have"
    return tower_model(c, d, *parts, rms_norm("final_norm", d), classes=("InklingVisionModel",), partial=reason)


def _scales(frames: int, side: int, count: int, channels: int, coarse: bool) -> tuple[list[Scale], bool]:
    """The shape after each layer, (frames, rows, columns, channels), and whether the plan has one solution.

    Elements grow evenly on a logarithmic scale: each layer takes the nearest of the shapes that the prime factors of
    side and frames allow. The reference does this in the dtype of the model, so that the plan depends on it: `coarse`
    is bfloat16.
    """
    sides, times = _products(side), _products(frames)
    shapes: list[Scale] = [(1, 1, 1, channels)]
    shapes += [(1, n, n, ceil(n**2 * channels / 64) * 64) for n in sides]
    shapes += [(t, side, side, side**2 * channels * t * 64) for t in times]
    sizes = [log(t * h * w) for t, h, w, _ in shapes]
    found, clear = [], count >= len(shapes)
    for ideal in _evenly(log(side * side * frames * channels), count, _bfloat16 if coarse else float):
        distances = [abs(ideal - size) for size in sizes]
        first, second = sorted(distances)[:2]
        clear = clear and (coarse or second - first > NEAR)
        found.append(distances.index(first))
    found[0], found[-1] = 0, len(shapes) - 1
    return [shapes[at] for at in found], clear


def _evenly(end: float, count: int, rounded: Callable[[float], float]) -> list[float]:
    """Numbers from 0 to `end` in `count` steps, from both sides to the middle. Source: torch.linspace."""
    end = rounded(end)
    step = rounded(end / count)
    return [
        rounded(step * index) if index < (count + 1) // 2 else rounded(end - rounded(step * (count - index)))
        for index in range(count + 1)
    ]


def _bfloat16(number: float) -> float:
    """The nearest number with eight bits of mantissa, the even one of two."""
    bits: int = unpack("<I", pack("<f", number))[0]
    bits += 0x7FFF + (bits >> 16 & 1)
    rounded: float = unpack("<f", pack("<I", bits & 0xFFFF0000))[0]
    return rounded


def _products(number: int) -> list[int]:
    """Running products of the prime factors, the largest first."""
    factors, rest, prime = [], number, 2
    while prime * prime <= rest:
        while rest % prime == 0:
            factors.append(prime)
            rest //= prime
        prime += 1
    if rest > 1:
        factors.append(rest)
    products, at = [], 1
    for factor in reversed(factors):
        at *= factor
        products.append(at)
    return products
