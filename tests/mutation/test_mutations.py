"""Every kind of fault, in every published config that it applies to, one at a time.

`python -m tests.mutation.test_mutations [SEED]` prints the table of kinds and model types.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from archscope.diagnostics import Diagnostic
from archscope.engine import Model
from archscope.source import Repository, document_of_bytes
from tests.mutation.kinds import KINDS, Mutation

CORPUS = Path(__file__).resolve().parents[2].parent / "shared" / "corpus" / "configs"
ENOUGH = 0.95


def diagnose(text: str) -> tuple[Diagnostic, ...]:
    repository = Repository.of_document(document_of_bytes("config.json", text.encode()))
    return Model(repository, repository.config).check()


def configs() -> Iterator[tuple[str, dict[str, Any]]]:
    """Published configs without any error or warning."""
    for path in sorted(CORPUS.glob("*.json")):
        try:
            value = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            continue
        if isinstance(value, dict) and value.get("model_type"):
            yield path.name, value


def is_caught(mutation: Mutation, before: frozenset[tuple[str, str]]) -> bool:
    """Whether a new diagnostic speaks of one of the names."""
    for one in diagnose(mutation.text):
        if one.rule == "internal-error":
            return False
        if (one.rule, one.pointer) in before:
            continue
        said = {part for place in (one.place, *one.related) for part in place.pointer.split("/")} | {""}
        if said & mutation.names:
            return True
    return False


def run(seed: int) -> dict[str, list[tuple[str, str, bool]]]:
    """(file, model type, caught) of every mutation, by kind."""
    found: dict[str, list[tuple[str, str, bool]]] = defaultdict(list)
    for name, config in configs():
        before = frozenset((one.rule, one.pointer) for one in diagnose(json.dumps(config, indent=2)))
        for kind, breaks in KINDS.items():
            mutation = breaks(config, random.Random(f"{seed}/{kind}/{name}"))
            if mutation is not None:
                found[kind].append((name, config["model_type"], is_caught(mutation, before)))
    return found


@pytest.mark.slow
@pytest.mark.skipif(not CORPUS.exists(), reason="the corpus of published configs is not here")
def test_nearly_every_fault_is_caught() -> None:
    found = run(1)
    assert set(found) == set(KINDS), set(KINDS) - set(found)
    every = [caught for rows in found.values() for *_, caught in rows]
    assert len(every) > 5000
    assert sum(every) >= ENOUGH * len(every)
    low = {kind: [row for row in rows if not row[2]] for kind, rows in found.items()}
    assert not {k: v[:3] for k, v in low.items() if len(v) > 0.1 * len(found[k]) + 1}


def main(seed: int) -> None:
    found = run(seed)
    for kind, rows in found.items():
        missed = Counter(model_type for _, model_type, caught in rows if not caught)
        worst = ", ".join(f"{model_type} {count}" for model_type, count in missed.most_common(6))
        print(f"{kind:32} {sum(c for *_, c in rows):4}/{len(rows):4}  types {len({t for _, t, _ in rows}):3}  {worst}")
        for name, _, caught in rows:
            if not caught and "-v" in sys.argv:
                print("      missed in", name)
    every = [caught for rows in found.values() for *_, caught in rows]
    print(f"{sum(every)} of {len(every)} caught, {100 * sum(every) / len(every):.2f} %")


if __name__ == "__main__":
    main(int(next((one for one in sys.argv[1:] if one.isdigit()), "1")))
