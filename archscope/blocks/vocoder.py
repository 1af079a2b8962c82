"""What turns codes and spectrograms into sound: snake activations, residual convolutions, ever longer sequences."""

from __future__ import annotations

from archscope.blocks.base import Block, weight
from archscope.blocks.joined import Bundle, bundle
from archscope.blocks.leaves import conv, layer_norm
from archscope.blocks.mlp import plain_mlp


def snake(name: str, width: int) -> Bundle:
    """The activation x + sin²(αx) / β with learned α and β for each channel. Source: BigVGAN (arXiv 2206.04658) section 3."""
    return bundle(name, weight("alpha", width), weight("beta", width), role="snake")


def dilated_residuals(name: str, width: int, kernel: int, convolutions: int = 3) -> Bundle:
    """Pairs of a dilated and a plain convolution, a snake before each. Source: BigVGAN (arXiv 2206.04658), AMPBlock."""
    pairs = tuple(
        conv(f"{stage}.{number}", width, width, kernel)
        for stage in ("convs1", "convs2")
        for number in range(convolutions)
    )
    snakes = tuple(snake(f"activations.{number}.act", width) for number in range(2 * convolutions))
    return bundle(name, *pairs, *snakes, role="residual")


def snake_residual(name: str, width: int) -> Bundle:
    """Snake, dilated convolution of 7, snake, convolution of 1."""
    return bundle(
        name,
        snake("act1", width),
        conv("conv1.conv", width, width, 7),
        snake("act2", width),
        conv("conv2.conv", width, width, 1),
        role="residual",
    )


def snake_upsampler(name: str, inputs: int, outputs: int, rate: int) -> Bundle:
    """Snake, a transposed convolution that makes the sequence `rate` times as long, three residual units."""
    units = tuple(snake_residual(f"block.{number}", outputs) for number in (2, 3, 4))
    longer = conv("block.1.conv", inputs, outputs, 2 * rate, transposed=True)
    return bundle(name, snake("block.0", inputs), longer, *units, role="upsampling")


def convnext(name: str, width: int) -> Bundle:
    """Depthwise convolution, norm, a feed-forward block of four times the width, a scale. Source: arXiv 2201.03545."""
    return bundle(
        name,
        conv("dwconv.conv", width, width, 7, groups=width),
        layer_norm("norm", width),
        plain_mlp(width, 4 * width, "gelu", name="", names=("pwconv1", "pwconv2"), fields=()),
        weight("gamma", width),
        role="convnext",
    )


def time_delay(name: str, inputs: int, outputs: int, kernel: int) -> Block:
    """A one-dimensional convolution over time with a ReLU."""
    return conv(f"{name}.conv", inputs, outputs, kernel)
