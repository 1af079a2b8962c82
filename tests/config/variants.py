"""Random configs near the defaults of a type, most of which transformers accepts."""

from __future__ import annotations

import random
from typing import Any

from archscope.config import Schema
from archscope.config.annotations import checker
from archscope.config.schema import Field

_LEFT_ALONE = {"transformers_version", "id2label", "label2id", "dtype", "problem_type", "architectures", "torchscript"}
_SIZES = ("num_hidden_layers", "n_layer", "num_layers", "hidden_size", "num_attention_heads", "num_key_value_heads",
          "sliding_window", "head_dim", "intermediate_size")  # fmt: skip
_SCALINGS: list[Any] = [
    {"type": "linear", "factor": 2.0},
    {"rope_type": "yarn", "factor": 4.0},
    {"type": "dynamic", "factor": 2},
    {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0},
    {"type": "su", "short_factor": [1.0], "long_factor": [1.0]},
    {"type": "mrope", "mrope_section": [2, 3, 3]},
    None,
]


def variant(schema: Schema, dice: random.Random) -> dict[str, Any]:
    """A few fields changed, a few legacy keys and aliases given."""
    names = [name for name in schema.fields if name not in _LEFT_ALONE]
    sizes = [name for name in _SIZES if name in schema.fields]
    chosen = dice.sample(names, min(dice.randint(1, 6), len(names))) + dice.sample(sizes, min(2, len(sizes)))
    raw: dict[str, Any] = {}
    for name in chosen:
        options = _options(schema.fields[name], dice)
        if options:
            raw[name] = dice.choice(options)
    for key in dice.sample(sorted(schema.also_reads), min(len(schema.also_reads), dice.randint(0, 2))):
        raw[key] = dice.choice([1, 2, 3, 4, True, 0.5, None])
    for key in dice.sample(sorted(schema.aliases), min(len(schema.aliases), dice.randint(0, 1))):
        raw[key] = dice.choice([3, 4, 8, 64])
    if "rope_parameters" in schema.fields and dice.random() < 0.4:
        raw |= _rope(dice)
    return raw


def _options(field: Field, dice: random.Random) -> list[Any]:
    fits = checker(field.annotation)
    value = field.default if field.effective is None else field.effective
    if type(value) is bool:
        found: list[Any] = [not value]
    elif type(value) is int:
        found = [value * 2, max(1, value // 2), value + 1, max(1, value - 1), dice.randint(1, 12), 4, 0]
    elif type(value) is float:
        found = [value * 2, 0.5, 1.0]
    elif type(value) is list and value:
        found = [value[:-1], value + value[-1:], value[::-1]]
    else:
        found = [v for v in (dice.randint(1, 64), True, 0.25, "x", [dice.randint(1, 4)] * 3) if fits(v)]
    return [*found, None] if fits(None) else found


def _rope(dice: random.Random) -> dict[str, Any]:
    raw: dict[str, Any] = {"rope_theta": dice.choice([5e5, 10000, 1e6])}
    if dice.random() < 0.5:
        raw["rope_scaling"] = dice.choice(_SCALINGS)
    if dice.random() < 0.3:
        raw["partial_rotary_factor"] = dice.choice([0.5, 1.0, 0.25])
    if dice.random() < 0.2:
        raw["original_max_position_embeddings"] = 77
    return raw
