"""What the common base class of all config classes does, and the order in which a class is filled.

Source: transformers configuration_utils.py, `PreTrainedConfig.__post_init__`, `SubConfigSpec.create_subconfig`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from archscope.config import rope
from archscope.config.draft import Draft
from archscope.config.formulas import MAX_LENGTH
from archscope.config.origin import Origin, Problem
from archscope.config.procedures import procedure_for
from archscope.config.rope_variants import CONVERSIONS
from archscope.config.schema import Schema, SubConfig, common, load_inner_schema, load_schema

MAX_DEPTH = 8
_POPPED = ("name_or_path", "_commit_hash", "output_attentions", "attn_implementation", "experts_implementation")
_SKIPPED = ("_attn_implementation_internal", "_experts_implementation_internal")


def fill(schema: Schema, raw: Mapping[str, Any], pointer: str, *, written: Mapping[str, Any] | None = None,
         owner_type: str = "", depth: int = 0) -> Draft:  # fmt: skip
    """The draft of one config.

    Args:
        schema: its class.
        raw: what the class is given.
        pointer: where that object stands in the file.
        written: the object as written, where `raw` was completed with defaults.
        owner_type: the registered type in whose file an unregistered class is described.
        depth: how deep in sub-configs this is.
    """
    draft = Draft(schema, raw if written is None else written, pointer, owner_type or schema.model_type)
    draft.take(raw)
    if depth < MAX_DEPTH:
        run_steps(draft, depth)
    return draft


def run_steps(draft: Draft, depth: int) -> None:
    """Do what the class does to its fields."""
    schema = draft.schema
    assert schema is not None
    if schema.procedure:
        procedure_for(schema.procedure)(draft, lambda: base_step(draft, depth))
        return
    for step in schema.steps:
        if step.kind == "base":
            base_step(draft, depth)
        elif step.kind == "do":
            procedure_for((step.name,))(draft, lambda: None)
        else:
            draft.run(step.kind, step.name, step.when, step.formula)


def base_step(draft: Draft, depth: int) -> None:
    """What the base class does, in its order."""
    schema = draft.schema
    assert schema is not None
    for spec in schema.sub_configs.values():
        _sub_config(draft, spec, depth)
    extras, values = draft.extras, draft.values
    _dtype(draft)
    _labels(draft)
    if "rope_parameters" in values:
        CONVERSIONS.get(schema.rope_conversion, rope.convert)(draft)
    elif extras.get("rope_scaling") and extras.get("rope_theta"):
        rope.convert(draft)
    for name in common().dropped_generation_keys & extras.keys():
        del extras[name]
    for name in _POPPED:
        extras.pop(name, None)
    per_layer = extras.pop("per_layer_config", None)
    for key, value in extras.items():
        if key not in _SKIPPED:
            set_extra(draft, key, value)
    if per_layer is not None:
        _per_layer(draft, per_layer)
    _rename_layer_types(draft)


def set_extra(draft: Draft, key: str, value: Any) -> None:
    """Set a key that the class does not declare: an alias of a field, or an attribute of its own."""
    schema = draft.schema
    assert schema is not None
    name = schema.aliases.get(key, key)
    if key == "num_labels":
        _set_num_labels(draft, value)
        return
    if schema.properties.get(name, True) is False:
        draft.note(name, Problem("read-only", "the class computes this itself", value, draft.pointer_of(key)))
        return
    if name == "rope_scaling" and "rope_parameters" in draft.values:
        name = "rope_parameters"
    if name != key and name in schema.fields:
        pointer = draft.pointer_of(key)
        value = _checked_alias(draft, name, key, value)
        draft.found[name] = Origin("alias", pointer, key) if pointer else Origin("derived", source=repr(value)[:80])
    draft.values[name] = value


def _checked_alias(draft: Draft, name: str, key: str, value: Any) -> Any:
    from archscope.config.annotations import checker

    assert draft.schema is not None
    field = draft.schema.fields[name]
    if checker(field.annotation)(value):
        return value
    return draft.stand_in(field, value, key)


def _sub_config(draft: Draft, spec: SubConfig, depth: int) -> None:
    given = draft.values.get(spec.name)
    if isinstance(given, Draft) or (given is None and spec.optional):
        return
    if given is not None and not isinstance(given, dict):
        draft.note(spec.name, Problem("type", "expected dict", given, draft.pointer_of(spec.name)))
        given = None
    draft.values[spec.name] = make_sub(draft, spec, given, depth)


def make_sub(draft: Draft, spec: SubConfig, given: dict[str, Any] | None, depth: int) -> Draft:
    """The draft of a sub-config from what is given for it."""
    schema = sub_schema(draft, spec, given)
    written = draft.raw.get(spec.name)
    written = written if isinstance(written, dict) else {}
    pointer = draft.pointer_of(spec.name) or f"{draft.pointer}/{spec.name}"
    raw = dict(spec.defaults) if given is None else given
    if schema is None:
        lost = Draft(None, written, pointer)
        lost.values.update(raw)
        return lost
    return fill(schema, raw, pointer, written=written, owner_type=draft.owner_type, depth=depth + 1)


def sub_schema(draft: Draft, spec: SubConfig, given: Mapping[str, Any] | None) -> Schema | None:
    """The class of a sub-config: named by the spec, or by the `model_type` in the file."""
    if not spec.auto:
        if spec.model_type:
            return load_schema(spec.model_type)
        return load_inner_schema(draft.owner_type, spec.class_name)
    word = given.get("model_type", spec.model_type) if given is not None else spec.model_type
    schema = load_schema(word) if isinstance(word, str) else None
    if schema is None:
        pointer = f"{draft.pointer}/{spec.name}/model_type"
        draft.note(spec.name, Problem("sub-config", "unknown model_type in the sub-config", word, pointer))
    return schema


def _dtype(draft: Draft) -> None:
    legacy = draft.extras.pop("torch_dtype", None)
    if legacy is not None and draft.values.get("dtype") is None:
        draft.values["dtype"] = legacy
        draft.found["dtype"] = Origin("alias", draft.pointer_of("torch_dtype"), "torch_dtype")


def _labels(draft: Draft) -> None:
    values = draft.values
    given = values.get("id2label")
    if given is None:
        count = draft.extras.get("num_labels")
        _set_num_labels(draft, 2 if count is None else count)
        if count is None:
            draft.found.pop("id2label", None)
            draft.found.pop("label2id", None)
        return
    if not isinstance(given, dict):
        return
    try:
        values["id2label"] = {int(key): word for key, word in given.items()}
    except ValueError:
        draft.note("id2label", Problem("type", "a key is no whole number", given, draft.pointer_of("id2label")))


def _set_num_labels(draft: Draft, count: Any) -> None:
    values = draft.values
    held = values.get("id2label")
    if type(count) is not int:
        draft.note("num_labels", Problem("type", "expected int", count, draft.pointer_of("num_labels")))
        return
    if count > MAX_LENGTH:
        draft.note("num_labels", Problem("size", f"implausible size: more than {MAX_LENGTH} labels", count,
                                         draft.pointer_of("num_labels")))  # fmt: skip
        return
    if not isinstance(held, dict) or len(held) != count:
        values["id2label"] = {i: f"LABEL_{i}" for i in range(count)}
        values["label2id"] = {f"LABEL_{i}": i for i in range(count)}
        for name in ("id2label", "label2id"):
            draft.found[name] = Origin("derived", source="one label for each of num_labels", fields=("num_labels",))


def _per_layer(draft: Draft, given: Any) -> None:
    if not isinstance(given, dict):
        draft.note("per_layer_config", Problem("type", "expected dict", given, draft.pointer_of("per_layer_config")))
        return
    draft.values["per_layer_config"] = given


def _rename_layer_types(draft: Draft) -> None:
    renamed = common().legacy_layer_types
    for name in ("layer_types", "mtp_layer_types"):
        words = draft.values.get(name)
        if isinstance(words, list) and any(isinstance(w, str) and w in renamed for w in words):
            draft.values[name] = [renamed.get(w, w) if isinstance(w, str) else w for w in words]
