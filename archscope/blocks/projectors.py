"""What carries image, video and audio features into the width of the text tower."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from archscope.blocks.base import Block
from archscope.blocks.leaves import linear
from archscope.blocks.mlp import Mlp
from archscope.records import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Projector(Block):
    """Takes what a vision or audio tower gives into the width of the text tower."""

    component: ClassVar[str] = "tower"

    parts: tuple[Block, ...]
    source_width: int
    target_width: int
    note: str = ""

    def children(self) -> tuple[Block, ...]:
        return self.parts

    @property
    def in_width(self) -> int | None:
        return self.source_width

    @property
    def out_width(self) -> int | None:
        return self.target_width


def projector(name: str, source: int, target: int, *parts: Block | None, note: str = "") -> Projector:
    """Parts in the order of the flow, from a tower's width to that of the text; those that are None are left out."""
    return Projector(
        name=name,
        parts=tuple(part for part in parts if part is not None),
        source_width=source,
        target_width=target,
        note=note,
    )


def mlp_projector(
    name: str,
    source: int,
    target: int,
    *,
    inputs: int | None = None,
    hidden: int | None = None,
    bias: bool = True,
    names: tuple[str, str] = ("linear_1", "linear_2"),
    before: Sequence[Block] = (),
    after: Sequence[Block] = (),
    activation: str = "gelu",
    note: str = "",
) -> Projector:
    """Two matrices with an activation between them.

    `inputs` is what enters the first where several patches or layers are joined (default: `source`); `hidden` is the
    width between the two (default: `target`).
    """
    return projector(
        name,
        source,
        target,
        *before,
        plain_bridge(
            source if inputs is None else inputs,
            target if hidden is None else hidden,
            target,
            bias=bias,
            names=names,
            activation=activation,
        ),
        *after,
        note=note,
    )


def plain_bridge(
    inputs: int,
    width: int,
    outputs: int,
    *,
    name: str = "",
    bias: bool = True,
    names: tuple[str, str] = ("linear_1", "linear_2"),
    activation: str = "gelu",
) -> Mlp:
    """down(act(up(x))) whose way out is not as wide as its way in."""
    parts = (linear(names[0], inputs, width, bias, role="up"), linear(names[1], width, outputs, bias, role="down"))
    return Mlp(
        name=name,
        role="" if name else "bridge",
        width=width,
        hidden=inputs,
        gated=False,
        activation=activation,
        parts=parts,
        fields=(),
    )


def fused_gated_bridge(
    inputs: int,
    fused: int,
    outputs: int,
    *,
    name: str = "",
    bias: bool = True,
    names: tuple[str, str] = ("linear_1", "linear_2"),
    activation: str = "silu",
) -> Mlp:
    """A gated block whose first matrix gives gate and up side by side, `fused` wide together."""
    parts = (
        linear(names[0], inputs, fused, bias, role="gate_up"),
        linear(names[1], fused // 2, outputs, bias, role="down"),
    )
    return Mlp(
        name=name,
        role="bridge",
        width=fused // 2,
        hidden=inputs,
        gated=True,
        activation=activation,
        parts=parts,
        fields=(),
    )


def gated_bridge(
    inputs: int,
    width: int,
    outputs: int,
    *,
    name: str = "",
    bias: bool = False,
    names: tuple[str, str, str] = ("gate_proj", "up_proj", "down_proj"),
    activation: str = "silu",
) -> Mlp:
    """down(act(gate(x)) * up(x)) whose way out is not as wide as its way in."""
    parts = (
        linear(names[0], inputs, width, bias, role="gate"),
        linear(names[1], inputs, width, bias, role="up"),
        linear(names[2], width, outputs, bias, role="down"),
    )
    return Mlp(
        name=name,
        role="" if name else "bridge",
        width=width,
        hidden=inputs,
        gated=True,
        activation=activation,
        parts=parts,
        fields=(),
    )
