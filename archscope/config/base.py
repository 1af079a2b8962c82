"""What the common base class of all config classes does, and the order in which a class is filled.

Source: transformers configuration_utils.py, `PreTrainedConfig.__post_init__`, `SubConfigSpec.create_subconfig`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from archscope.config import rope
from archscope.config.draft import Draft
from archscope.config.formulas import FAILURES
from archscope.config.origin import Origin, Problem
from archscope.config.procedures import procedure_for
from archscope.config.rope_variants import CONVERSIONS
from archscope.config.schema import Schema, SubConfig, common, load_inner_schema, load_schema

MAX_DEPTH = 8
_POPPED = ("name_or_path", "_commit_hash", "output_attentions", "attn_implementation", "experts_implementation")
_SKIPPED = ("_attn_implementation_internal", "_experts_implementation_internal")


def fill(schema: Schema, raw: Mapping[str, Any], pointer: str, *, written: Mapping[str, Any] | None = None,
         owner_type: str = "", moved: Mapping[str, str] | None = None, depth: int = 0) -> Draft:  # fmt: skip
    """The draft of one config.

    Args:
        schema: its class.
        raw: what the class is given.
        pointer: where that object stands in the file.
        written: the object as written, where `raw` was completed with defaults.
        owner_type: the registered type in whose file an unregistered class is described.
        moved: where keys stand that were written outside of that object.
        depth: how deep in sub-configs this is.
    """
    draft = Draft(schema, raw if written is None else written, pointer, owner_type or schema.model_type)
    if moved:
        draft.pointers.update(moved)
    draft.take(raw)
    if depth < MAX_DEPTH:
        run_steps(draft, depth)
        rope.name_types(draft)
    return draft


def run_steps(draft: Draft, depth: int) -> None:
    """Do what the class does to its fields."""
    schema = draft.schema
    assert schema is not None
    if schema.procedure:
        _follow(draft, schema, depth)
        return
    for step in schema.steps:
        if step.kind == "base":
            base_step(draft, depth)
        elif step.kind == "do":
            procedure_for((step.name,))(draft, lambda: None)
        else:
            draft.run(step.kind, step.name, step.when, step.formula)


def _follow(draft: Draft, schema: Schema, depth: int) -> None:
    done = []

    def base() -> None:
        done.append(True)
        base_step(draft, depth)

    try:
        procedure_for(schema.procedure)(draft, base)
    except FAILURES as error:
        draft.note("", Problem("derived", f"{schema.class_name} cannot be filled: {type(error).__name__}"))
        if not done:
            base_step(draft, depth)


def base_step(draft: Draft, depth: int) -> None:
    """What the base class does, in its order."""
    schema = draft.schema
    assert schema is not None
    for spec in schema.sub_configs.values():
        _sub_config(draft, spec, depth)
    extras = draft.extras
    _dtype(draft)
    _labels(draft)
    _rope(draft, schema)
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


def _rope(draft: Draft, schema: Schema) -> None:
    extras = draft.extras
    try:
        if "rope_parameters" in draft.values:
            CONVERSIONS.get(schema.rope_conversion, rope.convert)(draft)
        elif extras.get("rope_scaling") and extras.get("rope_theta"):
            rope.convert(draft)
    except FAILURES as error:
        message = f"cannot be brought into form: {type(error).__name__}"
        draft.note("rope_parameters", Problem("derived", message, None, draft.pointer_of("rope_parameters")))


def set_extra(draft: Draft, key: str, value: Any) -> None:
    """Set a key that the class does not declare: an alias of a field, or an attribute of its own."""
    schema = draft.schema
    assert schema is not None
    name = schema.aliases.get(key, key)
    if key == "num_labels":
        draft.set_num_labels(value)
        return
    if draft.set_property(name, value, draft.pointer_of(key)):
        return
    if name == "rope_scaling":
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
    if spec.name == "backbone_config":
        from archscope.config.procedures.backbones import consolidate

        consolidate(draft, spec.model_type, spec.defaults, depth)
        return
    if given is not None and not isinstance(given, dict):
        draft.note(spec.name, Problem("type", "expected dict", given, draft.pointer_of(spec.name)))
        given = None
    draft.values[spec.name] = make_sub(draft, spec, given, depth)


def make_sub(draft: Draft, spec: SubConfig, given: dict[str, Any] | None, depth: int) -> Draft:
    """The draft of a sub-config from what is given for it."""
    schema = sub_schema(draft, spec, given)
    return _sub_draft(draft, spec.name, schema, dict(spec.defaults) if given is None else given, depth)


def _sub_draft(draft: Draft, name: str, schema: Schema | None, raw: dict[str, Any], depth: int) -> Draft:
    pointer = draft.pointer_of(name) or f"{draft.pointer}/{name}"
    written = draft.raw.get(pointer.rpartition("/")[2])
    written = written if isinstance(written, dict) else {}
    if schema is None:
        lost = Draft(None, written, pointer)
        lost.values.update(raw)
        return lost
    owner = draft.owner_type if not schema.registered else ""
    return fill(schema, raw, pointer, written=written, owner_type=owner, moved=draft.moved.get(name), depth=depth + 1)


def make_inner(draft: Draft, name: str, class_name: str) -> None:
    """Make a field a sub-config of a class that is not registered; one that is absent has all defaults."""
    given = draft.values.get(name)
    schema = load_inner_schema(draft.owner_type, class_name)
    draft.values[name] = _sub_draft(draft, name, schema, given if isinstance(given, dict) else {}, 1)


def make_auto(draft: Draft, name: str, default: str) -> None:
    """Make a field a sub-config of the type that it names."""
    given = draft.values.get(name)
    draft.values[name] = make_sub(
        draft, SubConfig(name, default, auto=True), given if isinstance(given, dict) else {}, 1
    )


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
        if draft.declares("num_labels"):
            return
        draft.set_num_labels(2 if count is None else count)
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


def _per_layer(draft: Draft, given: Any) -> None:
    """Overrides of single layers: whole numbers as keys, without those that repeat the value of all layers.

    Source: transformers integrations/heterogeneity/configuration_utils.py.
    """
    pointer = draft.pointer_of("per_layer_config")
    if not isinstance(given, dict):
        draft.note("per_layer_config", Problem("type", "expected dict", given, pointer))
        return
    layers: dict[int, dict[str, Any]] = {}
    for key, overrides in given.items():
        number = _whole(key)
        if number is None or not isinstance(overrides, dict):
            draft.note("per_layer_config", Problem("type", "expected layer numbers with objects", given, pointer))
            continue
        kept = {n: v for n, v in overrides.items() if n == "skip" or not draft.has(n) or draft.field(n) != v}
        if kept:
            layers[number] = kept
    draft.values["per_layer_config"] = layers


def _whole(key: Any) -> int | None:
    if type(key) is int:
        return key
    return int(key) if isinstance(key, str) and key.isascii() and key.isdecimal() and len(key) < 10 else None


def _rename_layer_types(draft: Draft) -> None:
    renamed = common().legacy_layer_types
    for name in ("layer_types", "mtp_layer_types"):
        words = draft.values.get(draft.canonical(name))
        if isinstance(words, list) and any(isinstance(w, str) and w in renamed for w in words):
            draft.values[draft.canonical(name)] = [renamed.get(w, w) if isinstance(w, str) else w for w in words]
