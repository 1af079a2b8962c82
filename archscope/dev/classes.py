"""One config class of the installed transformers as a JSON Schema with `x-` keywords."""

from __future__ import annotations

import collections.abc
import dataclasses
import inspect
import json
import types
import typing
from typing import Any

from archscope.config.procedures import names as procedure_names
from archscope.dev.steps import UntranslatableError, property_formula, setter_steps, steps_of

Json = Any


def is_json(value: Any) -> bool:
    """Whether a value is written in JSON and read back as the same value."""
    try:
        return bool(json.loads(json.dumps(value)) == _listed(value))
    except (TypeError, ValueError):
        return False


def _listed(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_listed(v) for v in value]
    if isinstance(value, dict):
        return {str(k): _listed(v) for k, v in value.items()}
    return value


# What a backbone hands out; kept as plain values (`procedures.backbones.stages`).
_STAGES = ("out_features", "out_indices")

# Filled by every class with two labels where the file names none.
_LABELS = ("id2label", "label2id")


def _encoded(value: Any, ordered: bool = False) -> Any:
    """Floats that JSON has no word for, in the form that transformers itself saves them in.

    `ordered`: mappings by their keys, since some classes fill theirs in the order of a set, another in each process.
    """
    if isinstance(value, list):
        return [_encoded(v, ordered) for v in value]
    if isinstance(value, dict) and ordered and not all(k.isdecimal() for k in value):
        return {k: _encoded(value[k], ordered) for k in sorted(value)}
    if isinstance(value, float) and (value != value or abs(value) == float("inf")):
        return {"__float__": "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"}
    return value


# Annotations


def annotation(kind: Any) -> str:
    """The annotation of a field in one spelling: unions with `|`, bare class names."""
    if isinstance(kind, str):
        return kind
    if kind is None or kind is type(None):
        return "None"
    if kind is Any or kind is Ellipsis:
        return "Any" if kind is Any else "..."
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return " | ".join(annotation(a) for a in args)
    if origin is typing.Literal:
        return f"Literal[{', '.join(repr(a) for a in args)}]"
    if origin is not None:
        name = "Sequence" if origin is collections.abc.Sequence else origin.__name__
        return f"{name}[{', '.join(annotation(a) for a in args)}]"
    if isinstance(kind, typing.ForwardRef):
        return kind.__forward_arg__
    return str(kind.__name__)


_SIMPLE = {int: "integer", float: "number", str: "string", bool: "boolean", dict: "object", type(None): "null"}


def json_types(kind: Any) -> Json:
    """The JSON Schema that editors use for an annotation; wider than the annotation where JSON has no word for it."""
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if kind is None or kind in _SIMPLE:
        return {"type": "null" if kind is None else _SIMPLE[kind]}
    if origin in (typing.Union, types.UnionType):
        return _merged([json_types(a) for a in args])
    if origin is typing.Literal:
        return {"enum": list(args)}
    if origin in (list, tuple, collections.abc.Sequence) or kind in (list, tuple):
        items = {_key(json_types(a)): json_types(a) for a in args if a is not Ellipsis}
        return {"type": "array", "items": next(iter(items.values()))} if len(items) == 1 else {"type": "array"}
    if origin is dict or (isinstance(kind, type) and (issubclass(kind, dict) or hasattr(kind, "sub_configs"))):
        return {"type": "object"}
    return {}


def _key(value: Json) -> str:
    return json.dumps(value, sort_keys=True)


def _merged(parts: list[Json]) -> Json:
    unique = list({_key(p): p for p in parts}.values())
    if all(set(p) <= {"type"} for p in unique):
        words = list(dict.fromkeys(w for p in unique for w in _words(p)))
        return {"type": words[0] if len(words) == 1 else words} if words and {} not in unique else {}
    arrays = [p for p in unique if p.get("type") == "array"]
    rest = [p for p in unique if p.get("type") != "array"]
    if len(arrays) == 1 and all(set(p) == {"type"} for p in rest):
        return {
            "type": [*(w for p in rest for w in _words(p)), "array"],
            **{k: v for k, v in arrays[0].items() if k != "type"},
        }
    return {"anyOf": unique}


def _words(part: Json) -> list[str]:
    kind = part.get("type", [])
    return [kind] if isinstance(kind, str) else list(kind)


# Validators


def validators(field: dataclasses.Field[Any]) -> dict[str, Json]:
    """The range or word list that a field's validators enforce."""
    found: dict[str, Json] = {}
    for validator in field.metadata.get("validator", ()) or ():
        name = validator.__qualname__
        if name.startswith("interval."):
            bounds = inspect.getclosurevars(validator).nonlocals
            for side, word in (("min", "inimum"), ("max", "aximum")):
                if abs(bounds[side]) != float("inf"):
                    exclusive = bounds["exclude_" + side]
                    found[f"exclusiveM{word}" if exclusive else f"m{word}"] = bounds[side]
        elif name == "positive_int_field":
            found["exclusiveMinimum"] = 0
        elif name == "probability":
            found |= {"minimum": 0, "maximum": 1}
        elif not name.startswith("_create_type_validator"):
            found["x-validator"] = name
    return found


# Classes


def base_field_names() -> frozenset[str]:
    """Names of the fields of the common base class."""
    from transformers.configuration_utils import PreTrainedConfig

    return frozenset(f.name for f in dataclasses.fields(PreTrainedConfig))


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default is not dataclasses.MISSING:
        return field.default
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return dataclasses.MISSING


def field_schema(field: dataclasses.Field[Any], instance: Any) -> Json:
    """One declared field: types, default, range, and the default after `__post_init__` where it is another."""
    entry: dict[str, Json] = dict(json_types(field.type))
    default = _default(field)
    if default is not dataclasses.MISSING and is_json(default):
        entry["default"] = _encoded(_listed(default))
    elif default is dataclasses.MISSING:
        entry["x-required"] = True
    entry |= validators(field)
    entry["x-annotation"] = annotation(field.type)
    if isinstance(field.type, str):
        entry["x-unchecked"] = True
    stored = getattr(type(instance), "attribute_map", {}).get(field.name, field.name)
    effective = vars(instance).get(stored) if instance is not None else None
    plain = field.name in _LABELS and len(effective or ()) == 2
    if (
        instance is not None
        and not plain
        and is_json(effective)
        and _encoded(_listed(effective)) != entry.get("default")
    ):
        entry["x-effective"] = _encoded(_listed(effective), ordered=True)
    return entry


def instantiate(cls: Any) -> Any:
    """The config with nothing given, or None where the class refuses that."""
    try:
        return cls()
    except Exception:
        return None


def class_schema(cls: Any, registered: dict[type, str]) -> dict[str, Json]:
    """The schema of one config class."""
    base = _base_entries()
    instance = instantiate(cls)
    properties: dict[str, Json] = {}
    for field in dataclasses.fields(cls):
        entry = field_schema(field, instance)
        if base.get(field.name) != {k: v for k, v in entry.items() if k != "x-effective"} or "x-effective" in entry:
            properties[field.name] = entry
    result: dict[str, Json] = {
        "x-class": cls.__name__,
        "x-module": cls.__module__.removeprefix("transformers."),
        "x-model-type": cls.model_type,
    }
    if instance is None:
        result["x-no-defaults"] = True
    result |= _class_attributes(cls)
    result |= _sub_configs(cls, registered)
    chain = [k.__name__ for k in cls.__mro__ if "__post_init__" in vars(k)]
    try:
        if chain[0] in procedure_names():
            raise UntranslatableError("written by hand")
        result["x-steps"] = steps_of(cls, frozenset(f.name for f in dataclasses.fields(cls)))
    except UntranslatableError:
        result["x-procedure"] = chain[:-1]
    result["properties"] = properties
    return result


def _base_entries() -> dict[str, Json]:
    from transformers.configuration_utils import PreTrainedConfig

    return {f.name: field_schema(f, None) for f in dataclasses.fields(PreTrainedConfig)}


def _class_attributes(cls: Any) -> dict[str, Json]:
    from transformers.configuration_utils import PreTrainedConfig

    found: dict[str, Json] = {}
    if cls.attribute_map:
        found["x-aliases"] = dict(sorted(cls.attribute_map.items()))
    if cls.default_theta != PreTrainedConfig.default_theta:
        found["x-default-theta"] = cls.default_theta
    if cls.default_rope_type != "default":
        found["x-default-rope-type"] = cls.default_rope_type
    if cls.ignore_keys_at_rope_validation:
        found["x-ignore-keys-at-rope-validation"] = sorted(cls.ignore_keys_at_rope_validation)
    labels = getattr(cls, "_rope_type_labels", None)
    if isinstance(labels, list | tuple | set | frozenset):
        found["x-rope-type-labels"] = sorted(labels)
    if getattr(cls, "keys_to_ignore_at_inference", None):
        found["x-keys-to-ignore-at-inference"] = list(cls.keys_to_ignore_at_inference)
    if cls.base_config_key:
        found["x-base-config-key"] = cls.base_config_key
    for method, word in (("convert_rope_params_to_dict", "x-rope-conversion"), ("validate_rope", "x-rope-validation")):
        owner = next(k for k in cls.__mro__ if method in vars(k))
        if owner.__module__.startswith("transformers.models"):
            found[word] = owner.__name__
    return found | _properties_of(cls) | _constants_of(cls)


def _constants_of(cls: Any) -> dict[str, Json]:
    """Plain class attributes that are no fields: a config can be asked for them too."""
    from transformers.configuration_utils import PreTrainedConfig

    fields = {f.name for f in dataclasses.fields(cls)}
    found: dict[str, Json] = {}
    for klass in reversed(cls.__mro__):
        for name, value in vars(klass).items():
            plain = isinstance(value, int | float | str | list | tuple | dict)
            own = not name.startswith("_") and not hasattr(PreTrainedConfig, name) and name not in fields
            if own and plain and klass.__module__.startswith("transformers.models") and is_json(value):
                found[name] = _listed(value)
    for name in ("keys_to_ignore_at_inference", "attribute_map", "sub_configs_defaults"):
        found.pop(name, None)
    return {"x-constants": dict(sorted(found.items()))} if found else {}


def _properties_of(cls: Any) -> dict[str, Json]:
    from transformers.configuration_utils import PreTrainedConfig

    fields = frozenset(f.name for f in dataclasses.fields(cls))
    found: dict[str, Json] = {}
    for name, value in sorted(inspect.getmembers(cls, lambda m: isinstance(m, property))):
        if not hasattr(PreTrainedConfig, name) and not name.startswith("_") and name not in _STAGES:
            formula = property_formula(cls, value, fields)
            found[name] = {"formula": formula} if formula else {}
            try:
                steps = setter_steps(cls, value, fields)
            except UntranslatableError:
                steps = []
            if steps is not None:
                found[name]["set"] = steps
    return {"x-properties": found} if found else {}


def _sub_configs(cls: Any, registered: dict[type, str]) -> dict[str, Json]:
    from transformers.configuration_utils import PreTrainedConfig

    found: dict[str, Json] = {}
    for name, spec in cls.sub_configs_defaults.items():
        auto = not issubclass(spec.config_class, PreTrainedConfig)
        entry: dict[str, Json] = {}
        if auto:
            entry["auto"] = True
            entry["model_type"] = spec.model_type
        else:
            entry["class"] = spec.config_class.__name__
            if spec.config_class in registered:
                entry["model_type"] = registered[spec.config_class]
        if spec.optional:
            entry["optional"] = True
        if spec.init_kwargs and is_json(spec.init_kwargs):
            entry["defaults"] = _listed(spec.init_kwargs)
        found[name] = entry
    return {"x-sub-configs": found} if found else {}
