"""Who the model says it is: model_type, architectures, token ids."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from archscope.config import Config, load_schema, model_types
from archscope.config.known import types_with_class
from archscope.diagnostics import Severity
from archscope.rules.base import Context, Fails, Finding, Passes, Rule


class ArchitectureOfAnotherType(Rule[Config]):
    """The class in architectures belongs to another model type.

    ## What it checks
    The first name in architectures against the classes that transformers has for model_type. Names of remote code
    (auto_map) and classes that transformers does not know are left alone.

    ## Why it matters
    AutoModel goes by model_type, engines and converters by architectures: the two read different models out of one file.

    ## How to fix
    Correct whichever is wrong; the weights' names tell which architecture they are of.

    ## References
    transformers models/auto/modeling_auto.py; vllm model_executor/models/registry.py.
    """

    name = "architecture-of-another-type"
    severity = Severity.ERROR
    cases = (
        Passes("llama", architectures=["LlamaForCausalLM"]),
        Passes("llama", architectures=["MyOwnForCausalLM"]),
        Fails("llama", architectures=["Qwen2ForCausalLM"], at="/architectures/0"),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        names = target.raw.get("architectures")
        if (
            target.pointer
            or target.schema is None
            or not isinstance(names, list)
            or not names
            or "auto_map" in target.raw
        ):
            return
        name = names[0]
        if not isinstance(name, str) or name in _classes(target.model_type):
            return
        owners = types_with_class(names)
        if not owners or target.model_type in owners or _twins(target.model_type, owners[0]):
            return
        yield Finding(
            f"{name[:60]} is a class of {owners[0]}, not of {target.model_type}",
            ctx.place("/architectures/0"),
            related=[ctx.at("model_type")] if "model_type" in target.raw else [],
            help=f'either "model_type": "{owners[0]}", or a class of {target.model_type} such as '
            f"{target.model_class or 'its own'}",
        )


def _classes(model_type: str) -> frozenset[str]:
    schema = load_schema(model_type)
    return frozenset() if schema is None else frozenset({*_flat(schema.tasks.values()), *schema.other_models})


def _flat(values: object) -> Iterator[str]:
    for value in values if isinstance(values, list | tuple) or hasattr(values, "__iter__") else ():
        if isinstance(value, str):
            yield value
        else:
            yield from _flat(value)


def _twins(one: str, other: str) -> bool:
    """Whether two types share their modeling classes (a type and its relative under an older name)."""
    a, b = load_schema(one), load_schema(other)
    return a is not None and b is not None and (a.module == b.module or bool(_classes(one) & _classes(other)))


class MisspeltArchitecture(Rule[Config]):
    """The class in architectures is nearly, but not quite, a class of the model type.

    ## What it checks
    A first name that no class of transformers has and that differs from a class of model_type by a letter or two, or by
    capitals. Names of remote code (auto_map) and names of one's own are left alone.

    ## Why it matters
    transformers goes by model_type and does not notice; converters and engines look the name up and refuse the file.

    ## How to fix
    Write the name as transformers has it.

    ## References
    vllm model_executor/models/registry.py; llama.cpp convert_hf_to_gguf.py.
    """

    name = "misspelt-architecture"
    severity = Severity.WARNING
    cases = (
        Passes("llama", architectures=["LlamaForCausalLM"]),
        Passes("wav2vec2", architectures=["Wav2Vec2ForSpeechClassification"]),
        Fails("llama", architectures=["LlamaForCasualLM"], at="/architectures/0"),
        Fails("llama", architectures=["LLaMAForCausalLM"], at="/architectures/0"),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        names = target.raw.get("architectures")
        if (
            target.pointer
            or target.schema is None
            or "auto_map" in target.raw
            or not isinstance(names, list)
            or not names
        ):
            return
        name = names[0]
        if not isinstance(name, str) or len(name) > LONGEST or types_with_class([name]):
            return
        near = _nearest(name, _classes(target.model_type))
        if near and near != name:
            yield Finding(
                f"transformers has no class {name}",
                ctx.place("/architectures/0"),
                help=f"did you mean {near!r}?",
            )


LONGEST = 100
"""Longer names are no misspelt class."""


def _nearest(name: str, classes: frozenset[str]) -> str | None:
    """The class whose name differs by capitals or by a letter or two."""
    from difflib import SequenceMatcher

    for other in sorted(classes):
        if other.casefold() == name.casefold():
            return other
    likeness = {
        other: SequenceMatcher(None, name, other).ratio() for other in classes if abs(len(other) - len(name)) <= 2
    }
    best = max(sorted(likeness), key=lambda other: likeness[other], default=None)
    return best if best is not None and likeness[best] >= ALIKE else None


ALIKE = 0.93


class UnknownModelType(Rule[Config]):
    """transformers does not know the model type, and no remote code is named.

    ## What it checks
    model_type against the types of transformers, where the file has no auto_map. A type that nearly spells a known one is an
    error.

    ## Why it matters
    AutoConfig raises ValueError. A model of a package of its own loads only through that package.

    ## How to fix
    Correct the spelling (it is case-sensitive), add auto_map for code in the repository, or name the library in the card.

    ## References
    transformers models/auto/configuration_auto.py.
    """

    name = "unknown-model-type"
    severity = Severity.WARNING
    cases = (
        Passes("llama"),
        Passes(text='{"model_type": "my_model", "auto_map": {"AutoConfig": "configuration_my.MyConfig"}}'),
        Fails(text='{"model_type": "lama", "hidden_size": 64, "num_hidden_layers": 2}', at="/model_type"),
        Fails(text='{"model_type": "my_model", "hidden_size": 64, "num_hidden_layers": 2}', at="/model_type"),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        name = target.raw.get("model_type")
        if not isinstance(name, str) or not name or "auto_map" in ctx.root.raw or name in model_types():
            return
        if target.pointer and (ctx.root.schema is None or "model_type" not in target.raw):
            return
        near = _near(name)
        what = "" if target.pointer else ", and the file names no code for it (auto_map)"
        yield Finding(
            f"transformers {_version()} has no model type {name[:60]!r}{what}",
            ctx.place(f"{target.pointer}/model_type"),
            help=f"did you mean {near!r}?" if near else "",
            severity=Severity.ERROR if near else None,
        )


def _near(name: str) -> str:
    """A known type that differs by case, a separator or a slip of one letter."""
    plain = _plain(name)
    for known in sorted(model_types()):
        if _plain(known) == plain or (len(plain) > 3 and _one_slip(_plain(known), plain)):
            return known
    return ""


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")


def _one_slip(a: str, b: str) -> bool:
    """Whether one letter too many, too few, or two swapped, makes one of the other; digits must agree."""
    if [c for c in a if c.isdigit()] != [c for c in b if c.isdigit()] or abs(len(a) - len(b)) > 1:
        return False
    start = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    rest_a, rest_b = a[start:], b[start:]
    if len(a) == len(b):
        return rest_a[:2] == rest_b[1::-1] and rest_a[2:] == rest_b[2:]
    longer, shorter = (rest_a, rest_b) if len(a) > len(b) else (rest_b, rest_a)
    return longer[1:] == shorter


@cache
def _version() -> str:
    from archscope.config.schema import common

    return common().transformers


class TokenIdOutOfRange(Rule[Config]):
    """A special token's id is outside the vocabulary.

    ## What it checks
    Every field that ends in _token_id, single or in a list, against vocab_size of the text. An id of -1 for "none" and ids
    of a tiny test vocabulary are told apart by severity.

    ## Why it matters
    transformers warns once. A padding id past the table stops the model from being built for many types; an end id past it
    never comes, so that generation runs on.

    ## How to fix
    Use the ids of the tokenizer; where tokens were added, vocab_size must have grown with the embedding.

    ## References
    transformers configuration_utils.py (validate_token_ids).
    """

    name = "token-id-out-of-range"
    severity = Severity.ERROR
    requires = ("wrong-type", "out-of-range")
    cases = (
        Passes("llama", vocab_size=32000, eos_token_id=[2, 31999]),
        Fails("llama", vocab_size=32000, eos_token_id=32000, at="/eos_token_id"),
        Fails("llama", vocab_size=32000, eos_token_id=[2, 40000], at="/eos_token_id"),
        Fails("llama", vocab_size=32000, pad_token_id=-1, at="/pad_token_id"),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        vocabulary = _text_vocabulary(target)
        if target.schema is None or not isinstance(vocabulary, int) or vocabulary < 1:
            return
        for name in TOKEN_IDS:
            value = target.raw.get(name)
            for token in value if isinstance(value, list) else [value]:
                if isinstance(token, bool) or not isinstance(token, int) or 0 <= token < vocabulary:
                    continue
                none = token == -1
                yield Finding(
                    f"{name} {token} is outside the vocabulary of {vocabulary} (0 to {vocabulary - 1})",
                    ctx.at(name),
                    related=[ctx.at("vocab_size")] if "vocab_size" in target and not target.subs else [],
                    help="null means no such token" if none else "",
                    severity=Severity.INFO if none else None,
                )
                break


def _text_vocabulary(config: Config) -> object:
    """vocab_size of a config, or of its text part where it has parts; None where several could be meant."""
    if not config.subs:
        return config.get("vocab_size")
    text = [sub for name, sub in config.subs.items() if name in ("text_config", "llm_config", "language_config")]
    return text[0].get("vocab_size") if len(text) == 1 else None


TOKEN_IDS = ("bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id", "sep_token_id", "cls_token_id",
             "mask_token_id", "unk_token_id")  # fmt: skip
