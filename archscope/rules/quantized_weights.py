"""quantization_config against the tensors that are really there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from archscope.config import Config
from archscope.config.quantization import Quantization, quantization
from archscope.diagnostics import Place, Severity
from archscope.rules.base import Context, Fails, Finding, Passes, Rule
from archscope.rules.examples import PACKED, TENSORS, TINY
from archscope.rules.stored import stored_tensors
from archscope.source import StoredTensor
from archscope.structure.stored import is_quantised_name

PLAIN = ("BF16", "F16", "F32", "F64")
PRE_QUANTISED = (
    "gptq",
    "awq",
    "compressed-tensors",
    "fp8",
    "fbgemm_fp8",
    "mxfp4",
    "bitsandbytes",
    "quark",
    "auto-round",
    "hqq",
)
"""Methods whose checkpoints carry quantised tensors. bitsandbytes ones may also be quantised while loading."""


def _is_quantised(tensors: Mapping[str, StoredTensor]) -> bool | None:
    """Whether any tensor is quantised, by name or data type; None where the names leave it open."""
    if any(is_quantised_name(name) for name in tensors):
        return True
    if any(
        tensor.dtype is not None and tensor.dtype not in (*PLAIN, "BOOL", "I64", "I32") for tensor in tensors.values()
    ):
        return True
    return False if tensors and all(tensor.dtype is not None for tensor in tensors.values()) else None


class StaleQuantization(Rule[Config]):
    """The config declares quantisation, but the stored tensors are plain.

    ## What it checks
    A pre-quantised method against data types and names of all stored tensors: no packed weights, no scales, no quantisation
    state.

    ## Why it matters
    Readers unpack what was never packed: loading fails, or the weights are garbage. It happens when a merged or dequantised
    model is saved with the old config.

    ## How to fix
    Delete quantization_config.

    ## References
    transformers quantizers/base.py (pre_quantized).
    """

    name = "stale-quantization"
    severity = Severity.ERROR
    cases = (
        Passes("llama", **TINY, quantization_config={"quant_method": "fp8"}, weights=PACKED),
        Fails("llama", **TINY, quantization_config={"quant_method": "fp8"}, weights=TENSORS, at="/quantization_config"),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        declared = quantization(target) if not target.pointer else None
        if declared is None or declared.method not in PRE_QUANTISED:
            return
        tensors = stored_tensors(ctx)
        if _is_quantised(tensors) is False:
            kinds = sorted({tensor.dtype for tensor in tensors.values() if tensor.dtype})
            yield Finding(
                f"{declared.method} is declared, but all {len(tensors)} tensors are plain {', '.join(kinds)}",
                ctx.place(declared.pointer, key=True),
                help="delete quantization_config",
            )


class UndeclaredQuantization(Rule[Config]):
    """The stored tensors are quantised, but the config does not say so.

    ## What it checks
    Packed or eight-bit tensors and their scales, without quantization_config (or hf_quant_config.json, quantize_config.json).

    ## Why it matters
    Readers take the numbers for plain weights: without their scales they are garbage.

    ## How to fix
    Add the quantization_config that the tool wrote.

    ## References
    transformers quantizers/auto.py.
    """

    name = "undeclared-quantization"
    severity = Severity.ERROR
    cases = (
        Passes("llama", **TINY, weights=TENSORS, torch_dtype="float32"),
        Fails("llama", **TINY, weights=PACKED, torch_dtype="float32", at="/quantization_config"),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        if target.pointer or quantization(target) is not None or "quantization" in target.raw:
            return
        if {"hf_quant_config.json", "quantize_config.json", "quant_config.json"} & set(ctx.repository.listing):
            return
        tensors = stored_tensors(ctx)
        scales = [name for name in tensors if is_quantised_name(name)]
        kinds = sorted({t.dtype for t in tensors.values() if t.dtype and t.dtype.startswith(("F8", "F4", "F6"))})
        if not scales and not kinds:
            return
        what = " and ".join([*([f"{', '.join(kinds)} tensors"] if kinds else []), *scales[:1]])
        yield Finding(
            f"quantised tensors are stored ({what}), but the config has no quantization_config",
            ctx.place("/quantization_config"),
            help="add the quantization_config that the tool wrote",
        )


class QuantMethodWithoutWeights(Rule[Config]):
    """The config declares quantised safetensors, but the folder holds weights of another format only.

    ## What it checks
    quantization_config beside GGUF files and no safetensors or PyTorch files.

    ## Why it matters
    The config was copied from another repository: engines that start from it look for weights that are not there.

    ## How to fix
    Delete the block, or the copied config.json.

    ## References
    vllm docs, GGUF.
    """

    name = "quant-method-without-weights"
    severity = Severity.WARNING
    cases = (
        Passes("llama", **TINY, quantization_config={"quant_method": "fp8"}, weights=PACKED),
        Fails(
            "llama",
            **TINY,
            quantization_config={"quant_method": "fp8"},
            files={"model-Q4_K_M.gguf": "GGUF"},
            at="/quantization_config/quant_method",
        ),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        declared = quantization(target) if not target.pointer else None
        if declared is None or declared.method in ("", "gguf"):
            return
        listing = ctx.repository.listing
        gguf = [name for name in listing if name.endswith(".gguf")]
        if gguf and not any(name.endswith((".safetensors", ".bin", ".pt", ".pth", ".index.json")) for name in listing):
            yield Finding(
                f"{declared.method} is declared, but the folder holds only GGUF weights ({gguf[0]})",
                ctx.place(f"{declared.pointer}/quant_method"),
                help="delete the block, or the copied config.json",
            )


class ConflictingQuantFiles(Rule[Config]):
    """Two files say how the model is quantised, and disagree.

    ## What it checks
    hf_quant_config.json (modelopt) and quantize_config.json (gptq) against quantization_config: algorithm, bits, group size.

    ## Why it matters
    Engines read one or the other.

    ## How to fix
    Make them agree, or delete the file that the tool no longer writes.

    ## References
    vllm model_executor/layers/quantization/modelopt.py (get_config_filenames).
    """

    name = "conflicting-quant-files"
    severity = Severity.ERROR
    cases = (
        Passes(
            "llama",
            quantization_config={"quant_method": "gptq", "bits": 4, "group_size": 128},
            files={"quantize_config.json": '{"bits": 4, "group_size": 128}'},
        ),
        Fails(
            "llama",
            quantization_config={"quant_method": "gptq", "bits": 4, "group_size": 128},
            files={"quantize_config.json": '{"bits": 8, "group_size": 128}'},
            at="/quantization_config/bits",
        ),
        Fails(
            "llama",
            quantization_config={"quant_method": "modelopt", "quant_algo": "FP8"},
            files={"hf_quant_config.json": '{"quantization": {"quant_algo": "NVFP4"}}'},
            at="/quantization_config/quant_algo",
        ),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        declared = quantization(target) if not target.pointer else None
        if declared is None:
            return
        for name, inner in (("quantize_config.json", ""), ("hf_quant_config.json", "quantization")):
            document = ctx.repository.document(name)
            found = document.mapping.get(inner) if document is not None and inner else None
            other = found if isinstance(found, dict) else document.mapping if document is not None and not inner else {}
            for key in ("bits", "group_size", "quant_algo", "desc_act", "sym"):
                mine, theirs = _mine(declared, key), other.get(key)
                if mine is None or theirs is None or mine == theirs or document is None:
                    continue
                path = (inner, key) if inner else (key,)
                yield Finding(
                    f"{key} is {mine!r:.40} here and {theirs!r:.40} in {name}",
                    ctx.place(f"{declared.pointer}/{key}"),
                    related=[_other_place(document.place(path), theirs)],
                    help="make them agree",
                )
                return


def _mine(declared: Quantization, key: str) -> object:
    value = declared.raw.get(key)
    return value.upper() if key == "quant_algo" and isinstance(value, str) else value


def _other_place(place: Place, value: object) -> Place:
    return Place(
        place.file, place.pointer, place.line, place.column, place.end_line, place.end_column, f"{value!r:.40} here"
    )
