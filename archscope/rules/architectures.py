"""What the file says of the classes that build and run it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from archscope.config import Config
from archscope.diagnostics import Severity
from archscope.rules.base import Context, Fails, Finding, Passes, Rule


class MissingArchitectures(Rule[Config]):
    """The file does not name a class.

    ## What it checks
    architectures of a language model: absent, null or empty.

    ## Why it matters
    transformers falls back to its tables, but converters (llama.cpp, MLX) and engines (vLLM, SGLang) choose their code by
    this name and refuse the file.

    ## How to fix
    Add the class that the weights were saved from; the help names the usual one.

    ## References
    vllm model_executor/models/registry.py; llama.cpp convert_hf_to_gguf.py.
    """

    name = "missing-architectures"
    severity = Severity.ERROR
    requires = ("missing-model-type", "unknown-model-type")
    cases = (
        Passes("llama", architectures=["LlamaForCausalLM"]),
        Fails(text='{"model_type": "bloom", "hidden_size": 64, "n_layer": 2, "n_head": 4}', at="/architectures"),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        if target.pointer or target.schema is None or target.raw.get("architectures"):
            return
        if not ({"causal_lm", "image_text_to_text"} & set(target.schema.tasks)):
            return
        yield Finding(
            "architectures is missing, and converters and engines choose their code by it",
            ctx.place("/architectures"),
            help=f'add "architectures": ["{target.model_class}"]' if target.model_class else "add architectures",
        )


class HeadlessArchitecture(Rule[Config]):
    """The class is the base model, without the head that writes text.

    ## What it checks
    A first architecture that is the base class of a decoder-only type, in a file that keeps the cache on, as generation
    needs, and in a folder without the files of sentence-transformers.

    ## Why it matters
    Engines load such a file as an embedding model. Text models end up so when they are saved from AutoModel.

    ## How to fix
    Load with AutoModelForCausalLM and save again; if embeddings are meant, use_cache false says so.

    ## References
    vllm model_executor/models/registry.py (embedding models).
    """

    name = "headless-architecture"
    severity = Severity.WARNING
    cases = (
        Passes("mistral", architectures=["MistralForCausalLM"], use_cache=True, sliding_window=None),
        Passes("mistral", architectures=["MistralModel"], use_cache=False, sliding_window=None),
        Passes("bert", architectures=["BertModel"], use_cache=True),
        Fails("mistral", architectures=["MistralModel"], use_cache=True, sliding_window=None, at="/architectures"),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        schema, names = target.schema, target.raw.get("architectures")
        if target.pointer or schema is None or not isinstance(names, list) or len(names) != 1:
            return
        causal, base = schema.tasks.get("causal_lm"), schema.tasks.get("model")
        if not causal or names[0] != base or "masked_lm" in schema.tasks or target.raw.get("use_cache") is not True:
            return
        if {"modules.json", "config_sentence_transformers.json"} & set(ctx.repository.listing):
            return
        if "embed" in str(target.raw.get("_name_or_path", "")).lower():
            return
        yield Finding(
            f"{names[0]} has no language head; a model that generates text is a {causal}",
            ctx.place("/architectures"),
            related=[ctx.place("/use_cache", "the cache is on, as generation needs")],
            help="load with AutoModelForCausalLM and save again",
        )


class MissingRemoteCode(Rule[Config]):
    """auto_map names code that is not in the folder.

    ## What it checks
    The Python files behind the classes in auto_map, where the folder of the file is known and has other files of a
    repository. References to another repository (owner/name--module.Class) are left alone.

    ## Why it matters
    AutoModel with trust_remote_code looks for these files and fails.

    ## How to fix
    Copy the files along, or prefix the references with the repository that has them.

    ## References
    transformers dynamic_module_utils.py (get_class_from_dynamic_module).
    """

    name = "missing-remote-code"
    severity = Severity.ERROR
    cases = (
        Passes(
            text='{"model_type": "aquila", "auto_map": {"AutoConfig": "configuration_aquila.AquilaConfig"}}',
            files={"configuration_aquila.py": "", "tokenizer_config.json": "{}"},
        ),
        Fails(
            text='{"model_type": "aquila", "auto_map": {"AutoConfig": "configuration_aquila.AquilaConfig"}}',
            files={"tokenizer_config.json": "{}"},
            at="/auto_map/AutoConfig",
        ),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        found = target.raw.get("auto_map")
        listing = set(ctx.repository.listing)
        if (
            target.pointer
            or not isinstance(found, dict)
            or (not listing & SIGNS_OF_A_REPOSITORY and not _weights(listing))
        ):
            return
        missing: dict[str, str] = {}
        for key, value in found.items():
            for reference in value if isinstance(value, list) else [value]:
                if isinstance(reference, str) and "--" not in reference and re.fullmatch(r"\w+(\.\w+)+", reference):
                    module = f"{reference.split('.')[0]}.py"
                    if module not in listing:
                        missing.setdefault(module, key)
        if missing:
            keys = list(dict.fromkeys(missing.values()))
            yield Finding(
                f"auto_map names {', '.join(sorted(missing))}, which {'is' if len(missing) == 1 else 'are'} not in the folder",
                ctx.place(f"/auto_map/{keys[0]}"),
                related=[ctx.place(f"/auto_map/{key}") for key in keys[1:]],
                help="copy the files along, or prefix the references with their repository (owner/name--module.Class)",
            )


SIGNS_OF_A_REPOSITORY = {"tokenizer_config.json", "tokenizer.json", "generation_config.json", "README.md"}


def _weights(listing: set[str]) -> bool:
    return any(name.endswith((".safetensors", ".bin", ".gguf", ".safetensors.index.json")) for name in listing)
