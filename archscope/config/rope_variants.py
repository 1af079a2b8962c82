"""Config classes that bring their rotary keys into form in their own way."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from archscope.config.draft import Draft

CONVERSIONS: Mapping[str, Callable[[Draft], None]] = {}
