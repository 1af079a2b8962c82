"""Convolutions that make more of less, or whose weight is saved as a direction and a length; recurrence after them."""

from __future__ import annotations

from dataclasses import dataclass

from archscope.blocks.base import Block, Flow, Weight, weight


@dataclass(frozen=True, kw_only=True, slots=True)
class TransposedConv(Block):
    """A convolution run backwards, as decoders use it to make denser what a strided one made sparser.

    Shapes: weight (in_channels, out_channels / groups, *kernel), bias (out_channels,).
    """

    in_channels: int
    out_channels: int
    kernel: tuple[int, ...]
    groups: int = 1
    bias: bool = True

    def weights(self) -> tuple[Weight, ...]:
        main = weight("weight", self.in_channels, self.out_channels // self.groups, *self.kernel)
        return (main, weight("bias", self.out_channels)) if self.bias else (main,)

    @property
    def in_width(self) -> int | None:
        return self.in_channels

    @property
    def out_width(self) -> int | None:
        return self.out_channels

    def flows(self) -> tuple[Flow, ...]:
        return ()


@dataclass(frozen=True, kw_only=True, slots=True)
class WeightNormConv(Block):
    """A convolution over time, with a bias, whose weight is a direction and a length.

    Shapes: original1 is the direction, (out, in, kernel), or (in, out, kernel) where `transposed`; original0 the
    lengths, one for each slice of the first dimension.
    Source: arXiv 1602.07868; torch.nn.utils.parametrizations.weight_norm.
    """

    in_channels: int
    out_channels: int
    kernel: int
    transposed: bool = False

    def weights(self) -> tuple[Weight, ...]:
        first, second = (self.in_channels, self.out_channels)[:: 1 if self.transposed else -1]
        return (
            weight("bias", self.out_channels),
            weight("parametrizations.weight.original0", first, 1, 1),
            weight("parametrizations.weight.original1", first, second, self.kernel),
        )

    @property
    def in_width(self) -> int | None:
        return self.in_channels

    @property
    def out_width(self) -> int | None:
        return self.out_channels

    def flows(self) -> tuple[Flow, ...]:
        return ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Lstm(Block):
    """Long short-term memory, several layers deep, with two biases for each of its four gates.

    Shapes: weight_ih and weight_hh (4·size, size) for each layer.
    Source: torch.nn.LSTM.
    """

    size: int
    num_layers: int

    def weights(self) -> tuple[Weight, ...]:
        return tuple(
            own
            for layer in range(self.num_layers)
            for own in (
                weight(f"weight_ih_l{layer}", 4 * self.size, self.size),
                weight(f"weight_hh_l{layer}", 4 * self.size, self.size),
                weight(f"bias_ih_l{layer}", 4 * self.size),
                weight(f"bias_hh_l{layer}", 4 * self.size),
            )
        )

    @property
    def in_width(self) -> int | None:
        return self.size

    @property
    def out_width(self) -> int | None:
        return self.size

    def flows(self) -> tuple[Flow, ...]:
        return ()


def transposed_conv(
    name: str, inputs: int, outputs: int, *kernel: int, groups: int = 1, bias: bool = True, role: str = ""
) -> TransposedConv:
    """A transposed convolution; one kernel size per dimension."""
    return TransposedConv(
        name=name, in_channels=inputs, out_channels=outputs, kernel=kernel, groups=groups, bias=bias, role=role
    )
