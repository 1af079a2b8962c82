"""Figures of a model: composed once, placed once, written in the format asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from archscope.render.compose import compose
from archscope.render.theme import Theme

if TYPE_CHECKING:
    from archscope.engine import Model

__all__ = ["compose", "draw"]


def draw(model: Model, *, format: Literal["svg", "png", "dot"] = "svg", theme: Theme = "auto") -> str | bytes:
    """The annotated block diagram of a model: text for svg and dot, bytes for png.

    Raises: RenderError where the model has no structure, or the format cannot be made here.
    """
    figure = compose(model)
    if format == "dot":
        from archscope.render.dot import dot

        return dot(figure, theme)
    from archscope.render.layout import layout

    scene = layout(figure)
    if format == "png":
        from archscope.render.png import png

        return png(scene, theme)
    from archscope.render.svg import svg

    return svg(scene, theme)
