"""Names, shapes and parameter counts against what transformers builds (goldens made by archscope.dev.goldens)."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

from archscope.dev.goldens import difference, read
from archscope.families import registry

BY_TYPE: dict[str, list[dict[str, Any]]] = defaultdict(list)
for golden in read():
    BY_TYPE[golden["id"].split("/")[0]].append(golden)


@pytest.mark.parametrize("model_type", sorted(BY_TYPE))
def test_tensors_are_exact(model_type: str) -> None:
    said = {golden["id"]: difference(golden) for golden in BY_TYPE[model_type]}
    assert {name: what for name, what in said.items() if what} == {}


def test_there_are_goldens_for_all_but_the_unbuildable() -> None:
    missing = set(registry.index()) - set(BY_TYPE)
    assert missing <= UNBUILDABLE, sorted(missing)


UNBUILDABLE: set[str] = set()
"""Types whose own defaults make no config or no model, and small ones neither."""
