"""What tells the layers of a stack apart, one entry a layer, from the fields that say it."""

from __future__ import annotations

from collections.abc import Mapping

from archscope.config import Config

Overrides = tuple[tuple[str, int | None], ...]
"""Fields that differ in one layer, with their values."""


def stepped_layers(c: Config) -> tuple[str, ...]:
    """Kind of each layer: "moe" in every decoder_sparse_step-th that mlp_only_layers does not name, else "dense"."""
    count: int = c.num_hidden_layers
    step, only, experts = c.decoder_sparse_step, frozenset(c.mlp_only_layers or ()), c.num_experts
    return tuple("moe" if i not in only and experts > 0 and (i + 1) % step == 0 else "dense" for i in range(count))


def layer_overrides(c: Config, *fields: str) -> tuple[Overrides, ...]:
    """For each layer those of the fields that per_layer_config sets to another value than the whole config has."""
    count: int = c.num_hidden_layers
    written = c.get("per_layer_config")
    by_layer = written if isinstance(written, Mapping) else {}
    return tuple(_differing(c, by_layer.get(i, by_layer.get(str(i))), fields) for i in range(count))


def _differing(c: Config, own: object, fields: tuple[str, ...]) -> Overrides:
    if not isinstance(own, Mapping):
        return ()
    return tuple((field, own[field]) for field in fields if field in own and own[field] != c.get(field))


def reusing_layers(c: Config) -> tuple[str, ...]:
    """Whose keys and values each layer uses: "" for its own, else the last layer of its type that makes some.

    The last num_kv_shared_layers make none. Counts past the number of layers wrap around, as transformers' slices do.

    Raises: ValueError where one of them has a type that no layer before them has.
    """
    types: list[str] = list(c.layer_types)
    shared = c.get("num_kv_shared_layers") or 0
    if not shared:
        return ("",) * len(types)
    first = len(types) - shared
    before = types[:first][::-1]
    if set(before) != set(types):
        raise ValueError("the layers that share keys and values have a type that no layer before them has")
    makers = {kind: (first - 1 - before.index(kind)) % len(types) for kind in before}
    own = set(makers.values())
    return tuple("" if i < first or i in own else f"layer {makers[kind]}" for i, kind in enumerate(types))
