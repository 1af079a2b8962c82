"""Parameters by component, as the bars show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from archscope.blocks.assembly import Head, Tower
from archscope.blocks.latent_attention import LatentAttention
from archscope.blocks.ssm import StateMixer
from archscope.costs.parameters import Parameters, count
from archscope.render.compose.labels import label, mechanism
from archscope.render.figure import Bar, Kind, Segment
from archscope.structure import Structure

_KINDS: Mapping[str, Kind] = {
    "embedding": "emb",
    "attention": "attn",
    "state": "ssm",
    "ffn": "ffn",
    "experts": "moe",
    "shared": "moe2",
    "routing": "moe2",
    "norms": "norm",
    "tower": "vis",
    "head": "emb",
    "other": "other",
}


def bars(structure: Structure, parameters: Parameters) -> tuple[Bar, ...]:
    """One bar for all parameters, and one for those active per token where they are fewer."""
    if set(parameters.by_component) == {"tower"}:
        parameters = _inside(structure)
    names = _names(structure, parameters)
    made = [_bar("total", parameters.total, parameters.by_component, names)]
    if parameters.active != parameters.total:
        made.append(_bar("active", parameters.active, parameters.active_by_component, names))
    return tuple(made)


def _inside(structure: Structure) -> Parameters:
    """The parameters of a model that is nothing but a vision or audio tower, by what is in the tower."""
    parts = tuple(replace(part, tower="encoder") if isinstance(part, Tower) else part
                  for part in structure.architecture.parts)  # fmt: skip
    return count(replace(structure.architecture, parts=parts))


def _bar(label: str, total: int, by_component: Mapping[str, int], names: Mapping[str, str]) -> Bar:
    merged: dict[str, tuple[Kind, int]] = {}
    for component, value in by_component.items():
        name = names[component]
        merged[name] = (_KINDS.get(component, "other"), merged.get(name, ("other", 0))[1] + value)
    return Bar(label, total, tuple(Segment(name, kind, value) for name, (kind, value) in merged.items() if value))


def _names(structure: Structure, parameters: Parameters) -> Mapping[str, str]:
    present = parameters.by_component
    sparse = "experts" in present
    mechanisms = {mechanism(at.block) for at in structure.of_type(StateMixer) if isinstance(at.block, StateMixer)}
    latent = any(True for _ in structure.of_type(LatentAttention))
    tied = bool(structure.ties) and "head" not in present
    mixer = next(iter(mechanisms)) if len(mechanisms) == 1 else "State mixers"
    return {
        "embedding": "Embedding (tied)" if tied else "Embedding",
        "attention": "Attention (MLA)" if latent else "Attention",
        "state": mixer,
        "ffn": "Dense FFN" if sparse else "Feed-forward",
        "experts": "Routed experts",
        "shared": _beside_experts(present),
        "routing": _beside_experts(present),
        "norms": "Norms",
        "tower": _towers(structure),
        "head": _head(structure),
        "other": "Other",
    }


def _head(structure: Structure) -> str:
    found = next(structure.of_type(Head), None)
    return "Head" if found is None else label(found.block).title[0]


def _beside_experts(present: Mapping[str, int]) -> str:
    return "Shared experts + routers" if "shared" in present else "Routers"


def _towers(structure: Structure) -> str:
    roles: Sequence[str] = [tower.tower for tower in structure.architecture.towers if not tower.is_main]
    named = {"vision": "Vision tower", "audio": "Audio tower"}
    return f"{named[roles[0]]} + projector" if len(set(roles)) == 1 and roles[0] in named else "Further towers"
