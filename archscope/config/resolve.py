"""From a plain JSON value to a resolved config. Never raises for any content."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from archscope.config.base import fill
from archscope.config.choice import choose
from archscope.config.config import Config
from archscope.config.draft import Draft
from archscope.config.origin import Origin, escape
from archscope.config.schema import Schema, load_schema
from archscope.config.unknown import fill_unknown


def resolve(document: Any) -> Config:
    """Resolve a config.

    Args:
        document: a `source.Document` (anything with a `.value`), or the plain value itself. A value that is no object
            gives an empty config.
    """
    value = getattr(document, "value", document) if not isinstance(document, dict) else document
    raw: Mapping[str, Any] = value if isinstance(value, dict) else {}
    model_type = read_type(raw)
    schema = load_schema(model_type)
    if schema is None:
        return finished(fill_unknown(raw), model_type, None)
    given = raw if raw.get("model_type") == model_type else {**raw, "model_type": model_type}
    draft = fill(schema, given, "", written=raw)
    return finished(draft, model_type, schema)


def part(config: Config, name: str) -> Config | None:
    """A config inside one whose type has no schema, so that nothing says which keys are sub-configs.

    Returns: it, resolved by its own type; None where there is no object of that name.
    """
    value = config.values.get(name)
    if isinstance(value, Config):
        return value
    if not isinstance(value, Mapping):
        return None
    raw: Mapping[str, Any] = value
    pointer = f"{config.pointer}/{escape(name)}"
    model_type = read_type(raw)
    schema = load_schema(model_type)
    draft = fill_unknown(raw, pointer) if schema is None else fill(schema, raw, pointer, written=raw)
    return finished(draft, model_type, schema)


def read_as(config: Config, model_type: str, **changes: Any) -> Config:
    """A config read as if it were of another type, whose class (or a copy of it) the config's own type builds.

    Args:
        config: the config; its task stays.
        model_type: a type that the snapshot knows.
        changes: keys with other values than are written, for what the two classes name or mean differently.
    """
    schema = load_schema(model_type)
    assert schema is not None, model_type
    draft = fill(schema, {**config.raw, **changes, "model_type": model_type}, config.pointer, written=config.raw)
    found = finished(draft, model_type, schema)
    return found.as_task(config.task) if config.task and config.task != found.task else found


def completed(config: Config, defaults: Mapping[str, Any], task: str) -> Config:
    """A config of a type without a schema, with the values that its class is known to give to what is absent or null.

    Args:
        config: the config as written.
        defaults: canonical field to value.
        task: that of the class which is built.
    """
    draft = fill_unknown(config.raw, config.pointer)
    for name, value in defaults.items():
        if draft.values.get(name) is None:
            draft.values[name] = value
            draft.found[name] = Origin("default", source="the published class")
    return Config(draft, config.model_type, config.model_class, task)


def finished(draft: Draft, model_type: str, schema: Schema | None) -> Config:
    """The draft as an immutable config, with the class that it builds."""
    model_class, task = choose(schema, draft.raw)
    return Config(draft, model_type, model_class, task)


def read_type(raw: Mapping[str, Any]) -> str:
    """The model type as the auto classes read it: a mistral file with `layer_types` is a ministral.

    Source: transformers models/auto/configuration_auto.py, AutoConfig.from_pretrained.
    """
    found = raw.get("model_type")
    if not isinstance(found, str):
        return ""
    return "ministral" if found == "mistral" and "layer_types" in raw else found
