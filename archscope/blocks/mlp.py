"""Feed-forward blocks: plain (two matrices) and gated (three)."""

from __future__ import annotations

from typing import ClassVar

from archscope.blocks.base import Block, Flow, Port, Weight, present, weight
from archscope.blocks.leaves import linear
from archscope.records import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Mlp(Block):
    """A feed-forward block d -> m -> d.

    Parts carry the roles gate, up, down, or gate_up where the first two are fused. Parameters without biases: 2·d·m plain,
    3·d·m gated; equal at m = 8d/3 against a plain 4d (arXiv 2002.05202).
    """

    component: ClassVar[str] = "ffn"

    width: int
    hidden: int
    gated: bool
    activation: str
    parts: tuple[Block, ...]

    def children(self) -> tuple[Block, ...]:
        return self.parts

    @property
    def ratio(self) -> float:
        """Effective m / d."""
        return self.width / self.hidden

    @property
    def in_width(self) -> int | None:
        return self.parts[0].in_width

    @property
    def out_width(self) -> int | None:
        down = self.find("down")
        return down.out_width if down else None

    def flows(self) -> tuple[Flow, ...]:
        """Up (and gate), activation, product where gated, down."""
        flows: list[Flow] = []
        inner = Port("#act", self.width)
        if (fused := self.find("gate_up")) is not None:
            half = None if fused.out_width is None else fused.out_width // 2
            flows.append(Flow(Port("in"), Port("gate_up", fused.in_width)))
            flows.append(Flow(Port("gate_up", half), inner))
            flows.append(Flow(Port("gate_up", half), Port("#mul", self.width)))
        for role in ("gate", "up"):
            part = self.find(role)
            if part is not None:
                flows.append(Flow(Port("in"), Port(role, part.in_width)))
                target = Port("#mul", self.width) if self.gated and role == "up" else inner
                flows.append(Flow(Port(role, part.out_width), target))
        at = inner
        if self.gated:
            flows.append(Flow(inner, Port("#mul", self.width)))
            at = Port("#mul", self.width)
        for part in self.parts:
            if part.role in ("norm", "down"):
                flows.append(Flow(at, Port(part.role, part.in_width)))
                at = Port(part.role, part.out_width)
        flows.append(Flow(at, Port("out")))
        return tuple(flows)


def gated_mlp(
    hidden: int,
    width: int,
    activation: str,
    *,
    bias: bool = False,
    name: str = "mlp",
    names: tuple[str, str, str] = ("gate_proj", "up_proj", "down_proj"),
    role: str = "",
    fields: tuple[str, ...] = ("intermediate_size", "hidden_size"),
) -> Mlp:
    """down(act(gate(x)) * up(x)); `names` are those of gate, up and down."""
    gate, up, down = names
    parts = (
        linear(gate, hidden, width, bias, role="gate"),
        linear(up, hidden, width, bias, role="up"),
        linear(down, width, hidden, bias, role="down"),
    )
    return Mlp(
        name=name, role=role, width=width, hidden=hidden, gated=True, activation=activation, parts=parts, fields=fields
    )


def fused_gated_mlp(
    hidden: int,
    width: int,
    activation: str,
    *,
    bias: bool = False,
    name: str = "mlp",
    names: tuple[str, str] = ("gate_up_proj", "down_proj"),
    role: str = "",
    fields: tuple[str, ...] = ("intermediate_size", "hidden_size"),
) -> Mlp:
    """A gated block whose gate and up are one matrix (d, 2m)."""
    parts = (
        linear(names[0], hidden, 2 * width, bias, role="gate_up"),
        linear(names[1], width, hidden, bias, role="down"),
    )
    return Mlp(
        name=name, role=role, width=width, hidden=hidden, gated=True, activation=activation, parts=parts, fields=fields
    )


def plain_mlp(
    hidden: int,
    width: int,
    activation: str,
    *,
    bias: bool = True,
    name: str = "mlp",
    names: tuple[str, str] = ("fc1", "fc2"),
    transposed: bool = False,
    norm: Block | None = None,
    role: str = "",
    fields: tuple[str, ...] = ("intermediate_size", "hidden_size"),
) -> Mlp:
    """down(act(up(x))); `names` are those of up and down; `norm` (role "norm") sits before down."""
    parts = present(
        linear(names[0], hidden, width, bias, role="up", transposed=transposed),
        norm,
        linear(names[1], width, hidden, bias, role="down", transposed=transposed),
    )
    return Mlp(
        name=name, role=role, width=width, hidden=hidden, gated=False, activation=activation, parts=parts, fields=fields
    )


def stacked_weights(*named: tuple[str, tuple[int, ...]]) -> tuple[Weight, ...]:
    """Bare tensors from (name, shape) pairs."""
    return tuple(weight(name, *shape) for name, shape in named)
