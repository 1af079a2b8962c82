"""The snapshot of a config class: fields, defaults, aliases, formulas; one small file a model type in schemas/."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from archscope.records import dataclass

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_EMPTY: Mapping[str, Any] = MappingProxyType({})


class Field(NamedTuple):
    """A declared field.

    default: as declared. effective: after the class has filled its fields with nothing given. checked: whether
    transformers checks the type when it reads the file. required: no default at all.
    """

    name: str
    annotation: str
    default: Any = None
    effective: Any = None
    minimum: float | None = None
    maximum: float | None = None
    exclusive_minimum: float | None = None
    exclusive_maximum: float | None = None
    validator: str = ""
    checked: bool = True
    required: bool = False


class SubConfig(NamedTuple):
    """A config inside a config.

    model_type: of the class, or the default where `auto` (then the `model_type` in the file decides); "" with a class
    that is not registered, whose schema is among the `inner` ones. defaults: keys given where the file gives no
    object at all.
    """

    name: str
    model_type: str
    class_name: str = ""
    auto: bool = False
    optional: bool = False
    defaults: Mapping[str, Any] = _EMPTY


class Step(NamedTuple):
    """One thing that the class does to its fields: see `archscope.dev.steps`."""

    kind: str
    name: str
    when: str = ""
    formula: str = ""


class Property(NamedTuple):
    """A value that the class computes when it is read.

    formula: "" where it is no formula. steps: what giving a value of that name (`let_value`) does, None where the class
    refuses one.
    """

    formula: str
    steps: tuple[Step, ...] | None


@dataclass(frozen=True, slots=True, eq=False)
class Schema:
    """A config class of transformers."""

    model_type: str
    class_name: str
    module: str
    transformers: str
    fields: Mapping[str, Field]
    defaults: Mapping[str, Any]
    aliases: Mapping[str, str]
    sub_configs: Mapping[str, SubConfig]
    steps: tuple[Step, ...]
    procedure: tuple[str, ...]
    tasks: Mapping[str, str | tuple[str, ...]]
    other_models: tuple[str, ...]
    also_reads: frozenset[str]
    properties: Mapping[str, Property]
    registered: bool
    constants: Mapping[str, Any]
    renamed: frozenset[str]
    default_theta: Any
    default_rope_type: str
    rope_type_labels: tuple[str, ...]
    ignore_keys_at_rope_validation: frozenset[str]
    rope_conversion: str
    inner: Mapping[str, Mapping[str, Any]]

    @property
    def source(self) -> str:
        """How a default of this class is cited."""
        return f"{self.class_name}, transformers {self.transformers}"


class Common(NamedTuple):
    """What all model types share.

    base_keys: keys that the base class or the loader takes although it does not declare them. base_reads: keys that
    code for all models (masks, caches, rotary tables, heads) reads from any config. generation_keys: parameters of
    generation; dropped_generation_keys: those that the base class throws away.
    """

    transformers: str
    model_types: frozenset[str]
    base_keys: frozenset[str]
    base_reads: frozenset[str]
    generation_keys: frozenset[str]
    dropped_generation_keys: frozenset[str]
    layer_types: tuple[str, ...]
    mlp_layer_types: tuple[str, ...]
    legacy_layer_types: Mapping[str, str]
    fields: Mapping[str, Field]


@functools.lru_cache(maxsize=1)
def schema_folder() -> str:
    """The folder of the snapshot: inside the installed package, or at the top of the checkout."""
    inside = os.path.join(_HERE, "schemas")
    return inside if os.path.isdir(inside) else os.path.join(os.path.dirname(_HERE), "schemas")


@functools.lru_cache(maxsize=1)
def common() -> Common:
    """What all model types share."""
    data = _read("common.json")
    return Common(
        transformers=data["x-transformers"],
        model_types=frozenset(data["x-model-types"]),
        base_keys=frozenset(data["x-base-keys"]),
        base_reads=frozenset(data["x-base-reads"]),
        generation_keys=frozenset(data["x-generation"]),
        dropped_generation_keys=frozenset(data["x-generation-dropped"]),
        layer_types=tuple(data["x-layer-types"]),
        mlp_layer_types=tuple(data["x-mlp-layer-types"]),
        legacy_layer_types=data["x-legacy-layer-types"],
        fields={name: _field(name, entry) for name, entry in data["properties"].items()},
    )


@functools.cache
def load_schema(model_type: str) -> Schema | None:
    """The schema of a model type, or None for one that the snapshot does not know."""
    if model_type not in common().model_types:
        return None
    return _schema(model_type, _read(f"models/{model_type}.json"), {})


@functools.cache
def load_inner_schema(owner: str, class_name: str) -> Schema:
    """The schema of a config class that is not registered under a model type, from the file of its owner."""
    data = _read(f"models/{owner}.json")["$defs"]
    return _schema(data[class_name]["x-model-type"], data[class_name], data)


@functools.lru_cache(maxsize=1)
def types_of_classes() -> Mapping[str, tuple[str, ...]]:
    """The model types of every model class that transformers exports."""
    return {name: tuple(types) for name, types in _read("classes.json")["x-model-types-of"].items()}


def model_types() -> frozenset[str]:
    """All model types of the snapshot."""
    return common().model_types


def _read(name: str) -> Any:
    with open(os.path.join(schema_folder(), name), encoding="utf-8") as file:
        return json.load(file)


def _field(name: str, entry: Mapping[str, Any]) -> Field:
    default = _tagged(entry.get("default"))
    return Field(
        name,
        entry["x-annotation"],
        default,
        _tagged(entry["x-effective"]) if "x-effective" in entry else default,
        entry.get("minimum"),
        entry.get("maximum"),
        entry.get("exclusiveMinimum"),
        entry.get("exclusiveMaximum"),
        entry.get("x-validator", ""),
        "x-unchecked" not in entry,
        "x-required" in entry,
    )


def _schema(model_type: str, data: Mapping[str, Any], inner: Mapping[str, Any]) -> Schema:
    shared = common()
    fields = dict(shared.fields)
    for name, entry in data["properties"].items():
        fields[name] = _field(name, entry)
    get = data.get
    aliases = get("x-aliases", _EMPTY)
    return Schema(
        model_type=model_type,
        class_name=data["x-class"],
        module=data["x-module"],
        transformers=shared.transformers,
        fields=fields,
        defaults={aliases.get(name, name): field.default for name, field in fields.items()},
        aliases=aliases,
        sub_configs={name: _sub_config(name, entry) for name, entry in get("x-sub-configs", _EMPTY).items()},
        steps=tuple(_step(entry) for entry in get("x-steps", ())),
        procedure=tuple(get("x-procedure", ())),
        tasks={
            task: tuple(names) if isinstance(names, list) else names for task, names in get("x-tasks", _EMPTY).items()
        },
        other_models=tuple(get("x-other-models", ())),
        also_reads=frozenset(get("x-also-reads", ())),
        properties={name: _property(entry) for name, entry in get("x-properties", _EMPTY).items()},
        registered="title" in data,
        constants=get("x-constants", _EMPTY),
        renamed=frozenset(name for name in fields if name in aliases),
        default_theta=get("x-default-theta", 10000.0),
        default_rope_type=get("x-default-rope-type", "default"),
        rope_type_labels=tuple(get("x-rope-type-labels", ())),
        ignore_keys_at_rope_validation=frozenset(get("x-ignore-keys-at-rope-validation", ())),
        rope_conversion=get("x-rope-conversion", ""),
        inner=inner or get("$defs", _EMPTY),
    )


def _property(entry: Mapping[str, Any]) -> Property:
    steps = entry.get("set")
    return Property(entry.get("formula", ""), None if steps is None else tuple(_step(step) for step in steps))


def _tagged(value: Any) -> Any:
    from archscope.config.draft import decoded

    return decoded(value) if type(value) in (list, dict) else value


def _sub_config(name: str, entry: Mapping[str, Any]) -> SubConfig:
    return SubConfig(
        name,
        entry.get("model_type", ""),
        entry.get("class", ""),
        entry.get("auto", False),
        entry.get("optional", False),
        entry.get("defaults", _EMPTY),
    )


def _step(entry: Mapping[str, Any]) -> Step:
    for kind in ("set", "key", "let", "drop", "do"):
        if kind in entry:
            return Step(kind, entry[kind], entry.get("when", ""), entry.get("to", ""))
    return Step("base", "")
