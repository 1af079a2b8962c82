"""Canonical fields with their origin: what a config says once defaults, aliases and legacy spellings have met."""

from archscope.config.annotations import check_type
from archscope.config.config import Config
from archscope.config.origin import Origin, Problem
from archscope.config.resolve import completed, part, read_as, resolve
from archscope.config.rope import RopeParameters
from archscope.config.schema import Field, Schema, load_schema, model_types

__all__ = [
    "Config",
    "Field",
    "Origin",
    "Problem",
    "RopeParameters",
    "Schema",
    "check_type",
    "completed",
    "load_schema",
    "model_types",
    "part",
    "read_as",
    "resolve",
]
