"""A learned factor for each channel of a branch."""

from __future__ import annotations

from typing import ClassVar

from archscope.blocks.base import Block, Flow, Weight, weight
from archscope.records import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class LayerScale(Block):
    """Multiplies what a branch adds to the residual stream, channel by channel.

    Shapes: one tensor (size,), or (size, 1, 1) where it is kept for images; `tensor` is its name below the block, ""
    where the block itself is the tensor.
    Source: CaiT (arXiv 2103.17239), LayerScale.
    """

    component: ClassVar[str] = "norms"

    size: int
    tensor: str = ""
    image: bool = False

    def weights(self) -> tuple[Weight, ...]:
        return (weight(self.tensor, self.size, *((1, 1) if self.image else ())),)

    @property
    def in_width(self) -> int | None:
        return self.size

    @property
    def out_width(self) -> int | None:
        return self.size

    def flows(self) -> tuple[Flow, ...]:
        return ()


def layer_scale(name: str, size: int, *, tensor: str = "", image: bool = False) -> LayerScale:
    """A factor per channel under a name."""
    return LayerScale(name=name, size=size, tensor=tensor, image=image)
