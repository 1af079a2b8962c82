"""Which model types are built, and that nobody forgets one."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from archscope.config import load_schema, model_types
from archscope.dev import verified
from archscope.families import registry
from archscope.families.missing import MISSING, TEXT_TASKS


def text_types() -> set[str]:
    """The types of the snapshot that read or write text."""
    schemas = ((name, load_schema(name)) for name in model_types())
    return {name for name, schema in schemas if schema is not None and set(TEXT_TASKS) & schema.tasks.keys()}


def test_every_text_type_of_the_snapshot_is_built_or_missing_for_a_reason() -> None:
    assert len(text_types()) > 350
    assert text_types() - set(registry.index()) - set(MISSING) == set()
    assert all(MISSING.values())


def test_what_is_built_is_not_missing() -> None:
    assert not set(MISSING) & set(registry.index())


@pytest.mark.slow
def test_every_text_type_of_the_installed_transformers_is_built_or_missing_for_a_reason() -> None:
    # The tables are data: reading them needs no torch.
    tables: Any = importlib.import_module("transformers.models.auto.modeling_auto")
    names = (f"MODEL_FOR_{task.upper()}_MAPPING_NAMES" for task in TEXT_TASKS)
    installed = {model_type for name in names for model_type in getattr(tables, name)}
    assert len(installed) > 350
    assert installed - set(registry.index()) - set(MISSING) == set()


def test_remote_modules_build_what_transformers_does_not_have_and_no_other_does() -> None:
    remote = {model_type for model_type in registry.index() if registry.is_remote(model_type)}
    assert remote & model_types() == set()
    assert set(registry.index()) - remote <= model_types()


def test_the_table_of_what_was_compared_is_up_to_date() -> None:
    assert verified.main(["--check"]) == 0
