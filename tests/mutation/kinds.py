"""Ways to break one thing in a right config, each a kind of fault that people really make.

A kind looks at the parsed file and gives the broken one with the names of which one must be spoken of, or None where it does
not apply.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from typing import Any, NamedTuple

from archscope.config import load_schema

Config = dict[str, Any]


class Mutation(NamedTuple):
    """A broken file as text, and the names of which a diagnostic must have one in a pointer."""

    text: str
    names: frozenset[str]


Kind = Callable[[Config, random.Random], "Mutation | None"]
KINDS: dict[str, Kind] = {}


def kind(function: Kind) -> Kind:
    KINDS[function.__name__] = function
    return function


def made(config: Config, *names: str) -> Mutation:
    return Mutation(json.dumps(config, indent=2), frozenset(names))


def text_part(config: Config) -> Config:
    """The object that describes the text model."""
    for name in ("text_config", "llm_config", "language_config"):
        part = config.get(name)
        if isinstance(part, dict) and "hidden_size" in part:
            return part
    return config


def whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def schema_of(config: Config) -> Any:
    model_type = config.get("model_type")
    return load_schema(model_type) if isinstance(model_type, str) else None


def changed(config: Config, name: str, value: Any, *names: str) -> Mutation | None:
    """The config with one field of its text part changed, if that has it."""
    out = copy.deepcopy(config)
    part = text_part(out)
    if name not in part:
        return None
    part[name] = value
    return made(out, name, *names)


def declared(config: Config, name: str) -> bool:
    schema = schema_of(text_part(config))
    return schema is not None and name in schema.fields


SIZES = ("hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size", "intermediate_size",
         "max_position_embeddings", "num_key_value_heads")  # fmt: skip


def a_size(config: Config, rng: random.Random) -> str | None:
    part = text_part(config)
    found = [name for name in SIZES if whole(part.get(name)) and declared(config, name)]
    return rng.choice(found) if found else None


@kind
def misspelt_field(config: Config, rng: random.Random) -> Mutation | None:
    name = a_size(config, rng)
    if name is None:
        return None
    out = copy.deepcopy(config)
    part = text_part(out)
    at = rng.randrange(1, len(name) - 1)
    wrong = name[:at] + name[at + 1 :]
    pairs = [(wrong if key == name else key, value) for key, value in part.items()]
    part.clear()
    part.update(pairs)
    return made(out, wrong, name)


@kind
def number_as_string(config: Config, rng: random.Random) -> Mutation | None:
    name = a_size(config, rng)
    return changed(config, name, str(text_part(config)[name])) if name else None


@kind
def float_for_integer(config: Config, rng: random.Random) -> Mutation | None:
    name = a_size(config, rng)
    return changed(config, name, float(text_part(config)[name])) if name else None


@kind
def integer_for_float(config: Config, rng: random.Random) -> Mutation | None:
    schema = schema_of(text_part(config))
    part = text_part(config)
    found = [n for n, v in part.items() if schema and isinstance(v, float) and n in schema.fields]
    found = [name for name in found if schema.fields[name].annotation in ("float", "float | None")]
    return changed(config, rng.choice(found), 1) if found else None


@kind
def negative_size(config: Config, rng: random.Random) -> Mutation | None:
    name = a_size(config, rng)
    return changed(config, name, -text_part(config)[name]) if name else None


@kind
def billion_layers(config: Config, rng: random.Random) -> Mutation | None:
    return changed(config, "num_hidden_layers", 10**9) if declared(config, "num_hidden_layers") else None


@kind
def kv_heads_not_dividing(config: Config, rng: random.Random) -> Mutation | None:
    part = text_part(config)
    heads, kv = part.get("num_attention_heads"), part.get("num_key_value_heads")
    if (
        not whole(heads)
        or not whole(kv)
        or heads < 4
        or part.get("kv_lora_rank")
        or not declared(config, "num_key_value_heads")
    ):
        return None
    wrong = [n for n in range(2, heads) if heads % n]
    return changed(config, "num_key_value_heads", rng.choice(wrong)) if wrong else None


@kind
def hidden_not_divisible(config: Config, rng: random.Random) -> Mutation | None:
    part = text_part(config)
    d, heads = part.get("hidden_size"), part.get("num_attention_heads")
    if not whole(d) or not whole(heads) or heads < 2 or d % heads or part.get("head_dim") or part.get("kv_lora_rank"):
        return None
    schema = schema_of(part)
    if schema is None or ("head_dim" in schema.fields and schema.fields["head_dim"].default is not None):
        return None
    return changed(config, "hidden_size", d + 1, "num_attention_heads")


@kind
def odd_head_dim(config: Config, rng: random.Random) -> Mutation | None:
    part = text_part(config)
    if not whole(part.get("head_dim")) or not declared(config, "head_dim") or part.get("kv_lora_rank"):
        return None
    return changed(config, "head_dim", part["head_dim"] + 1, "hidden_size") if part["head_dim"] % 2 == 0 else None


@kind
def too_many_active_experts(config: Config, rng: random.Random) -> Mutation | None:
    part = text_part(config)
    for name in ("num_experts", "n_routed_experts", "num_local_experts"):
        if whole(part.get(name)) and whole(part.get("num_experts_per_tok")) and declared(config, name):
            return changed(config, "num_experts_per_tok", part[name] + rng.randint(1, 4))
    return None


@kind
def experts_not_in_groups(config: Config, rng: random.Random) -> Mutation | None:
    part = text_part(config)
    if not whole(part.get("n_group")) or part["n_group"] < 2 or not whole(part.get("n_routed_experts")):
        return None
    return changed(
        config,
        "n_group",
        part["n_group"] + 1 if part["n_routed_experts"] % (part["n_group"] + 1) else part["n_group"] + 3,
    )


@kind
def layer_types_too_short(config: Config, rng: random.Random) -> Mutation | None:
    found = text_part(config).get("layer_types")
    return changed(config, "layer_types", found[:-1]) if isinstance(found, list) and len(found) > 1 else None


@kind
def layer_types_misspelt(config: Config, rng: random.Random) -> Mutation | None:
    found = text_part(config).get("layer_types")
    if not isinstance(found, list) or not found or not declared(config, "layer_types"):
        return None
    at = rng.randrange(len(found))
    return changed(config, "layer_types", [*found[:at], found[at][:-2], *found[at + 1 :]], str(at))


@kind
def no_window_for_sliding_layers(config: Config, rng: random.Random) -> Mutation | None:
    part = text_part(config)
    slides = isinstance(part.get("layer_types"), list) and "sliding_attention" in part["layer_types"]
    return changed(config, "sliding_window", None) if slides and declared(config, "sliding_window") else None


def rope_block(config: Config) -> tuple[str, dict[str, Any]] | None:
    part = text_part(config)
    schema = schema_of(part)
    if schema is None or "rope_parameters" not in schema.fields:
        return None
    for name in ("rope_scaling", "rope_parameters"):
        block = part.get(name)
        if isinstance(block, dict) and not any(isinstance(value, dict) for value in block.values()):
            return name, block
    return None


def with_rope(config: Config, key: str, value: Any, *names: str) -> Mutation | None:
    found = rope_block(config)
    if found is None:
        return None
    name, block = found
    return changed(config, name, {**block, key: value}, key, *names)


@kind
def unknown_rope_type(config: Config, rng: random.Random) -> Mutation | None:
    found = rope_block(config)
    if found is None:
        return None
    key = "rope_type" if "rope_type" in found[1] else "type"
    return with_rope(config, key, str(found[1].get(key, "linear")) + "x") if key in found[1] else None


@kind
def rope_factor_below_one(config: Config, rng: random.Random) -> Mutation | None:
    found = rope_block(config)
    if found is None or not isinstance(found[1].get("factor"), int | float):
        return None
    return with_rope(config, "factor", rng.choice([0.25, 0, -8.0]))


@kind
def rope_key_missing(config: Config, rng: random.Random) -> Mutation | None:
    found = rope_block(config)
    needed = {"factor", "short_factor", "long_factor", "low_freq_factor", "high_freq_factor"} & set(
        found[1] if found else ()
    )
    kinds = (found[1].get("rope_type"), found[1].get("type")) if found else ()
    if found is None or not needed or not set(kinds) & {"linear", "dynamic", "yarn", "llama3", "longrope"}:
        return None
    if "longrope" in kinds:
        needed -= {"factor"}
    gone = rng.choice(sorted(needed)) if needed else None
    return changed(config, found[0], {k: v for k, v in found[1].items() if k != gone}, gone) if gone else None


@kind
def rope_key_misspelt(config: Config, rng: random.Random) -> Mutation | None:
    found = rope_block(config)
    if found is None or "factor" not in found[1]:
        return None
    block = {("fator" if key == "factor" else key): value for key, value in found[1].items()}
    return changed(config, found[0], block, "fator", "factor")


@kind
def longrope_list_too_short(config: Config, rng: random.Random) -> Mutation | None:
    found = rope_block(config)
    if found is None or not isinstance(found[1].get("short_factor"), list):
        return None
    return with_rope(config, "short_factor", found[1]["short_factor"][:-1])


@kind
def mrope_sections_off(config: Config, rng: random.Random) -> Mutation | None:
    found = rope_block(config)
    if found is None or not isinstance(found[1].get("mrope_section"), list):
        return None
    return with_rope(config, "mrope_section", [one + 1 for one in found[1]["mrope_section"]])


@kind
def rope_theta_not_positive(config: Config, rng: random.Random) -> Mutation | None:
    schema = schema_of(text_part(config))
    if schema is None or "rope_parameters" not in schema.fields:
        return None
    return changed(config, "rope_theta", rng.choice([0, -10000.0]))


@kind
def rope_theta_in_two_places(config: Config, rng: random.Random) -> Mutation | None:
    part = text_part(config)
    schema = schema_of(part)
    theta = part.get("rope_theta")
    if schema is None or "rope_parameters" not in schema.fields or not isinstance(theta, int | float):
        return None
    if any(name in part for name in ("rope_parameters", "rope_scaling", "rope_local_base_freq")):
        return None
    out = copy.deepcopy(config)
    text_part(out)["rope_parameters"] = {"rope_type": "default", "rope_theta": theta * 10}
    return made(out, "rope_theta")


@kind
def token_outside_vocabulary(config: Config, rng: random.Random) -> Mutation | None:
    part = text_part(config)
    names = [n for n in ("bos_token_id", "eos_token_id", "pad_token_id") if whole(part.get(n))]
    if not names or not whole(part.get("vocab_size")) or schema_of(part) is None:
        return None
    name = rng.choice(names)
    return changed(config, name, part["vocab_size"] + rng.randint(0, 9), "vocab_size")


@kind
def class_of_another_type(config: Config, rng: random.Random) -> Mutation | None:
    schema = schema_of(config)
    if schema is None or "auto_map" in config or not config.get("architectures"):
        return None
    out = copy.deepcopy(config)
    out["architectures"] = ["GPTJForCausalLM" if config["model_type"] != "gptj" else "BloomForCausalLM"]
    return made(out, "architectures")


@kind
def model_type_misspelt(config: Config, rng: random.Random) -> Mutation | None:
    if schema_of(config) is None or "auto_map" in config or len(config["model_type"]) < 5:
        return None
    out = copy.deepcopy(config)
    out["model_type"] = config["model_type"][:-2] + config["model_type"][-1]
    return made(out, "model_type") if load_schema(out["model_type"]) is None else None


@kind
def no_model_type(config: Config, rng: random.Random) -> Mutation | None:
    out = {key: value for key, value in config.items() if key != "model_type"}
    return made(out, "") if schema_of(config) is not None and config.get("architectures") else None


@kind
def no_architectures(config: Config, rng: random.Random) -> Mutation | None:
    schema = schema_of(config)
    if schema is None or "causal_lm" not in schema.tasks or not config.get("architectures"):
        return None
    return made({key: value for key, value in config.items() if key != "architectures"}, "architectures")


@kind
def activation_misspelt(config: Config, rng: random.Random) -> Mutation | None:
    for name in ("hidden_act", "hidden_activation", "activation_function"):
        value = text_part(config).get(name)
        if isinstance(value, str) and declared(config, name) and "auto_map" not in config:
            return changed(config, name, value + "z")
    return None


@kind
def softcap_zero(config: Config, rng: random.Random) -> Mutation | None:
    return changed(config, rng.choice(["final_logit_softcapping", "attn_logit_softcapping"]), 0.0)


@kind
def dtype_twice(config: Config, rng: random.Random) -> Mutation | None:
    if not isinstance(config.get("torch_dtype"), str) or "dtype" in config:
        return None
    other = "float32" if config["torch_dtype"] != "float32" else "bfloat16"
    return made({**config, "dtype": other}, "torch_dtype", "dtype")


@kind
def size_left_out(config: Config, rng: random.Random) -> Mutation | None:
    schema = schema_of(config)
    stated = [
        n for n in ("hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size") if whole(config.get(n))
    ]
    if schema is None or schema.sub_configs or "causal_lm" not in schema.tasks or len(stated) < 4:
        return None
    name = rng.choice([n for n in stated if n in schema.fields] or [""])
    return made({key: value for key, value in config.items() if key != name}, name) if name else None


@kind
def alias_in_conflict(config: Config, rng: random.Random) -> Mutation | None:
    part = text_part(config)
    schema = schema_of(part)
    for alias, field in (schema.aliases if schema is not None else {}).items():
        if whole(part.get(field)) and alias not in part:
            out = copy.deepcopy(config)
            text_part(out)[alias] = part[field] + 1
            return made(out, alias, field)
    return None


@kind
def key_written_twice(config: Config, rng: random.Random) -> Mutation | None:
    name = next((n for n in SIZES if whole(config.get(n))), None)
    if name is None:
        return None
    text = json.dumps(config, indent=2)
    return Mutation(text[:1] + f'\n  "{name}": {config[name] + 1},' + text[1:], frozenset((name,)))


@kind
def comma_too_many(config: Config, rng: random.Random) -> Mutation | None:
    text = json.dumps(config, indent=2).rstrip()
    return Mutation(text[:-1].rstrip() + ",\n}", frozenset(("",)))


@kind
def cut_off(config: Config, rng: random.Random) -> Mutation | None:
    text = json.dumps(config, indent=2)
    return Mutation(text[: len(text) * 2 // 3], frozenset(("",)))


@kind
def object_as_string(config: Config, rng: random.Random) -> Mutation | None:
    found = rope_block(config)
    return changed(config, found[0], json.dumps(found[1]), "rope_parameters") if found else None


@kind
def quant_groups_too_wide(config: Config, rng: random.Random) -> Mutation | None:
    part = text_part(config)
    width = part.get("intermediate_size")
    schema = schema_of(config)
    if not whole(width) or "quantization_config" in config or schema is None or "causal_lm" not in schema.tasks:
        return None
    if any(name in part for name in ("moe_intermediate_size", "num_local_experts")) or schema.sub_configs:
        return None
    group = next((n for n in (96, 80, 112) if width % n), None)
    out = {**config, "quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": group}}
    return made(out, "group_size") if group else None


@kind
def layer_pattern_too_long(config: Config, rng: random.Random) -> Mutation | None:
    found = text_part(config).get("hybrid_override_pattern")
    counted = whole(text_part(config).get("num_hidden_layers"))
    return changed(config, "hybrid_override_pattern", found + "M") if isinstance(found, str) and counted else None
