"""archscope reads a Hugging Face config.json, builds the model's structure graph, checks it, draws it and costs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from archscope.diagnostics import Diagnostic, Severity
from archscope.errors import ArchscopeError

if TYPE_CHECKING:
    from archscope.engine import Model, load

__version__ = "0.1.0.dev0"

__all__ = ["ArchscopeError", "Diagnostic", "Model", "Severity", "load"]


def __getattr__(name: str) -> object:
    """Load the pipeline only when it is used, so that `import archscope` is cheap."""
    if name in ("Model", "load"):
        from archscope import engine

        return getattr(engine, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
