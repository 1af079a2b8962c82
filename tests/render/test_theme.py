"""The palette: readable text, strokes that stand out, and kinds that stay apart for every eye."""

from __future__ import annotations

from itertools import combinations

import pytest

from archscope.render.theme import DARK, KINDS, LIGHT, Palette, fill, stroke

# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB.
MATRICES = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protan": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deutan": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritan": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
COLOURED = ("emb", "attn", "swa", "ssm", "ffn", "moe", "moe2", "norm", "vis")


def linear(colour: str) -> tuple[float, ...]:
    channels = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return tuple(c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)


def contrast(a: str, b: str) -> float:
    light = sorted(
        (sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear(x), strict=True)) for x in (a, b)), reverse=True
    )
    return (light[0] + 0.05) / (light[1] + 0.05)


def lab(colour: str, sight: str) -> tuple[float, float, float]:
    seen = [min(1.0, max(0.0, sum(m * c for m, c in zip(row, linear(colour), strict=True)))) for row in MATRICES[sight]]
    r, g, b = seen
    x = (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047
    y = 0.2126 * r + 0.7152 * g + 0.0722 * b
    z = (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883
    fx, fy, fz = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


@pytest.mark.parametrize("colours", [LIGHT, DARK])
def test_contrast(colours: Palette) -> None:
    for kind in KINDS:
        assert contrast(colours["text"], colours[fill(kind)]) >= 4.5, kind
        assert contrast(colours[stroke(kind)], colours["page"]) >= 3, kind
    for role in ("text", "muted"):
        for ground in ("page", "panel"):
            assert contrast(colours[role], colours[ground]) >= 4.5
    for level in ("error", "warning", "info"):
        assert contrast(colours["onbadge"], colours[level]) >= 4.5


@pytest.mark.parametrize("colours", [LIGHT, DARK])
@pytest.mark.parametrize("sight", MATRICES)
def test_strokes_stay_apart(colours: Palette, sight: str) -> None:
    for a, b in combinations(COLOURED, 2):
        one, other = (lab(colours[stroke(kind)], sight) for kind in (a, b))
        distance = sum((p - q) ** 2 for p, q in zip(one, other, strict=True)) ** 0.5
        assert distance >= 10, (a, b, distance)
