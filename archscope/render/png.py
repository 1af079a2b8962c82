"""A placed figure as PNG, drawn by resvg with the fonts that come along: no system font, no system library."""

from __future__ import annotations

from pathlib import Path

from archscope.errors import RenderError
from archscope.render.layout.scene import Scene
from archscope.render.svg import svg
from archscope.render.theme import Theme

FONTS = Path(__file__).parent / "fonts"
SANS = "Archscope Sans"
MONO = "Archscope Mono"
ZOOM = 2.0
TALLEST = 16_000
"""Pixels; a taller figure is drawn at a smaller zoom."""


def png(scene: Scene, theme: Theme = "light") -> bytes:
    """The image at twice its nominal size. Theme "auto" is light: an image cannot ask its reader.

    Raises: RenderError where resvg-py is missing or refuses the figure.
    """
    try:
        import resvg_py
    except ImportError as error:
        raise RenderError("PNG needs the package resvg-py: python -m pip install resvg-py") from error
    try:
        made = resvg_py.svg_to_bytes(
            svg_string=svg(scene, "dark" if theme == "dark" else "light"),
            zoom=min(ZOOM, TALLEST / scene.height),
            # 0, the default, makes sizes in points invalid.
            dpi=96,
            skip_system_fonts=True,
            font_files=[str(path) for path in sorted(FONTS.glob("*.ttf"))],
            font_family=SANS,
            sans_serif_family=SANS,
            monospace_family=MONO,
        )
    except ValueError as error:
        raise RenderError(f"resvg cannot draw this figure: {error}") from error
    return bytes(made)
