"""Blocks without parts: projections, norms, embeddings, convolutions and operations without weights."""

from __future__ import annotations

from typing import ClassVar, Literal

from archscope.blocks.base import Block, Flow, Weight, weight
from archscope.records import dataclass

NormKind = Literal["rms", "layer", "group", "batch", "l2", "none"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Linear(Block):
    """A matrix product, with an optional bias.

    Shapes: weight (out_features, in_features) as torch's Linear saves it, or (in_features, out_features) where
    `transposed` (the Conv1D layer of GPT-2's time).
    """

    in_features: int
    out_features: int
    bias: bool = False
    transposed: bool = False

    def weights(self) -> tuple[Weight, ...]:
        shape = (self.out_features, self.in_features)
        main = weight("weight", *(shape[::-1] if self.transposed else shape))
        return (main, weight("bias", self.out_features)) if self.bias else (main,)

    @property
    def in_width(self) -> int | None:
        return self.in_features

    @property
    def out_width(self) -> int | None:
        return self.out_features

    def flows(self) -> tuple[Flow, ...]:
        return ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Norm(Block):
    """A normalisation over the last dimension.

    Shapes: weight and bias (size,); neither where `affine` is False. `names` are those two as saved.
    """

    component: ClassVar[str] = "norms"

    size: int
    kind: NormKind = "rms"
    affine: bool = True
    bias: bool = False
    eps: float | None = None
    names: tuple[str, str] = ("weight", "bias")

    def weights(self) -> tuple[Weight, ...]:
        if not self.affine:
            return ()
        main = weight(self.names[0], self.size)
        return (main, weight(self.names[1], self.size)) if self.bias else (main,)

    @property
    def in_width(self) -> int | None:
        return self.size

    @property
    def out_width(self) -> int | None:
        return self.size

    def flows(self) -> tuple[Flow, ...]:
        return ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Embedding(Block):
    """A table of vectors, looked up by a whole number.

    Shapes: weight (num_embeddings, dim). `of` says what is looked up: "token", "position", "token type", ...
    """

    component: ClassVar[str] = "embedding"

    num_embeddings: int
    dim: int
    of: str = "token"
    scale: float | None = None

    def weights(self) -> tuple[Weight, ...]:
        return (weight("weight", self.num_embeddings, self.dim),)

    @property
    def out_width(self) -> int | None:
        return self.dim

    def flows(self) -> tuple[Flow, ...]:
        return ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Conv(Block):
    """A convolution of one, two or three dimensions.

    Shapes: weight (out_channels, in_channels / groups, *kernel), bias (out_channels,); where it is `transposed`, and makes
    its input longer, the first two sizes of the weight change places.
    """

    in_channels: int
    out_channels: int
    kernel: tuple[int, ...]
    groups: int = 1
    bias: bool = True
    transposed: bool = False

    def weights(self) -> tuple[Weight, ...]:
        first, second = self.out_channels, self.in_channels // self.groups
        if self.transposed:
            first, second = self.in_channels, self.out_channels // self.groups
        main = weight("weight", first, second, *self.kernel)
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
class Regroup(Block):
    """Moves or joins vectors without weights: patches to channels, neighbours to one, layers side by side.

    `what` is the field's name of it ("pixel shuffle", "patch merge", "pooling").
    """

    inputs: int
    outputs: int
    what: str = ""

    @property
    def in_width(self) -> int | None:
        return self.inputs

    @property
    def out_width(self) -> int | None:
        return self.outputs

    def flows(self) -> tuple[Flow, ...]:
        return ()


def regroup(what: str, inputs: int, outputs: int) -> Regroup:
    """An operation that takes vectors of width `inputs` to such of width `outputs`, without weights."""
    return Regroup(role=f"#{what.replace(' ', '_')}", inputs=inputs, outputs=outputs, what=what)


def linear(
    name: str,
    inputs: int,
    outputs: int,
    bias: bool = False,
    *,
    role: str = "",
    transposed: bool = False,
    tied_to: str = "",
    fields: tuple[str, ...] = (),
) -> Linear:
    """A projection from `inputs` to `outputs`."""
    return Linear(
        name=name,
        in_features=inputs,
        out_features=outputs,
        bias=bool(bias),
        role=role,
        transposed=transposed,
        tied_to=tied_to,
        fields=fields,
    )


def rms_norm(name: str, size: int, *, role: str = "", eps: float | None = None, affine: bool = True) -> Norm:
    """Root-mean-square normalisation (arXiv 1910.07467): a scale, no bias."""
    return Norm(name=name, size=size, kind="rms", role=role, eps=eps, affine=affine)


def layer_norm(
    name: str, size: int, *, bias: bool = True, role: str = "", eps: float | None = None, affine: bool = True
) -> Norm:
    """Layer normalisation: a scale and, mostly, a bias."""
    return Norm(name=name, size=size, kind="layer", bias=bias, role=role, eps=eps, affine=affine)


def embedding(
    name: str,
    num_embeddings: int,
    dim: int,
    *,
    of: str = "token",
    role: str = "",
    scale: float | None = None,
    tied_to: str = "",
    fields: tuple[str, ...] = (),
) -> Embedding:
    """A lookup table of `num_embeddings` vectors of width `dim`."""
    return Embedding(
        name=name,
        num_embeddings=num_embeddings,
        dim=dim,
        of=of,
        role=role,
        scale=scale,
        tied_to=tied_to,
        fields=fields,
    )


def conv(
    name: str,
    inputs: int,
    outputs: int,
    *kernel: int,
    groups: int = 1,
    bias: bool = True,
    role: str = "",
    transposed: bool = False,
) -> Conv:
    """A convolution from `inputs` to `outputs` channels; one kernel size per dimension.

    Raises: ValueError for less than one group.
    """
    if groups < 1:
        raise ValueError(f"a convolution cannot have {groups} groups")
    return Conv(
        name=name,
        in_channels=inputs,
        out_channels=outputs,
        kernel=kernel,
        groups=groups,
        bias=bool(bias),
        role=role,
        transposed=transposed,
    )
