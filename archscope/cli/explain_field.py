"""The page of a field: what the snapshot of transformers says about it."""

from __future__ import annotations

import inspect
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache

from archscope.config.schema import Schema, common, load_schema, model_types

_NAMED = 6  # model types that a line names before it counts


@cache
def _schemas() -> Mapping[str, Schema]:
    loaded = ((model_type, load_schema(model_type)) for model_type in sorted(model_types()))
    return {model_type: schema for model_type, schema in loaded if schema is not None}


def known_fields() -> tuple[str, ...]:
    """Every field that some model type declares, and every other name of one."""
    names = {name for schema in _schemas().values() for name in (*schema.fields, *schema.aliases)}
    return tuple(sorted(names))


def explain_field(name: str) -> str:
    """What is known about a field; empty for one that no model type has."""
    owners = {model_type: schema for model_type, schema in _schemas().items() if name in schema.fields}
    aliased = {model_type: schema for model_type, schema in _schemas().items() if name in schema.aliases}
    if not owners and not aliased:
        return ""
    lines = [f"{name} (field of config.json)", ""]
    lines += _declared(name, owners)
    lines += _other_names(name, owners, aliased)
    lines += _formulas(name, owners)
    lines += _rules(name)
    return "\n".join(lines).rstrip() + "\n"


def _declared(name: str, owners: Mapping[str, Schema]) -> list[str]:
    if not owners:
        return []
    shared = name in common().fields
    scope = "every model type" if shared else f"{len(owners)} of {len(_schemas())} model types"
    lines = [f"Declared by {scope} (transformers {common().transformers})."]
    types, defaults = defaultdict(list), defaultdict(list)
    for model_type, schema in owners.items():
        field = schema.fields[name]
        types[field.annotation].append(model_type)
        default = "no default: it must be given" if field.required else json.dumps(field.effective, default=str)
        defaults[default].append(model_type)
    return [*lines, "", "Type", *_ranked(types), "", "Default", *_ranked(defaults), ""]


def _ranked(groups: Mapping[str, list[str]]) -> list[str]:
    """A line a group, the largest first."""
    ranked = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    lines = [f"  {_short(value)}: {_some(members)}" for value, members in ranked[:12]]
    return lines if len(ranked) <= 12 else [*lines, f"  and {len(ranked) - 12} others"]


def _other_names(name: str, owners: Mapping[str, Schema], aliased: Mapping[str, Schema]) -> list[str]:
    names = defaultdict(list)
    for model_type, schema in owners.items():
        for alias, canonical in schema.aliases.items():
            if canonical == name:
                names[f"also written {alias}"].append(model_type)
    for model_type, schema in aliased.items():
        names[f"another name of {schema.aliases[name]}"].append(model_type)
    return ["Names", *_ranked(names), ""] if names else []


def _formulas(name: str, owners: Mapping[str, Schema]) -> list[str]:
    formulas = defaultdict(list)
    for model_type, schema in owners.items():
        for step in schema.steps:
            if step.name == name and step.formula:
                condition = f" when {step.when}" if step.when else ""
                formulas[f"{step.formula}{condition}"].append(model_type)
    return ["Worked out by the class where the file does not say it", *_ranked(formulas), ""] if formulas else []


def _rules(name: str) -> list[str]:
    from archscope.rules import all_rules

    word = re.compile(rf"\b{re.escape(name)}\b")
    speaking = []
    for kind in all_rules():
        if word.search(inspect.getdoc(kind) or "") or any(name in case.fields for case in kind.cases):
            speaking.append(kind.name)
    return ["Rules that speak of it", *(f"  {rule}" for rule in speaking), ""] if speaking else []


def _some(members: Iterable[str]) -> str:
    ordered = list(members)
    more = len(ordered) - _NAMED
    return ", ".join(ordered[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}..."
