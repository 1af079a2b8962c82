"""Which model class a config builds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from archscope.config.schema import Schema, load_schema, types_of_classes

# Without a usable name in `architectures`, the first of these tasks that has a class.
_ORDER = (
    "causal_lm",
    "image_text_to_text",
    "multimodal_lm",
    "seq_to_seq_causal_lm",
    "speech_seq_2_seq",
    "masked_lm",
    "model",
)
_COMPOSITE = ("image_text_to_text", "multimodal_lm", *_ORDER)

# What the end of a class's name says of its task, for types that the auto tables do not have.
_ENDINGS = (
    ("ForCausalLM", "causal_lm"),
    ("LMHeadModel", "causal_lm"),
    ("ForConditionalGeneration", "causal_lm"),
    ("ForSequenceClassification", "sequence_classification"),
    ("ForTokenClassification", "token_classification"),
    ("ForQuestionAnswering", "question_answering"),
    ("ForMaskedLM", "masked_lm"),
    ("RewardModel", ""),
    ("Model", "model"),
)


def choose(schema: Schema | None, raw: Mapping[str, Any]) -> tuple[str, str]:
    """The model class and its task: the first known name of `architectures`, else what the auto tables give.

    The task is "" for a class that no auto table lists. A type without a schema has no tables: there the name tells.
    """
    named = raw.get("architectures")
    names = [n for n in named if isinstance(n, str)] if isinstance(named, list) else []
    if schema is None:
        name = names[0] if names else ""
        return name, next((task for ending, task in _ENDINGS if name.endswith(ending)), "")
    tasks = _tasks(schema.tasks)
    for name in names:
        if name in tasks:
            return name, tasks[name]
        if name in schema.other_models:
            return name, ""
        if owners := types_of_classes().get(name):
            return name, _foreign_task(name, owners)
    for task in _COMPOSITE if schema.sub_configs else _ORDER:
        if task in schema.tasks:
            found = schema.tasks[task]
            return (found if isinstance(found, str) else found[0]), task
    task, found = next(iter(schema.tasks.items()), ("", ""))
    return (found if isinstance(found, str) else found[0]), task


def _foreign_task(name: str, types: tuple[str, ...]) -> str:
    """The task of a class of other model types: what the file names is built, even where it does not go together."""
    owner = load_schema(types[0])
    return _tasks(owner.tasks).get(name, "") if owner is not None else ""


def _tasks(table: Mapping[str, Any]) -> dict[str, str]:
    # A class may serve several tasks; the generative one names it.
    found: dict[str, str] = {}
    ordered = [t for t in _ORDER if t in table] + [t for t in table if t not in _ORDER]
    for task in ordered:
        names = table[task]
        for name in [names] if isinstance(names, str) else names:
            found.setdefault(name, task)
    return found
