"""quantization_config against the tensors that are really there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase

from archscope.config import Config
from archscope.config.quantization import Quantization, quantization
from archscope.diagnostics import Place, Severity
from archscope.rules.base import Context, Fails, Finding, Passes, Rule
from archscope.rules.examples import TENSORS, TINY
from archscope.source import StoredTensor, Weights
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

FUSED = {
    "gate_up_proj": ("gate_proj", "up_proj"),
    "qkv_proj": ("q_proj", "k_proj", "v_proj"),
    "fused_qkv_a_proj": ("q_a_proj", "kv_a_proj_with_mqa"),
}
"""Names that engines give to matrices they join, and the names on disk."""

PACKED = {**TENSORS, "model.layers.0.self_attn.q_proj.weight_scale": ("F32", (1,))}


def _stored(ctx: Context) -> Mapping[str, StoredTensor]:
    weights: Weights | None = ctx.repository.weights
    return {} if weights is None else weights.tensors


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
        tensors = _stored(ctx)
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
        tensors = _stored(ctx)
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


class UnmatchedSkipEntry(Rule[Config]):
    """An entry of the list of modules to leave alone matches no tensor.

    ## What it checks
    Every entry with a path against the stored names: as a name, a prefix or part of one, a pattern with *, or a regular
    expression (re:).

    ## Why it matters
    The modules that it was written for are taken for quantised ones. It happens when names change between the tool and the
    checkpoint.

    ## How to fix
    Use the names of this checkpoint.

    ## References
    https://github.com/sgl-project/sglang/pull/18546
    """

    name = "unmatched-skip-entry"
    severity = Severity.WARNING
    cases = (
        Passes(
            "llama",
            **TINY,
            quantization_config={"quant_method": "fp8", "modules_to_not_convert": ["model.layers.*.self_attn.q_proj"]},
            weights=PACKED,
        ),
        Fails(
            "llama",
            **TINY,
            quantization_config={"quant_method": "fp8", "modules_to_not_convert": ["model.vision_tower.blocks.0.qkv"]},
            weights=PACKED,
            at="/quantization_config/modules_to_not_convert/0",
        ),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        declared = quantization(target) if not target.pointer else None
        names = _stored(ctx)
        if declared is None or not names:
            return
        modules = {name.rpartition(".")[0] for name in names}
        left = [
            (index, entry)
            for index, entry in enumerate(declared.raw[declared.skip_key] if declared.skip_key else ())
            if isinstance(entry, str) and "." in entry and not _is_fused(entry) and not _matches(entry, modules)
        ]
        left = [(index, entry) for index, entry in left if not _of_extra_layers(entry, target)]
        if not left:
            return
        index, entry = left[0]
        more = f" (and {len(left) - 1} more)" if len(left) > 1 else ""
        yield Finding(
            f"{entry[:120]} matches no stored tensor{more}",
            ctx.place(f"{declared.pointer}/{declared.skip_key}/{index}"),
            help="use the names of this checkpoint",
        )


def _is_fused(entry: str) -> bool:
    return entry.rsplit(".", 1)[-1] in FUSED


def _of_extra_layers(entry: str, config: Config) -> bool:
    """Whether an entry speaks of next-token-prediction layers, which come and go with the export."""
    count = config.get("num_hidden_layers")
    numbers = [int(part) for part in entry.split(".") if part.isdecimal() and len(part) < 8]
    return "mtp" in entry or (isinstance(count, int) and any(number >= count for number in numbers[:1]))


def _matches(entry: str, modules: Iterable[str]) -> bool:
    """Whether an entry fits any module, in the most lenient of the readers' ways."""
    if entry.startswith("re:"):
        try:
            expression = re.compile(entry[3:])
        except re.error:
            return True
        return any(expression.match(module) or expression.search(module) for module in modules)
    bare = entry.strip("*").strip(".")
    if "*" in bare or "?" in bare or "[" in bare:
        pattern = f"*{bare}*"
        return any(fnmatchcase(module, pattern) for module in modules)
    return any(
        bare in module or (module in bare.removesuffix(".weight") and module.count(".") > 1) for module in modules
    )


class FusedSkipEntry(Rule[Config]):
    """The list of modules to leave alone has an engine's joined names, not those of the checkpoint.

    ## What it checks
    Entries that end in gate_up_proj, qkv_proj and their like where the parts are stored under names of their own.

    ## Why it matters
    transformers and other readers look for the stored names: the modules count as quantised, though they are not.

    ## How to fix
    List gate_proj and up_proj, q_proj, k_proj and v_proj.

    ## References
    vllm model_executor/layers/quantization/utils/quant_utils.py (is_layer_skipped, packed_modules_mapping).
    """

    name = "fused-skip-entry"
    severity = Severity.WARNING
    cases = (
        Passes(
            "llama",
            **TINY,
            quantization_config={"quant_method": "fp8", "modules_to_not_convert": ["model.layers.0.self_attn.q_proj"]},
            weights=PACKED,
        ),
        Fails(
            "llama",
            **TINY,
            quantization_config={
                "quant_method": "fp8",
                "modules_to_not_convert": ["model.layers.0.self_attn.qkv_proj"],
            },
            weights=PACKED,
            at="/quantization_config/modules_to_not_convert/0",
        ),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        declared = quantization(target) if not target.pointer else None
        if declared is None or not declared.skip_key:
            return
        modules = {name.rpartition(".")[0] for name in _stored(ctx)}
        for index, entry in enumerate(declared.raw[declared.skip_key]):
            if not isinstance(entry, str) or not _is_fused(entry):
                continue
            prefix, _, last = entry.rpartition(".")
            if entry not in modules and any(f"{prefix}.{part}" in modules for part in FUSED[last]):
                yield Finding(
                    f"{entry[:120]} is no tensor of this checkpoint, which stores {', '.join(FUSED[last])}",
                    ctx.place(f"{declared.pointer}/{declared.skip_key}/{index}"),
                    help=f"list {', '.join(FUSED[last])}",
                )
                return


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
