"""Findings beside the blocks that they are about.

A finding belongs to the block that depends on the most of the fields it names; its first field must be among them. A
finding about no block (a token id, metadata) is only in the list.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from archscope.blocks.assembly import Head
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block
from archscope.blocks.latent_attention import LatentAttention
from archscope.blocks.leaves import Conv, Embedding, Norm
from archscope.blocks.mlp import Mlp
from archscope.blocks.moe import Moe, Router
from archscope.blocks.ssm import StateMixer
from archscope.config import Config
from archscope.diagnostics import Diagnostic
from archscope.render.figure import Badge, Finding
from archscope.structure import Placed, Structure

Key = tuple[int, str]
DRAWN = (Embedding, Attention, LatentAttention, StateMixer, Mlp, Moe, Router, Norm, Conv, Head)
ROPE = ("rope_scaling", "rope_parameters", "rope_theta", "partial_rotary_factor", "rope_local_base_freq",
        "original_max_position_embeddings")  # fmt: skip
"""Keys of a file that say how positions rotate."""
LONGEST = 1000


class Badges:
    """The findings of one model by block."""

    def __init__(self, structure: Structure, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = diagnostics
        self._by_key: dict[Key, list[Diagnostic]] = {}
        if not diagnostics:
            return
        places = [(at, _pointers(at, structure.config.at(at.pointer))) for at in _drawn(structure)]
        for diagnostic in diagnostics:
            for key in _home(diagnostic, places):
                self._by_key.setdefault(key, []).append(diagnostic)

    def of(self, blocks: Sequence[Block], part: str = "") -> Badge | None:
        """The badge of a node that stands for the blocks; None where nothing was found about them."""
        found: dict[int, Diagnostic] = {}
        for block in blocks:
            found.update((id(one), one) for one in self._by_key.get((id(block), part), ()))
        return badge(tuple(found.values()))


def badge(diagnostics: Sequence[Diagnostic]) -> Badge | None:
    """One badge for all: the worst severity, and the rule's name or how many there are."""
    if not diagnostics:
        return None
    worst = max(diagnostics, key=lambda one: one.severity.rank)
    name = worst.rule if len(diagnostics) == 1 else f"{len(diagnostics)} findings"
    details = tuple(
        f"{one.severity.value} {one.rule}: {one.message[:LONGEST]} ({location(one)})" for one in diagnostics
    )
    return Badge(worst.severity.value, name, details)


def listed(diagnostics: Sequence[Diagnostic]) -> tuple[Finding, ...]:
    """The list of findings, the worst first."""
    ranked = sorted(diagnostics, key=lambda one: -one.severity.rank)
    return tuple(Finding(one.severity.value, one.rule, one.message[:LONGEST], location(one)) for one in ranked)


def location(diagnostic: Diagnostic) -> str:
    """File and line of a diagnostic."""
    file = os.path.basename(diagnostic.file) or diagnostic.file
    return file if diagnostic.line is None else f"{file}:{diagnostic.line}"


def _drawn(structure: Structure) -> Iterator[Placed]:
    seen: set[int] = set()
    for at in structure.blocks():
        # The blocks of experts and heads show through the block around them.
        inside = any(isinstance(outer, Moe | Head | Attention | LatentAttention | StateMixer) for outer in at.trail)
        if isinstance(at.block, DRAWN) and id(at.block) not in seen and (not inside or isinstance(at.block, Router)):
            seen.add(id(at.block))
            yield at


def _pointers(at: Placed, config: Config) -> dict[str, str]:
    """Pointers in the file that a block depends on, each with the part of the block that it is about."""
    found: dict[str, str] = {}
    block = at.block
    names = [*block.fields, *(name for part in block.children() for name in part.fields)]
    for name in (*names, *_implied(block)):
        found.setdefault(config.pointer_of(name) or f"{config.pointer}/{name}", "")
    if isinstance(block, Attention | LatentAttention) and block.rope is not None:
        for name in ROPE:
            found[config.pointer_of(name) or f"{config.pointer}/{name}"] = "rope"
            found[f"{config.pointer}/{name}"] = "rope"
        for rope in config.rope.values():
            found.update(dict.fromkeys(rope.pointers.values(), "rope"))
    return found


def _implied(block: Block) -> tuple[str, ...]:
    """Fields that decide what a block does rather than its shape."""
    if isinstance(block, Attention | LatentAttention):
        window = ("sliding_window", "layer_types") if block.window else ()
        return (*window, "attention_dropout", "attn_logit_softcapping", "query_pre_attn_scalar")
    if isinstance(block, Mlp):
        return ("hidden_act", "hidden_activation", "activation_function")
    if isinstance(block, Norm):
        return ("rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon", "norm_eps")
    return ()


def _home(diagnostic: Diagnostic, places: Sequence[tuple[Placed, dict[str, str]]]) -> tuple[Key, ...]:
    """The block that a diagnostic is about, and the part of it."""
    named = [diagnostic.pointer, *(place.pointer for place in diagnostic.related)]
    best: tuple[int, tuple[Key, ...]] = (0, ())
    for at, pointers in places:
        part = _part(diagnostic.pointer, pointers)
        if part is None:
            continue
        score = sum(_part(pointer, pointers) is not None for pointer in named)
        if score > best[0]:
            keys: tuple[Key, ...] = ((id(at.block), ""),)
            best = (score, (*keys, (id(at.block), part)) if part else keys)
    return best[1]


def _part(pointer: str, pointers: dict[str, str]) -> str | None:
    """Which part of a block a pointer is about, None where it is not about the block."""
    while pointer:
        if pointer in pointers:
            return pointers[pointer]
        pointer = pointer.rpartition("/")[0]
    return None
