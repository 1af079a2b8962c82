"""Counts that no model has: they are refused before anything is built from them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from archscope.config.config import Config

MOST_LAYERS = 100_000
MOST_EXPERTS = 1_000_000
MOST_WIDTH = 10**12

_LAYERS = re.compile(
    r"(^|_)(layers?(_per_\w+)?|depths?|blocks|block_(sizes|repeats)|cycles|hidden_groups|group_num|feedforward_networks|attends_per_block)$"
)
_WIDTHS = re.compile(r"(_size|_dim|_heads|_width|_rank|n_embd|d_model|d_ff|d_kv|_positions|_embeddings)$")
_EXPERTS = re.compile(r"(^|_)(experts|expert_num)$")


class Implausible(NamedTuple):
    """A count past all models. `config` is where it stands."""

    config: Config
    name: str
    value: int
    most: int
    what: str


def implausible(config: Config) -> Iterator[Implausible]:
    """Every count of layers or experts, and every width, in a config and its sub-configs that is past all models."""
    for each in config.walk():
        yield from _own(each, each.values)


def _own(config: Config, values: Mapping[str, Any]) -> Iterator[Implausible]:
    for name, stated in values.items():
        value = _largest(stated) if isinstance(stated, list) else stated
        if isinstance(value, int) and value > MOST_LAYERS:
            if _LAYERS.search(name) and not _EXPERTS.search(name):
                yield Implausible(config, name, value, MOST_LAYERS, "layers")
            elif _EXPERTS.search(name) and value > MOST_EXPERTS:
                yield Implausible(config, name, value, MOST_EXPERTS, "experts")
            elif value > MOST_WIDTH and _WIDTHS.search(name):
                yield Implausible(config, name, value, MOST_WIDTH, "in any dimension")


def _largest(stated: list[Any]) -> int:
    """The largest count of a list, such as the depths of stages."""
    return max((one for one in stated if isinstance(one, int)), default=0)
