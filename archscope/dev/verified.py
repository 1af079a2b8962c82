"""Writes archscope/families/verified.json: what each builder was compared with.

    python -m archscope.dev.verified [--check]

Source of truth are the goldens of the tests, which an installed archscope does not have: configs that transformers built
(goldens.jsonl.xz), and indexes of published checkpoints for types of remote code (published.jsonl).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from archscope import families
from archscope.config import resolve
from archscope.config.schema import common
from archscope.dev.goldens import GOLDENS, read

PUBLISHED = GOLDENS.parent / "published.jsonl"
VERIFIED = Path(families.__file__).parent / "verified.json"


def made() -> str:
    """The text of the table."""
    goldens = read()
    reference = f"transformers {common().transformers}"
    inside = {part: f"{reference}, inside {whole}" for whole, part in _parts(goldens)}
    by_transformers = inside | {golden["id"].split("/")[0]: reference for golden in goldens}
    by_index: dict[str, list[str]] = {}
    for line in PUBLISHED.read_text(encoding="utf-8").splitlines():
        published = json.loads(line)
        by_index.setdefault(published["model_type"], []).append(published["repository"])
    indexes = {model_type: f"weights of {', '.join(sorted(names))}" for model_type, names in by_index.items()}
    return json.dumps(dict(sorted((by_transformers | indexes).items())), indent=1) + "\n"


def _parts(goldens: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Pairs of a measured type and that of a part which its config describes; the first type in the alphabet is last."""
    for golden in reversed(goldens):
        whole, _, kind = golden["id"].partition("/")
        if kind in ("default", "variant-0"):
            yield from ((whole, sub.model_type) for sub in resolve(golden["config"]).walk() if sub.model_type)


def main(arguments: list[str]) -> int:
    """Write the table, or with --check say whether it is up to date."""
    text = made()
    if "--check" in arguments:
        if VERIFIED.exists() and VERIFIED.read_text(encoding="utf-8") == text:
            return 0
        print("archscope/families/verified.json is not up to date: run python -m archscope.dev.verified")
        return 1
    VERIFIED.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
