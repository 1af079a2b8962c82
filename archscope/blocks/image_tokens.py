"""What an image tokenizer is made of: residual convolutions, attention between pixels, norms steered by the code."""

from __future__ import annotations

from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, Flow, Port, present
from archscope.blocks.leaves import Norm, conv
from archscope.records import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class ResidualConvolution(Block):
    """x + conv2(act(norm2(conv1(act(norm1(x)))))), with a convolution on the x where channels change.

    Parts carry the roles norm1, conv1, norm2, conv2, shortcut.
    Source: VQGAN (arXiv 2012.09841).
    """

    inputs: int
    outputs: int
    parts: tuple[Block, ...]

    def children(self) -> tuple[Block, ...]:
        return self.parts

    @property
    def in_width(self) -> int | None:
        return self.inputs

    @property
    def out_width(self) -> int | None:
        return self.outputs

    def flows(self) -> tuple[Flow, ...]:
        """The branch, and the x beside it."""
        flows: list[Flow] = []
        at = Port("in", self.inputs)
        for role in ("norm1", "conv1", "norm2", "conv2"):
            part = self.find(role)
            if part is not None:
                flows.append(Flow(at, Port(role, part.in_width)))
                at = Port(role, part.out_width)
        flows.append(Flow(at, Port("#add", self.outputs)))
        shortcut = self.find("shortcut")
        if shortcut is None:
            flows.append(Flow(Port("in", self.inputs), Port("#add", self.outputs), "residual"))
        else:
            flows.append(Flow(Port("in", self.inputs), Port("shortcut", shortcut.in_width)))
            flows.append(Flow(Port("shortcut", shortcut.out_width), Port("#add", self.outputs), "residual"))
        flows.append(Flow(Port("#add", self.outputs), Port("out", self.outputs)))
        return tuple(flows)


@dataclass(frozen=True, kw_only=True, slots=True)
class SpatialNorm(Block):
    """A norm whose scale and shift are made from the code at the same place.

    Source: MoVQ (arXiv 2209.09002).
    """

    channels: int
    code: int

    def children(self) -> tuple[Block, ...]:
        return (
            Norm(name="norm_layer", role="norm", size=self.channels, kind="group", bias=True, eps=1e-6),
            conv("conv_y", self.code, self.channels, 1, 1, role="scale"),
            conv("conv_b", self.code, self.channels, 1, 1, role="shift"),
        )

    @property
    def in_width(self) -> int | None:
        return self.channels

    @property
    def out_width(self) -> int | None:
        return self.channels

    def flows(self) -> tuple[Flow, ...]:
        """Normalise, scale, shift."""
        steered = Port("#modulate", self.channels)
        return (
            Flow(Port("in", self.channels), Port("norm", self.channels)),
            Flow(Port("norm", self.channels), steered),
            Flow(Port("code", self.code), Port("scale", self.code)),
            Flow(Port("scale", self.channels), steered),
            Flow(Port("code", self.code), Port("shift", self.code)),
            Flow(Port("shift", self.channels), steered),
            Flow(steered, Port("out", self.channels)),
        )


def channel_norm(name: str, channels: int, code: int | None = None, role: str = "") -> Block:
    """Normalises groups of channels; steered by the code where its number of channels is given."""
    if code is None:
        return Norm(name=name, role=role, size=channels, kind="group", bias=True, eps=1e-6)
    return SpatialNorm(name=name, role=role, channels=channels, code=code)


def residual_convolution(
    name: str, inputs: int, outputs: int, *, code: int | None = None, shortcut: str = "nin_shortcut"
) -> ResidualConvolution:
    """Two convolutions of 3 by 3; one of 1 by 1 on the way around them where channels change."""
    return ResidualConvolution(
        name=name,
        inputs=inputs,
        outputs=outputs,
        parts=present(
            channel_norm("norm1", inputs, code, "norm1"),
            conv("conv1", inputs, outputs, 3, 3, role="conv1"),
            channel_norm("norm2", outputs, code, "norm2"),
            conv("conv2", outputs, outputs, 3, 3, role="conv2"),
            conv(shortcut, inputs, outputs, 1, 1, role="shortcut") if inputs != outputs else None,
        ),
    )


def pixel_attention(name: str, channels: int) -> Attention:
    """One head over all pixels, its projections convolutions of 1 by 1; the norm is its own."""
    return Attention(
        name=name,
        num_heads=1,
        num_kv_heads=1,
        head_dim=channels,
        v_head_dim=channels,
        parts=(
            Norm(name="norm", role="pre_norm", size=channels, kind="group", bias=True, eps=1e-6),
            conv("q", channels, channels, 1, 1, role="q"),
            conv("k", channels, channels, 1, 1, role="k"),
            conv("v", channels, channels, 1, 1, role="v"),
            conv("proj_out", channels, channels, 1, 1, role="o"),
        ),
        causal=False,
        cache=False,
        position="none",
        fields=("base_channels", "channel_multiplier"),
    )
