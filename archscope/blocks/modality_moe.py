"""Mixtures of experts by modality: text tokens and image tokens each have a pool of their own."""

from __future__ import annotations

from dataclasses import replace

from archscope.blocks.base import Block, Flow, Port, Weight, present
from archscope.blocks.mlp import Mlp
from archscope.blocks.moe import Moe
from archscope.records import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class ModalityMoe(Block):
    """Two mixtures, of which a token passes the one of its modality, and a shared block that all tokens pass.

    `vision` counts no active experts: a text token uses none of them. `statics` is the saved bias on the scores of both.
    Source: ERNIE 4.5 technical report, section 2 (heterogeneous MoE).
    """

    text: Moe
    vision: Moe
    statics: Weight | None = None
    shared: Mlp | None = None

    def children(self) -> tuple[Block, ...]:
        return present(self.text, self.vision, self.statics, self.shared)

    @property
    def in_width(self) -> int | None:
        return self.text.in_width

    @property
    def out_width(self) -> int | None:
        return self.text.out_width

    def flows(self) -> tuple[Flow, ...]:
        """Each pool and the shared block to one sum."""
        width = self.text.out_width
        flows: list[Flow] = []
        for part in present(self.text, self.vision, self.shared):
            flows += [Flow(Port("in"), Port(part.role, part.in_width)), Flow(Port(part.role), Port("#sum", width))]
        flows.append(Flow(Port("#sum", width), Port("out")))
        return tuple(flows)


def modality_moe(name: str, text: Moe, vision: Moe, *, statics: Weight | None, shared: Mlp | None) -> ModalityMoe:
    """The pools saved in one list of experts: those for text first, those for images after them."""
    after = replace(vision.experts, first=text.experts.count, active=0)
    return ModalityMoe(
        name=name,
        text=replace(text, name="", role="text experts"),
        vision=replace(vision, name="", role="vision experts", experts=after),
        statics=statics,
        shared=shared,
    )
