"""From a raw waveform to frames: strided convolutions, and positions by a convolution over many frames."""

from __future__ import annotations

from collections.abc import Sequence

from archscope.blocks.base import Group, group, weight
from archscope.blocks.leaves import Norm, conv, layer_norm


def waveform_convolutions(
    name: str, dims: Sequence[int], kernels: Sequence[int], norms: Sequence[str], bias: bool
) -> tuple[Group, ...]:
    """Strided convolutions `name.0`, `name.1`, ... over the samples.

    `norms` says what follows each: "layer", "group" (each channel a group) or nothing.
    Source: wav2vec 2.0 (arXiv 2006.11477), feature encoder.
    """
    return tuple(
        group(
            f"{name}.{index}",
            conv("conv", dims[index - 1] if index else 1, dims[index], kernels[index], bias=bias),
            _norm(kind, dims[index]),
            role=f"convolution {index}",
        )
        for index, kind in enumerate(norms)
    )


def first_or_all(kind: str, count: int) -> list[str]:
    """The norms of `count` convolutions: after each of them where the kind is "layer", else after the first."""
    if kind == "layer":
        return ["layer"] * count
    return ["group"] + [""] * (count - 1)


def convolved_positions(name: str, width: int, kernel: int, groups: int) -> Group:
    """A convolution over many frames whose weight is a direction and a length for each step in time."""
    return group(
        name,
        weight("parametrizations.weight.original0", 1, 1, kernel),
        weight("parametrizations.weight.original1", width, width // groups, kernel),
        weight("bias", width),
        role="side positions",
    )


def _norm(kind: str, width: int) -> Norm | None:
    if kind == "layer":
        return layer_norm("layer_norm", width)
    return Norm(name="layer_norm", size=width, kind="group", bias=True) if kind == "group" else None
