"""From what a figure says to where everything stands."""

from archscope.render.layout.page import layout

__all__ = ["layout"]
