"""Attention with query, key and value heads: MHA, GQA and MQA, causal or not, sliding or full, self or cross."""

from __future__ import annotations

from typing import ClassVar, Final, Literal

from archscope.blocks.base import Block, Flow, Port
from archscope.blocks.leaves import Norm, NormKind
from archscope.blocks.size import Size
from archscope.records import dataclass

FUSED: Final = (("qkv", "qkv"), ("gqkv", "gqkv"), ("gq", "gq"), ("kv", "kv"), ("q", "q"), ("k", "k"), ("v", "v"))
"""Roles of the projections, and the streams that each of them makes."""
Position = Literal["rope", "none", "learned", "sinusoidal", "alibi", "relative"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Rope:
    """Rotary position embedding, as one layer uses it.

    Units: theta is the base; dim the rotated part of a head; original and maximum are positions.
    """

    rope_type: str = "default"
    theta: float | None = None
    factor: float | None = None
    dim: int | None = None
    original: int | None = None
    maximum: int | None = None
    sections: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Attention(Block):
    """Scaled dot-product attention over heads.

    Shapes: queries (T, num_heads, head_dim), keys (T, num_kv_heads, head_dim), values (T, num_kv_heads, v_head_dim).
    Parts carry the roles q, k, v, qkv, kv, gq and gqkv (with a gate of the width of the output), o, q_norm, k_norm, sinks, bias
    (relative positions), gate, norm (between the product and o). Without a part for values, they are the keys.
    `window` is the number of positions that a sliding layer sees, `chunk` the same for chunked attention; None is all.
    `memory_width` is the width of what keys and values are made from in cross attention, None for self-attention.
    `late_norm` puts the norms on queries and keys after the rotation, not before it. Convolutions over the streams have the
    roles k_conv, v_conv, qk_conv, and keep `conv_elements` per sequence. `reuses` says whose keys and values
    the layer attends to where it makes none of its own ("the last sliding layer before").
    """

    component: ClassVar[str] = "attention"

    num_heads: int
    num_kv_heads: int
    head_dim: int
    v_head_dim: int
    parts: tuple[Block, ...]
    causal: bool = True
    cache: bool = True
    window: int | None = None
    chunk: int | None = None
    position: Position = "rope"
    rope: Rope | None = None
    scale: float | None = None
    softcap: float | None = None
    memory_width: int | None = None
    late_norm: bool = False
    conv_elements: int = 0
    reuses: str = ""

    def children(self) -> tuple[Block, ...]:
        return self.parts

    @property
    def is_cross(self) -> bool:
        """Whether keys and values come from another sequence."""
        return self.memory_width is not None

    @property
    def sharing(self) -> str:
        """How heads share keys and values: "multi-head", "grouped-query" or "multi-query"."""
        if self.num_kv_heads == self.num_heads:
            return "multi-head"
        return "multi-query" if self.num_kv_heads == 1 else "grouped-query"

    @property
    def cache_width(self) -> int:
        """Elements that one layer keeps per token."""
        return self.num_kv_heads * (self.head_dim + self.v_head_dim) if self.cache else 0

    @property
    def in_width(self) -> int | None:
        first = self.find("q") or self.find("qkv") or self.find("gq") or self.find("gqkv")
        return first.in_width if first else None

    @property
    def out_width(self) -> int | None:
        out = self.find("o")
        return out.out_width if out else self.num_heads * self.v_head_dim

    def flows(self) -> tuple[Flow, ...]:
        """Projections, head norms, positions, cache, the product itself, and the way out."""
        widths = {
            "q": self.num_heads * self.head_dim,
            "k": self.num_kv_heads * self.head_dim,
            "v": self.num_kv_heads * self.v_head_dim,
            "g": self.num_heads * self.v_head_dim,
        }
        flows: list[Flow] = []
        ends: dict[str, Port] = {}
        for fused, streams in FUSED:
            part = self.find(fused)
            if part is None:
                continue
            source = Port("memory", self.memory_width) if self.is_cross and fused not in ("q", "gq") else Port("in")
            flows.append(Flow(source, Port(fused, part.in_width)))
            whole = sum(widths[s] for s in streams)
            for stream in streams:
                exact = part.out_width if len(streams) == 1 else _share(part.out_width, whole, widths[stream])
                ends[stream] = Port(fused, exact)
        if "k" in ends:
            ends.setdefault("v", ends["k"])
        flows += self._to_product(ends, widths)
        if self.reuses:
            flows.append(Flow(Port("#reused"), Port("#attend"), "cache"))
        gate = self.find("gate")
        if gate is not None:
            flows += [Flow(Port("in"), Port("gate", gate.in_width)), Flow(Port("gate"), Port("#attend"))]
        at = Port("#attend", self.num_heads * self.v_head_dim)
        for role in ("norm", "o"):
            if (part := self.find(role)) is not None:
                flows.append(Flow(at, Port(role, part.in_width)))
                at = Port(role, part.out_width)
        flows.append(Flow(at, Port("out")))
        return tuple(flows)

    def _to_product(self, ends: dict[str, Port], widths: dict[str, int]) -> list[Flow]:
        flows = []
        for stream, source in ends.items():
            at = source
            before = (f"{stream}_conv", "qk_conv" if stream in "qk" else "", f"{stream}_norm")
            steps = [role for role in before if role and self.find(role) is not None]
            if self.position == "rope" and stream in "qk":
                steps.insert(0 if self.late_norm else len(steps), "#rope")
            for step in steps:
                known = widths[stream] if at.width and step == "#rope" else None
                flows.append(Flow(at, Port(step, known)))
                at = Port(step, widths[stream])
            kind = "cache" if self.cache and stream in "kv" else "data"
            flows.append(Flow(at, Port("#attend", widths[stream]), kind))
        return flows


def _share(width: int | None, whole: int, part: int) -> int | None:
    """The part of a fused projection's width that one stream gets; off by as much as the whole is off."""
    return None if width is None else part + (width - whole)


def head_norms(
    kind: NormKind,
    q_size: int,
    k_size: int | None = None,
    eps: float | None = None,
    *,
    names: tuple[str, str] = ("q_norm", "k_norm"),
    bias: bool = False,
    affine: bool = True,
) -> tuple[Norm, Norm]:
    """Norms on queries and keys before the product."""
    q, k = names
    k_width = q_size if k_size is None else k_size
    return (
        Norm(name=q, role="q_norm", size=q_size, kind=kind, eps=eps, bias=bias, affine=affine),
        Norm(name=k, role="k_norm", size=k_width, kind=kind, eps=eps, bias=bias, affine=affine),
    )


def head_sizes(num_heads: int, num_kv_heads: int, head_dim: int) -> tuple[Size, Size, Size]:
    """The three numbers with their usual symbols."""
    return Size(num_heads, "h_q"), Size(num_kv_heads, "h_kv"), Size(head_dim, "d_h")
