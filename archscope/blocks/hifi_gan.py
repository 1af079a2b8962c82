"""The generator of HiFi-GAN: ever longer and narrower sequences, each through residual convolutions side by side."""

from __future__ import annotations

from collections.abc import Sequence

from archscope.blocks.base import Block
from archscope.blocks.joined import Bundle, bundle
from archscope.blocks.leaves import conv

OUTER_KERNEL = 7
"""Of the first and the last convolution."""


def hifi_gan(
    name: str,
    inputs: int,
    width: int,
    upsampling: Sequence[tuple[int, int]],
    residuals: Sequence[tuple[int, Sequence[int]]],
    *extras: Block,
) -> Bundle:
    """Frames to samples.

    Args:
        name: of the module.
        inputs: width of a frame.
        width: channels before the first transposed convolution, each of which halves them.
        upsampling: factor and kernel of each transposed convolution.
        residuals: kernel and dilations of each residual block, of which every width has one of its own.
        extras: what else the module holds.

    Source: HiFi-GAN (arXiv 2010.05646), generator.
    """
    longer = [
        conv(f"upsampler.{index}", width // 2**index, width // 2 ** (index + 1), kernel, transposed=True)
        for index, (_, kernel) in enumerate(upsampling)
    ]
    blocks = [
        _residual(f"resblocks.{index * len(residuals) + number}", width // 2 ** (index + 1), kernel, len(dilations))
        for index in range(len(longer))
        for number, (kernel, dilations) in enumerate(residuals)
    ]
    last = conv("conv_post", width // 2 ** len(longer), 1, OUTER_KERNEL)
    return bundle(name, *extras, conv("conv_pre", inputs, width, OUTER_KERNEL), *longer, *blocks, last, role="vocoder")


def _residual(name: str, width: int, kernel: int, count: int) -> Bundle:
    parts = (
        conv(f"{stage}.{number}", width, width, kernel) for stage in ("convs1", "convs2") for number in range(count)
    )
    return bundle(name, *parts, role="residual")
