"""Batch normalisation, which saves what it has seen."""

from __future__ import annotations

from typing import ClassVar

from archscope.blocks.base import Block, Flow, Weight, weight
from archscope.records import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchNorm(Block):
    """Normalises each channel by its running mean and variance.

    Shapes: weight, bias, running_mean, running_var (size,), num_batches_tracked a scalar; the last three are buffers.
    Source: torch.nn.BatchNorm1d.
    """

    component: ClassVar[str] = "norms"

    size: int

    def weights(self) -> tuple[Weight, ...]:
        return (
            weight("weight", self.size),
            weight("bias", self.size),
            weight("running_mean", self.size, parameter=False),
            weight("running_var", self.size, parameter=False),
            weight("num_batches_tracked", parameter=False),
        )

    @property
    def in_width(self) -> int | None:
        return self.size

    @property
    def out_width(self) -> int | None:
        return self.size

    def flows(self) -> tuple[Flow, ...]:
        return ()
