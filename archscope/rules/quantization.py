"""quantization_config by itself: methods, schemes, lists of modules left alone."""

from __future__ import annotations

from collections.abc import Iterator

from archscope.config import Config
from archscope.config.quantization import READ_SKIP_KEYS, SKIP_KEYS, quantization
from archscope.diagnostics import Severity
from archscope.rules.base import Context, Fails, Finding, Passes, Rule

METHODS = frozenset(
    "aqlm auto-round auto_gptq autoround awq bitnet bitsandbytes bitsandbytes_4bit bitsandbytes_8bit compressed-tensors eetq "
    "fbgemm_fp8 finegrained_fp8 fouroversix four_over_six fp8 fp_quant gguf gptq higgs hqq marlin metal modelopt "
    "modelopt_fp4 modelopt_mixed mxfp4 mxfp8 nvfp4 quanto quark sinq spqr torchao vptq petit_nvfp4 w8a8_int8 w8a8_fp8 "
    "moe_wna16 experts_int8 ipex inc rtn tpu_int8 deepspeedfp ptpc_fp8 awq_marlin gptq_marlin gptq_bitblas bitblas tensorrt "
    "mlx".split()
)
"""Names of methods that some reader has. Source: transformers 5.24.0 quantizers/auto.py; vllm 0.33 quantization/__init__.py."""


class UnknownQuantMethod(Rule[Config]):
    """The method of quantisation has a name that no reader knows, or none.

    ## What it checks
    quant_method of quantization_config.

    ## Why it matters
    Readers choose the code that unpacks the weights by it.

    ## How to fix
    Write the method's name as the help has it.

    ## References
    transformers quantizers/auto.py; vllm model_executor/layers/quantization.
    """

    name = "unknown-quant-method"
    severity = Severity.WARNING
    cases = (
        Passes("llama", quantization_config={"quant_method": "gptq", "bits": 4, "group_size": 128}),
        Fails("llama", quantization_config={"quant_method": "gtpq", "bits": 4}, at="/quantization_config/quant_method"),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        declared = quantization(target) if not target.pointer else None
        if declared is None or not declared.method or declared.method.lower() in METHODS:
            return
        from difflib import get_close_matches

        near = get_close_matches(declared.method, sorted(METHODS), n=1)
        yield Finding(
            f"no reader knows a quantisation method {declared.method[:40]!r}",
            ctx.place(f"{declared.pointer}/quant_method"),
            help=f"did you mean {near[0]!r}?" if near else "",
        )


class UnsupportedCacheScheme(Rule[Config]):
    """The scheme for the key/value cache is none that engines have.

    ## What it checks
    kv_cache_scheme: eight bits as float (or four as nvfp4 by modelopt), symmetric.

    ## Why it matters
    Engines refuse the file when they set up the cache.

    ## How to fix
    num_bits 8 and type float, or no kv_cache_scheme at all (then the cache has the model's data type).

    ## References
    vllm model_executor/layers/quantization/compressed_tensors (CompressedTensorsKVCacheMethod).
    """

    name = "unsupported-cache-scheme"
    severity = Severity.ERROR
    cases = (
        Passes(
            "llama",
            quantization_config={
                "quant_method": "compressed-tensors",
                "kv_cache_scheme": {"num_bits": 8, "type": "float", "symmetric": True},
            },
        ),
        Fails(
            "llama",
            quantization_config={
                "quant_method": "compressed-tensors",
                "kv_cache_scheme": {"num_bits": 4, "type": "float", "symmetric": True},
            },
            at="/quantization_config/kv_cache_scheme/num_bits",
        ),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        declared = quantization(target) if not target.pointer else None
        scheme = declared.raw.get("kv_cache_scheme") if declared is not None else None
        if declared is None or declared.method != "compressed-tensors" or not isinstance(scheme, dict):
            return
        bits, kind = scheme.get("num_bits"), scheme.get("type")
        if isinstance(bits, int) and (bits, kind) != (8, "float"):
            name = "num_bits" if bits != 8 else "type"
            yield Finding(
                f"a cache of {bits} bits as {kind!s:.20} is no scheme that engines have (8 bits as float)",
                ctx.place(f"{declared.pointer}/kv_cache_scheme/{name}"),
            )


class UnreadSkipList(Rule[Config]):
    """The modules to leave alone are listed under a key that the method's reader does not read.

    ## What it checks
    Lists under modules_to_not_convert, ignore, exclude_modules, llm_int8_skip_modules and their like against the key of the
    method. Files of modelopt (with a producer) are left alone: their readers go by the producer.

    ## Why it matters
    The list has no effect: modules that were left unquantised are read as quantised ones, or the other way round.

    ## How to fix
    Move the list under the key that the help names.

    ## References
    transformers utils/quantization_config.py.
    """

    name = "unread-skip-list"
    severity = Severity.WARNING
    cases = (
        Passes("llama", quantization_config={"quant_method": "fp8", "modules_to_not_convert": ["lm_head"]}),
        Fails(
            "llama",
            quantization_config={"quant_method": "bitsandbytes", "load_in_4bit": True, "ignore": ["lm_head"]},
            at="/quantization_config/ignore",
        ),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        declared = quantization(target) if not target.pointer else None
        read = READ_SKIP_KEYS.get(declared.method) if declared is not None else None
        if (
            declared is None
            or read is None
            or "producer" in declared.raw
            or any(isinstance(declared.raw.get(key), list) for key in read)
        ):
            return
        for key in SKIP_KEYS:
            if key not in read and isinstance(declared.raw.get(key), list) and declared.raw[key]:
                yield Finding(
                    f"{declared.method} does not read {key}",
                    ctx.place(f"{declared.pointer}/{key}", key=True),
                    help=f"list the modules under {read[0]}",
                )


class SkipListReplacesDefault(Rule[Config]):
    """A list of modules to skip leaves out the head, which is skipped only without a list.

    ## What it checks
    llm_int8_skip_modules of bitsandbytes, with entries but without lm_head, on models with a head of their own.

    ## Why it matters
    A list replaces the default one: the head gets quantised, which costs quality and breaks tied or missing heads.

    ## How to fix
    Add lm_head to the list.

    ## References
    transformers quantizers/base.py (get_modules_to_not_convert).
    """

    name = "skip-list-replaces-default"
    severity = Severity.WARNING
    cases = (
        Passes(
            "llama",
            quantization_config={
                "quant_method": "bitsandbytes",
                "load_in_4bit": True,
                "llm_int8_skip_modules": ["vision_tower", "lm_head"],
            },
        ),
        Fails(
            "llama",
            quantization_config={
                "quant_method": "bitsandbytes",
                "load_in_4bit": True,
                "llm_int8_skip_modules": ["vision_tower"],
            },
            at="/quantization_config/llm_int8_skip_modules",
        ),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        declared = quantization(target) if not target.pointer else None
        if declared is None or declared.method != "bitsandbytes" or declared.skip_key != "llm_int8_skip_modules":
            return
        if declared.skipped and not any("head" in name or "embed_out" in name for name in declared.skipped):
            yield Finding(
                f"{declared.skip_key} does not list lm_head, which is skipped only where there is no list",
                ctx.place(f"{declared.pointer}/{declared.skip_key}"),
                help="add lm_head to the list",
            )
