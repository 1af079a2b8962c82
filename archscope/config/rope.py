"""Rotary position embeddings: the legacy keys and the present ones meet in `rope_parameters`.

Source: transformers modeling_rope_utils.py (RotaryEmbeddingConfigMixin) and the config classes that convert in their
own way (`variants`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Any

from archscope.config.draft import Draft
from archscope.config.origin import Problem, escape
from archscope.records import dataclass

_SCALED_LENGTH = frozenset({"llama3", "yarn", "longrope"})


@dataclass(frozen=True, slots=True)
class RopeParameters:
    """The rotary embedding of one kind of layer.

    parameters: the mapping as AutoConfig would hold it. pointers: for each of its keys, where in the file it is
    written; a key that is not there is a default.
    """

    rope_type: str
    rope_theta: float | None
    factor: float | None
    partial_rotary_factor: float | None
    parameters: Mapping[str, Any]
    pointers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def get(self, name: str, default: Any = None) -> Any:
        """A parameter by its name."""
        return self.parameters.get(name, default)


def convert(draft: Draft) -> None:
    """What the base class does for a class that declares `rope_parameters`, or for a file that has the legacy keys."""
    extras = draft.extras
    parameters = extras.pop("rope_scaling", None) or draft.values.get("rope_parameters")
    if parameters is not None and not isinstance(parameters, dict):
        _refuse(draft, parameters)
        parameters = None
    parameters = copied(parameters)
    theta = extras.pop("rope_theta", draft.values.get("rope_theta", default_theta(draft)))
    partial = extras.pop("partial_rotary_factor", draft.values.get("partial_rotary_factor"))
    draft.values["rope_parameters"] = parameters
    nested = nested_keys(draft, parameters)
    for flat in [parameters[key] for key in nested] or [parameters]:
        if isinstance(flat, dict):
            flat.setdefault("rope_theta", theta)
            if partial is not None:
                flat.setdefault("partial_rotary_factor", partial)
    standardize(draft)


def _refuse(draft: Draft, value: Any) -> None:
    key = "rope_scaling" if draft.raw.get("rope_scaling") else "rope_parameters"
    kind = {list: "list", str: "str", bool: "bool", int: "int", float: "float"}.get(type(value), type(value).__name__)
    message = f"expected dict, got {kind}"
    draft.note("rope_parameters", Problem("type", message, value, draft.pointer_of(key)))


def copied(parameters: Any) -> dict[str, Any]:
    """The mapping and the mappings in it, safe to write to."""
    if not isinstance(parameters, dict):
        return {}
    return {key: dict(value) if isinstance(value, dict) else value for key, value in parameters.items()}


def default_theta(draft: Draft) -> Any:
    """The base frequency that the class takes where the file names none."""
    return draft.schema.default_theta if draft.schema is not None else 10000.0


def labels(draft: Draft) -> tuple[Any, ...]:
    """The words under which `rope_parameters` may be nested: the layer types of this config."""
    own = draft.values.get("_rope_type_labels") or (draft.schema.rope_type_labels if draft.schema is not None else ())
    found = own or draft.values.get("layer_types") or ()
    return tuple(dict.fromkeys(w for w in found if isinstance(w, str))) if isinstance(found, list | tuple) else ()


def nested_keys(draft: Draft, parameters: Mapping[str, Any]) -> list[str]:
    """The keys of `rope_parameters` that are layer types; empty for a flat mapping."""
    words = labels(draft)
    return [key for key in parameters if key in words]


def standardize(draft: Draft) -> None:
    """Give each mapping its `rope_type`, `rope_theta` and, for scaled types, `original_max_position_embeddings`."""
    values = draft.values
    theta, partial = values.get("rope_theta"), values.get("partial_rotary_factor")
    parameters = values.get("rope_parameters")
    parameters = parameters if isinstance(parameters, dict) and parameters else {}
    if not parameters and not theta:
        return
    nested = nested_keys(draft, parameters)
    for flat in [parameters[key] for key in nested] or [parameters]:
        if not isinstance(flat, dict):
            continue
        flat.setdefault("rope_type", flat.get("type", "default"))
        flat.setdefault("rope_theta", theta)
        if partial is not None:
            flat.setdefault("partial_rotary_factor", partial)
        _default_type(draft, flat)
        if flat["rope_type"] in _SCALED_LENGTH if isinstance(flat["rope_type"], str) else False:
            _original_length(draft, flat, bool(nested))
    values["rope_parameters"] = parameters


def _default_type(draft: Draft, flat: dict[str, Any]) -> None:
    kind = draft.schema.default_rope_type if draft.schema is not None else "default"
    if kind != "default" and flat["rope_type"] == "default":
        flat["rope_type"] = kind


def _original_length(draft: Draft, flat: dict[str, Any], nested: bool) -> None:
    if not nested and draft.has("original_max_position_embeddings"):
        flat["original_max_position_embeddings"] = draft.field("original_max_position_embeddings")
    elif draft.has("max_position_embeddings"):
        flat.setdefault("original_max_position_embeddings", draft.field("max_position_embeddings"))
    elif "original_max_position_embeddings" not in flat:
        draft.note("rope_parameters", Problem("derived", "the class has no max_position_embeddings to start from"))


def name_types(draft: Draft) -> None:
    """Give every mapping that still has none its `rope_type`, as the check at the end of the class's filling does."""
    parameters = draft.values.get("rope_parameters")
    if not isinstance(parameters, dict) or not parameters:
        return
    nested = nested_keys(draft, parameters)
    if not nested and "rope_type" in parameters:
        return
    parameters = draft.values["rope_parameters"] = copied(parameters)
    for flat in [parameters[key] for key in nested] or [parameters]:
        if isinstance(flat, dict):
            flat["rope_type"] = flat.get("rope_type", flat.get("type", "default"))


# Reading the result


def read(draft: Draft) -> dict[str, RopeParameters]:
    """The rotary embeddings of a resolved config, by layer type; "" for one that all layers share."""
    parameters = draft.values.get("rope_parameters")
    if not isinstance(parameters, Mapping) or not parameters:
        return {}
    nested = [key for key in nested_keys(draft, parameters) if isinstance(parameters[key], Mapping)]
    if nested:
        return {key: _one(draft, parameters[key], key) for key in nested}
    return {"": _one(draft, parameters, "")}


def _one(draft: Draft, flat: Mapping[str, Any], layer_type: str) -> RopeParameters:
    kind = flat.get("rope_type", flat.get("type", "default"))
    return RopeParameters(
        kind if isinstance(kind, str) else "",
        _number(flat.get("rope_theta")),
        _number(flat.get("factor")),
        _number(flat.get("partial_rotary_factor")),
        MappingProxyType(dict(flat)),
        MappingProxyType({key: p for key, value in flat.items() if (p := _pointer(draft, layer_type, key, value))}),
    )


def _number(value: Any) -> float | None:
    return value if type(value) in (int, float) else None


# Keys beside `rope_parameters` that end up in it, by where they go.
_BESIDE: Mapping[str, tuple[str, ...]] = {
    "rope_theta": ("rope_theta", "rope_local_base_freq", "global_rope_theta", "local_rope_theta", "swa_rope_theta",
                   "rotary_emb_base"),
    "partial_rotary_factor": ("partial_rotary_factor", "rotary_pct", "rotary_dim"),
    "original_max_position_embeddings": ("original_max_position_embeddings", "max_position_embeddings"),
}  # fmt: skip


def _pointer(draft: Draft, layer_type: str, key: str, value: Any) -> str:
    for path, source in _sources(draft, layer_type):
        for spelled in (key, "type") if key == "rope_type" else (key,):
            if spelled in source and source[spelled] is value:
                return f"{path}/{escape(spelled)}"
    for name in _BESIDE.get(key, ()):
        if name in draft.raw and (draft.raw[name] is value or name == "rotary_dim"):
            return draft.pointer_of(name)
    return ""


def _sources(draft: Draft, layer_type: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name in ("rope_scaling", "rope_parameters"):
        written = draft.raw.get(name)
        if isinstance(written, Mapping) and written:
            path = draft.pointer_of(name)
            inner = written.get(layer_type) if layer_type else None
            if isinstance(inner, Mapping):
                yield f"{path}/{escape(layer_type)}", inner
            yield path, written
