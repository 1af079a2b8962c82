"""From a plain JSON value to a resolved config. Never raises for any content."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from archscope.config.base import fill
from archscope.config.choice import choose
from archscope.config.config import Config
from archscope.config.draft import Draft
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
