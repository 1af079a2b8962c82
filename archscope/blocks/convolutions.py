"""Convolutions whose weight is saved as a direction and a length, and recurrence after them."""

from __future__ import annotations

from archscope.blocks.base import Block, Flow, Weight, weight
from archscope.records import dataclass


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
