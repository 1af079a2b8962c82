"""How positions come into attention, in words: rotary bases, their scaling, and what stands in their place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from archscope.blocks.attention import Attention, Rope
from archscope.blocks.latent_attention import LatentAttention
from archscope.render.figure import Words
from archscope.render.quantities import real, short_real, whole

if TYPE_CHECKING:
    from archscope.render.compose.context import Context


def position(block: Attention | LatentAttention) -> Words:
    """How positions come into a block: its rotary base, or what it has instead."""
    if block.rope is not None:
        return rotary(block.rope)
    named = {"none": "no RoPE", "alibi": "ALiBi", "relative": "relative positions"}
    found = named.get(block.position, "") if isinstance(block, Attention) else ""
    return (found,) if found else ()


def rotary(rope: Rope) -> Words:
    """Base and scaling of a rotary embedding."""
    scaling = rotary_scaling(rope)
    base = "" if rope.theta is None else f"θ = {real(rope.theta)}"
    tight = "" if rope.theta is None else f"θ = {short_real(rope.theta)}"
    both = [", ".join(filter(None, (said, scaling))) for said in (base, tight)]
    return tuple(dict.fromkeys(filter(None, (*both, tight or scaling))))


def rotary_scaling(rope: Rope) -> str:
    """Type and factor of a scaled rotary embedding, "" for an unscaled one."""
    if rope.rope_type in ("default", ""):
        return ""
    kind = rope.rope_type[:24]
    return kind if rope.factor is None else f"{kind} × {real(rope.factor)}"


def rope_title(rope: Rope, head_dim: int) -> Words:
    """The name, with the part of a head that turns where it is not all of it."""
    if rope.dim is None or rope.dim >= head_dim:
        return ("RoPE",)
    return (f"RoPE on {whole(rope.dim)} of {whole(head_dim)} dims", f"RoPE, {whole(rope.dim)} of {whole(head_dim)}")


def rope_facts(ctx: Context, rope: Rope, pointer: str) -> tuple[Words, ...]:
    """Base and scaling on one line, the stretched length on the next."""
    given = ctx.config_at(pointer).rope.values()
    mark = " (default)" if given and all("rope_theta" not in one.pointers for one in given) else ""
    base = "" if rope.theta is None else f"θ = {real(rope.theta)}{mark}"
    scaling = rotary_scaling(rope)
    long = scaling.replace(" ×", " scaling ×") if "×" in scaling else scaling
    first = tuple(dict.fromkeys(" · ".join(filter(None, (base, said))) for said in (long, scaling)))
    lines: list[Words] = [(*first, *rotary(rope))] if base or scaling else []
    if scaling and rope.original is not None and rope.maximum is not None and rope.original != rope.maximum:
        lines.append((f"{whole(rope.original)} → {whole(rope.maximum)} positions", f"to {whole(rope.maximum)}"))
    if rope.sections:
        lines.append((f"sections {' + '.join(map(whole, rope.sections[:6]))}",))
    return tuple(lines)
