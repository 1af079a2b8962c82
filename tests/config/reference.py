"""What transformers itself makes of a config, in a form that can be compared with ours."""

from __future__ import annotations

import copy
import logging
import math
import warnings
from typing import Any

from archscope.config import Config


def auto_config(raw: dict[str, Any]) -> Any:
    """The config object that AutoConfig would give for a file with this content."""
    from transformers.configuration_utils import PreTrainedConfig
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    logging.getLogger("transformers").setLevel(logging.ERROR)
    given = PreTrainedConfig._decode_special_floats(copy.deepcopy(raw))
    if given["model_type"] == "mistral" and "layer_types" in given:
        given["model_type"] = "ministral"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return CONFIG_MAPPING[given["model_type"]].from_dict(given)


def differences(ours: Config, theirs: Any, path: str = "") -> list[str]:
    """Every public attribute that differs, as "path: ours != theirs"."""
    held = {name: value for name, value in vars(theirs).items() if not name.startswith("_")}
    found = []
    layers = getattr(vars(theirs).get("_heterogeneity_spec"), "per_layer_overrides", {})
    if not same(ours.values.get("per_layer_config") or {}, layers):
        found.append(f"{path}per_layer_config: {ours.values.get('per_layer_config')!r:.300} != {layers!r:.300}")
    for name in sorted({*held, *(n for n in ours.values if not n.startswith("_"))} - _NOT_COMPARED):
        mine = ours.values[name] if name in ours.values else ours.get(name, "<absent>")
        other = held.get(name, "<absent>")
        if other == "<absent>":
            other = _property(theirs, name)
        if name in ours.problems and not ours.problems[name].checked:
            continue
        if isinstance(mine, Config) and hasattr(other, "to_dict"):
            found += differences(mine, other, f"{path}{name}.")
        elif not same(mine, other):
            found.append(f"{path}{name}: {mine!r:.300} != {other!r:.300}")
    return found


# `ignore_keys_at_rope_validation` tells the class what to warn of; it comes from no file. `per_layer_config` is kept
# in another form there and compared by itself.
_NOT_COMPARED = {"per_layer_config", "ignore_keys_at_rope_validation"}


def _property(config: Any, name: str) -> Any:
    return getattr(config, name, "<absent>") if isinstance(getattr(type(config), name, None), property) else "<absent>"


def same(mine: Any, other: Any) -> bool:
    """Equal in value and type, a tuple being a list; NaN equals NaN."""
    if isinstance(other, tuple):
        other = list(other)
    if type(mine) is not type(other):
        return False
    if isinstance(mine, list):
        return len(mine) == len(other) and all(map(same, mine, other))
    if isinstance(mine, dict):
        return set(mine) == set(other) and all(same(mine[key], other[key]) for key in mine)
    return bool(mine == other or (isinstance(mine, float) and math.isnan(mine) and math.isnan(other)))
