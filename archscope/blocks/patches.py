"""How an image or a spectrogram becomes a sequence: patches, learned positions, class tokens."""

from __future__ import annotations

from typing import ClassVar

from archscope.blocks.base import Block, Flow, Port, present, weight
from archscope.blocks.leaves import conv, embedding, linear
from archscope.records import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class PatchEmbedding(Block):
    """Patches of an image, video or spectrogram, projected to vectors, with positions and class tokens added.

    Shapes: a patch is `patch` elements of each of `channels` channels (frames of a video first, then rows and columns).
    Parts carry the roles projection, token (vectors put before the patches), position, norm; `num_positions` is the
    number of learned positions, 0 where there are none.
    """

    component: ClassVar[str] = "embedding"

    channels: int
    patch: tuple[int, ...]
    hidden: int
    parts: tuple[Block, ...]
    num_positions: int = 0

    def children(self) -> tuple[Block, ...]:
        return self.parts

    @property
    def out_width(self) -> int | None:
        return self.hidden

    def flows(self) -> tuple[Flow, ...]:
        """Projection, then the sum with tokens and positions, then norms."""
        flows: list[Flow] = []
        at = Port("in")
        added = [part for part in self.parts if part.role in ("token", "position")]
        for part in (part for part in self.parts if part.role not in ("token", "position", "norm")):
            flows.append(Flow(at, Port(part.name, part.in_width)))
            at = Port(part.name, part.out_width)
        if added:
            flows.append(Flow(at, Port("#add", self.hidden)))
            flows += [Flow(Port(part.name, part.out_width), Port("#add", self.hidden)) for part in added]
            at = Port("#add", self.hidden)
        for part in (part for part in self.parts if part.role == "norm"):
            flows.append(Flow(at, Port(part.name, part.in_width)))
            at = Port(part.name, part.out_width)
        flows.append(Flow(at, Port("out", self.hidden)))
        return tuple(flows)


def sides(value: object, dimensions: int = 2) -> tuple[int, ...]:
    """The sizes along each dimension, from one number for all or a list of them."""
    if isinstance(value, list | tuple):
        return tuple(int(n) for n in value)
    return (int(value),) * dimensions  # type: ignore[call-overload]


def patch_embedding(
    name: str,
    channels: int,
    hidden: int,
    patch: tuple[int, ...],
    *,
    projection: str = "patch_embedding",
    bias: bool = True,
    flat: bool = False,
    token: Block | None = None,
    positions: int = 0,
    position: Block | str = "position_embedding",
    norm: Block | None = None,
    fields: tuple[str, ...] = ("image_size", "patch_size", "hidden_size"),
) -> PatchEmbedding:
    """Patches through a convolution as large as its stride, or through one matrix where they come `flat`.

    `positions` is how many learned positions there are; `position` their table's name, or the block itself where it is
    not a table.
    """
    elements = channels
    for side in patch:
        elements *= side
    table = (
        embedding(position, positions, hidden, of="position", role="position")
        if isinstance(position, str)
        else position
    )
    return PatchEmbedding(
        name=name,
        role="patch embedding",
        channels=channels,
        patch=patch,
        hidden=hidden,
        num_positions=positions,
        parts=present(
            linear(projection, elements, hidden, bias, role="projection")
            if flat
            else conv(projection, channels, hidden, *patch, bias=bias, role="projection"),
            token,
            table if positions else None,
            norm,
        ),
        fields=fields,
    )


def class_token(name: str, *shape: int) -> Block:
    """A learned vector that is put before the patches."""
    return weight(name, *shape, role="token")


def position_weight(name: str, *shape: int) -> Block:
    """Learned positions in a bare tensor."""
    return weight(name, *shape, role="position")
