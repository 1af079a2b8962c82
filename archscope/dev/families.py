"""Writes archscope/families/index.json: which module builds which model type.

    python -m archscope.dev.families [--check]

Source of truth are the `@family` decorators; the index only spares importing every module.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
from pathlib import Path

from archscope import families
from archscope.families import registry

INDEX = Path(families.__file__).parent / "index.json"


def made() -> str:
    """The text of the index, from importing every module of the families room."""
    for module in sorted(found.name for found in pkgutil.iter_modules(families.__path__)):
        importlib.import_module(f"archscope.families.{module}")
    index = {
        model_type: builder.__module__.rsplit(".", 1)[-1]
        for model_type, builder in sorted(registry.registered().items())
    }
    return json.dumps(index, indent=1) + "\n"


def main(arguments: list[str]) -> int:
    """Write the index, or with --check say whether it is up to date."""
    text = made()
    if "--check" in arguments:
        if INDEX.exists() and INDEX.read_text(encoding="utf-8") == text:
            return 0
        print("archscope/families/index.json is not up to date: run python -m archscope.dev.families")
        return 1
    INDEX.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
