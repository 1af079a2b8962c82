"""Mixers with a state of fixed size in place of a growing cache."""

from __future__ import annotations

from typing import ClassVar

from archscope.blocks.base import Block, Flow, Port, weight
from archscope.blocks.leaves import conv, linear, rms_norm
from archscope.blocks.size import Size
from archscope.records import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class StateMixer(Block):
    """A recurrent or convolutional mixer.

    `mechanism` is the field's name of it ("Mamba-2", "gated delta net", "short convolution", ...). `inner` is the width
    inside; `state_elements` is what one layer keeps per sequence for the recurrence, `conv_elements` for the convolution.
    Parts carry the roles in_proj, conv, norm, out_proj. `split` lists what the input projection is cut into, as (name,
    width); `heads_width` is the width that the heads make up together, None where there are no heads. `wiring` is the data
    flow of a mechanism that does not follow the usual chain.
    """

    component: ClassVar[str] = "state"

    mechanism: str
    inner: int
    state_elements: int
    parts: tuple[Block, ...]
    conv_elements: int = 0
    conv_kernel: int = 0
    num_heads: int = 0
    head_dim: int = 0
    state_size: int = 0
    num_groups: int = 0
    split: tuple[tuple[str, int], ...] = ()
    heads_width: int | None = None
    wiring: tuple[Flow, ...] = ()

    def children(self) -> tuple[Block, ...]:
        return self.parts

    @property
    def in_width(self) -> int | None:
        first = self.find("in_proj") or self.parts[0]
        return first.in_width

    @property
    def out_width(self) -> int | None:
        last = self.find("out_proj") or self.parts[-1]
        return last.out_width

    def flows(self) -> tuple[Flow, ...]:
        """Input projection, convolution, scan over the state, norm, output projection."""
        if self.wiring:
            return self.wiring
        flows: list[Flow] = []
        at = Port("in")
        first = self.find("in_proj")
        if first is not None:
            flows.append(Flow(at, Port("in_proj", first.in_width)))
            at = Port("in_proj")
        if self.find("conv") is not None:
            flows.append(Flow(at, Port("conv")))
            at = Port("conv")
        flows.append(Flow(at, Port("#scan"), "cache"))
        at = Port("#scan", self.heads_width)
        for role in ("norm", "out_proj"):
            part = self.find(role)
            if part is not None:
                flows.append(Flow(at, Port(role, part.in_width)))
                at = Port(role, part.out_width)
        flows.append(Flow(at, Port("out")))
        return tuple(flows)


def mamba2_mixer(
    name: str,
    hidden: int,
    *,
    inner: int,
    num_heads: int,
    head_dim: int,
    state_size: int,
    num_groups: int,
    kernel: int,
    bias: bool,
    conv_bias: bool,
    out_bias: bool | None = None,
    gated_norm: bool = True,
    fields: tuple[str, ...] = (),
) -> StateMixer:
    """Mamba-2: one input projection for gate z, convolved x, B and C, and step dt; a scan per head.

    Shapes: in_proj (2·inner + 2·groups·state + heads, d), conv1d (inner + 2·groups·state, 1, kernel), state per layer
    heads x head_dim x state_size.
    Source: Mamba-2 (arXiv 2405.21060); transformers models/mamba2/modeling_mamba2.py (Mamba2Mixer).
    """
    i, h, n = Size(inner, "d_inner"), Size(num_heads, "h"), Size(state_size, "n")
    channels = i + 2 * Size(num_groups, "g") * n
    norm = (rms_norm("norm", i, role="norm"),) if gated_norm else ()
    return StateMixer(
        name=name,
        mechanism="Mamba-2",
        inner=i,
        state_elements=num_heads * head_dim * state_size,
        conv_elements=channels * kernel,
        conv_kernel=kernel,
        num_heads=h,
        head_dim=head_dim,
        state_size=n,
        num_groups=num_groups,
        split=(("z", inner), ("xBC", int(channels)), ("dt", num_heads)),
        heads_width=num_heads * head_dim,
        parts=(
            linear("in_proj", hidden, i + channels + h, bias, role="in_proj"),
            conv("conv1d", channels, channels, kernel, groups=channels, bias=conv_bias, role="conv"),
            weight("dt_bias", h),
            weight("A_log", h),
            weight("D", h),
            *norm,
            linear("out_proj", i, hidden, bias if out_bias is None else out_bias, role="out_proj"),
        ),
        fields=fields,
    )
