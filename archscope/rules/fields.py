"""Keys and values against what the config class declares."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from functools import lru_cache

from archscope.config import Config, Problem
from archscope.config.known import known_keys, types_with_class
from archscope.config.limits import implausible
from archscope.diagnostics import Edit, Fix, Place, Severity
from archscope.rules.base import Context, Fails, Finding, Passes, Rule
from archscope.source import path_of


class WrongType(Rule[Config]):
    """A value has a type that the config class does not take.

    ## What it checks
    Every declared field against its annotation, as transformers 5 does: a whole number is no float where the annotation is
    `float`, a float no int, true no number, null only where None is allowed; lists and dicts inside too.

    ## Why it matters
    transformers 5 refuses the whole file with StrictDataclassFieldValidationError. Older readers accepted many of these,
    which is why published files have them.

    ## How to fix
    Write the value in the type that the message names: 1.0 for 1, 128 for 128.0, 4096 for "4096", true for "true".

    ## References
    huggingface_hub dataclasses.py (strict); transformers 5, the annotations of each config class.
    """

    name = "wrong-type"
    severity = Severity.ERROR
    cases = (
        Passes("llama", rms_norm_eps=1e-5, attention_dropout=0),
        Fails("llama", rms_norm_eps=1, at="/rms_norm_eps"),
        Fails("llama", hidden_size="4096", at="/hidden_size"),
        Fails("llama", max_position_embeddings=128.0, at="/max_position_embeddings"),
        Fails("deepseek_v3", routed_scaling_factor=1, at="/routed_scaling_factor"),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        for name, problem in target.problems.items():
            if problem.kind in ("type", "null"):
                place = ctx.place(problem.pointer) if problem.pointer else ctx.at(name)
                help_, fixes = _retyped(problem, place, ctx)
                yield Finding(f"{name}: {problem.message}", place, help=help_, fixes=fixes)
        names = target.raw.get("architectures")
        if names is not None and not (isinstance(names, list) and all(isinstance(one, str) for one in names)):
            yield Finding("architectures: expected a list of class names", ctx.place(f"{target.pointer}/architectures"))
        for name in ("rope_scaling", "rope_parameters"):
            value = target.raw.get(name)
            if value is not None and not isinstance(value, dict) and "rope_parameters" not in target.problems:
                quoted = isinstance(value, str) and value.lstrip().startswith("{")
                yield Finding(
                    f"{name}: expected an object, got {_word(value)}",
                    ctx.place(f"{target.pointer}/{name}"),
                    help="remove the quotes around the object" if quoted else "",
                )


def _word(value: object) -> str:
    words = {str: "a string", list: "a list", bool: "a boolean", dict: "an object", type(None): "null"}
    return words.get(type(value), "a number")


def _retyped(problem: Problem, place: Place, ctx: Context) -> tuple[str, tuple[Fix, ...]]:
    """The same number in the other notation, where that is all it takes."""
    value = problem.value
    text = ""
    if isinstance(value, int) and not isinstance(value, bool) and "float" in problem.message:
        text = f"{value}.0"
    elif isinstance(value, float) and value.is_integer() and "int" in problem.message and abs(value) < 1e15:
        text = str(int(value))
    span = ctx.document.value_span(path_of(problem.pointer)) if problem.pointer else None
    if not text:
        return "", ()
    if span is None:
        return f"write {text}", ()
    edit = Edit(ctx.document.name, span.start, span.end, text)
    return f"write {text}", (Fix(f"write {text}", (edit,), safe=True),)


class OutOfRange(Rule[Config]):
    """A value lies outside the range that the config class allows.

    ## What it checks
    The ranges of field validators, negative and zero sizes, and counts that no model has (a million layers).

    ## Why it matters
    transformers refuses the file, or fails while it builds the model.

    ## How to fix
    Write a value inside the range that the message names.

    ## References
    transformers utils/type_validators.py.
    """

    name = "out-of-range"
    severity = Severity.ERROR
    cases = (
        Passes("llama", initializer_range=0.5),
        Fails("llama", initializer_range=1.5, at="/initializer_range"),
        Fails("llama", num_hidden_layers=10**9, at="/num_hidden_layers"),
        Fails("llama", intermediate_size=-1, at="/intermediate_size"),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        for name, problem in target.problems.items():
            if problem.kind in ("range", "size"):
                place = ctx.place(problem.pointer) if problem.pointer else ctx.at(name)
                yield Finding(f"{name}: {problem.message}", place)
        for one in implausible(target):
            if one.config is target and target.pointer_of(one.name):
                digits = str(one.value) if one.value < 10**15 else f"a number of {_digits(one.value)} digits"
                message = f"{one.name} is {digits}; no model has more than {one.most:,} {one.what}"
                yield Finding(message, ctx.at(one.name))
        for name in SIZES:
            value = target.get(name)
            if not isinstance(value, int) or name in target.problems or not target.pointer_of(name):
                continue
            if value < 0 or (value == 0 and name not in MAY_BE_ZERO):
                yield Finding(f"{name} is {value}; a size is at least 1", ctx.at(name))


def _digits(value: int) -> int:
    """How many decimal digits a large number has, near enough, without writing them."""
    return int(value.bit_length() * 0.30103) + 1


SIZES = (
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "vocab_size",
    "max_position_embeddings",
    "moe_intermediate_size",
    "kv_lora_rank",
)
MAY_BE_ZERO = (
    "intermediate_size",
    "moe_intermediate_size",
    "num_hidden_layers",
    "num_key_value_heads",
    "num_attention_heads",
)
"""Sizes that published files of attention-free or purely sparse models leave at 0."""


class UnknownField(Rule[Config]):
    """A key of the file is no field of the config class.

    ## What it checks
    Every key against the fields, aliases and legacy names of the model type, the keys that its code reads besides, and
    those that transformers gives to all configs. Only keys that resemble a field that the file lacks are reported: other
    tools keep keys of their own in config.json.

    ## Why it matters
    transformers keeps unknown keys without a word and uses the default of the field that was meant: `num_hiden_layers: 24`
    builds 32 layers.

    ## How to fix
    Write the field's name as the help says it.

    ## References
    transformers configuration_utils.py (undeclared keys are stored as attributes).
    """

    name = "unknown-field"
    severity = Severity.WARNING
    cases = (
        Passes("llama", num_hidden_layers=24, my_tool_note="kept"),
        Fails(
            text='{"model_type": "llama", "num_hiden_layers": 24, "hidden_size": 64, "num_attention_heads": 4}',
            at="/num_hiden_layers",
        ),
        Fails("qwen3", attention_bais=True, at="/attention_bais"),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        if target.schema is None:
            return
        known = known_keys(target.model_type) | set(target.schema.fields)
        for key in target.raw:
            if key in known or key.startswith("_") or f"_{key}" in known or len(key) > 100:
                continue
            near = _near(target.model_type, key)
            if near and not _said(target, near[0]) and not _is_variant(key, near[0]):
                place = ctx.place(f"{target.pointer}/{_escaped(key)}", key=True)
                span = ctx.document.key_span(path_of(f"{target.pointer}/{_escaped(key)}"))
                edits = (Edit(ctx.document.name, span.start, span.end, f'"{near[0]}"'),) if span else ()
                yield Finding(
                    f"{key[:60]} is no field of {target.schema.class_name}, so it has no effect",
                    place,
                    help=f"did you mean {near[0]}? Its value is now {target.get(near[0])!r:.60}",
                    fixes=(Fix(f"rename to {near[0]}", edits),) if edits else (),
                )


@lru_cache(maxsize=4096)
def _near(model_type: str, key: str) -> list[str]:
    """The field of a type whose name is nearest to a key, in a list; none where none is near."""
    from archscope.config import load_schema

    schema = load_schema(model_type)
    return [] if schema is None else get_close_matches(key, sorted(schema.fields), n=1, cutoff=0.85)


def _said(config: Config, name: str) -> bool:
    return bool(config.pointer_of(name))


def _is_variant(key: str, field: str) -> bool:
    """Whether two names differ by a word or a number rather than by a slip: `window_size_2`, `use_qk_norm`."""
    if len(key.split("_")) != len(field.split("_")):
        return key.replace("_", "") != field.replace("_", "")
    return any(
        a != b and (a.isdecimal() or b.isdecimal()) for a, b in zip(key.split("_"), field.split("_"), strict=True)
    )


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


class MissingModelType(Rule[Config]):
    """The file does not say which model it is.

    ## What it checks
    model_type at the top of a file that otherwise looks like the config of a model.

    ## Why it matters
    The auto classes choose the config class by it: without it AutoConfig and AutoModel raise "Unrecognized model".

    ## How to fix
    Add "model_type", such as "llama". Where the architecture is known, the help names the type.

    ## References
    transformers models/auto/configuration_auto.py.
    """

    name = "missing-model-type"
    severity = Severity.ERROR
    cases = (
        Passes("llama"),
        Fails(text='{"architectures": ["LlamaForCausalLM"], "hidden_size": 64, "num_hidden_layers": 2}', at=""),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        if target.pointer or isinstance(target.raw.get("model_type"), str):
            return
        if "model_type" in target.raw:
            message = f"model_type is {_word(target.raw['model_type'])}, not a name"
            yield Finding(message, ctx.place("/model_type"), help=_type_help(target))
            return
        yield Finding(
            "model_type is missing, so the auto classes cannot tell which model this is",
            ctx.place(""),
            help=_type_help(target),
        )


def _type_help(config: Config) -> str:
    owners = types_with_class(config.get("architectures"))
    return f'add "model_type": "{owners[0]}"' if len(owners) == 1 else 'add "model_type"'


class MissingRequiredField(Rule[Config]):
    """A size that every model states is not in the file.

    ## What it checks
    At the top level of a text model: hidden size, layers, heads, vocabulary, under any of their names. A composite model's
    parts may be sparse: their classes complete them.

    ## Why it matters
    transformers fills in the default of the config class, which is the size of one particular model of the family; weights
    of another size then fail to load, or are silently left out.

    ## How to fix
    Write the field with the model's own number.

    ## References
    The defaults of each config class in transformers.
    """

    name = "missing-required-field"
    severity = Severity.WARNING
    requires = ("unknown-field",)
    cases = (
        Passes("llama", hidden_size=64, num_hidden_layers=2, num_attention_heads=4, vocab_size=100),
        Fails(
            text='{"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "vocab_size": 100}',
            at="/num_hidden_layers",
        ),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        if (
            target.pointer
            or target.schema is None
            or target.schema.sub_configs
            or "causal_lm" not in target.schema.tasks
        ):
            return
        stated = [name for name in REQUIRED if _declared(target, name)]
        missing = [name for name in stated if not _said(target, name) and target.origin(name).kind == "default"]
        if len(missing) in (0, len(stated)):
            return
        for name in missing:
            yield Finding(
                f"{name} is not in the file; {target.schema.class_name} takes {target.get(name)!r:.60}",
                ctx.at(name),
                help=f"write {name} with the model's own number",
            )


REQUIRED = ("hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size")


def _declared(config: Config, name: str) -> bool:
    schema = config.schema
    return schema is not None and schema.aliases.get(name, name) in schema.fields and name in config
