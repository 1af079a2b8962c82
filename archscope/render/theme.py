"""Colours of the figures, by what they stand for, in light and in dark.

The palette keeps text at 4.5 : 1 on every fill, strokes at 3 : 1 on the page, and strokes apart under colour-blindness.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

Theme = Literal["auto", "light", "dark"]
Palette = Mapping[str, str]

_KINDS: Mapping[str, tuple[str, str, str, str]] = {
    "emb": ("#FBE0EE", "#9A1B62", "#451736", "#F58BC6"),
    "attn": ("#CFE3FA", "#0A66CC", "#0B2F57", "#4A9AF5"),
    "swa": ("#ECF7FE", "#2F8FD0", "#143B55", "#A8DAFA"),
    "ssm": ("#CBF0DF", "#00895A", "#0A3D2E", "#1FCB94"),
    "ffn": ("#FFF3B8", "#A68000", "#3B3300", "#F8E06A"),
    "moe": ("#FFD5A6", "#853500", "#4C2400", "#EE7F33"),
    "moe2": ("#F2B477", "#5E2500", "#653408", "#FFB27A"),
    "norm": ("#E9EBEE", "#767F88", "#262C33", "#8C959E"),
    "vis": ("#E2DCF8", "#4A2C9C", "#2C2358", "#BBA6FF"),
    "op": ("#FFFFFF", "#57606A", "#161B22", "#A9B4BF"),
    "io": ("#FFFFFF", "#57606A", "#161B22", "#A9B4BF"),
    "other": ("#FFFFFF", "#57606A", "#161B22", "#A9B4BF"),
    "cache": ("#FFFFFF", "#0A66CC", "#161B22", "#4A9AF5"),
}
"""Kind of block to light fill, light stroke, dark fill, dark stroke."""

_ROLES: Mapping[str, tuple[str, str]] = {
    "page": ("#FFFFFF", "#0D1117"),
    "panel": ("#FBFCFD", "#11161D"),
    "text": ("#1B2129", "#E6EDF3"),
    "muted": ("#535C66", "#A3AFBB"),
    "line": ("#3D4650", "#B4BEC9"),
    "frame": ("#8A939D", "#6E7985"),
    "rule": ("#D5DAE0", "#30363D"),
    "error": ("#B42318", "#FF8A80"),
    "warning": ("#8A4B00", "#FFC04D"),
    "info": ("#175CD3", "#84B6FF"),
    "onbadge": ("#FFFFFF", "#10151B"),
}
"""Role on the page to its light and its dark colour."""

KINDS = tuple(_KINDS)
ROLES = tuple(_ROLES)


def fill(kind: str) -> str:
    """Name of the colour inside a block of a kind."""
    return f"{kind}-fill"


def stroke(kind: str) -> str:
    """Name of the colour of the border of a block of a kind."""
    return f"{kind}-stroke"


def _palette(dark: bool) -> Palette:
    colours = {role: pair[dark] for role, pair in _ROLES.items()}
    for kind, four in _KINDS.items():
        colours[fill(kind)], colours[stroke(kind)] = four[2:] if dark else four[:2]
    return MappingProxyType(colours)


LIGHT = _palette(False)
DARK = _palette(True)


def palette(theme: Theme) -> Palette:
    """Every colour by name; "auto" is light with a dark layer over it, so its base is light."""
    return DARK if theme == "dark" else LIGHT
