"""The list of modules that quantisation leaves alone against the tensors that there are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from archscope.config import Config
from archscope.config.quantization import quantization
from archscope.diagnostics import Severity
from archscope.rules.base import Context, Fails, Finding, Passes, Rule
from archscope.rules.examples import PACKED, TINY
from archscope.rules.stored import stored_tensors

FUSED = {
    "gate_up_proj": ("gate_proj", "up_proj"),
    "qkv_proj": ("q_proj", "k_proj", "v_proj"),
    "fused_qkv_a_proj": ("q_a_proj", "kv_a_proj_with_mqa"),
}
"""Names that engines give to matrices they join, and the names on disk."""


def _implied(ctx: Context) -> Iterable[str]:
    """The names of the tensors that the config implies, where they are known for certain."""
    return ctx.structure.tensors if ctx.structure is not None and ctx.structure.is_exact else ()


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
        names = stored_tensors(ctx)
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
    Entries that end in gate_up_proj, qkv_proj and their like where the parts are stored, or implied by the config, under
    names of their own.

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
        Fails(
            "llama",
            **TINY,
            quantization_config={
                "quant_method": "fp8",
                "modules_to_not_convert": ["lm_head", "model.layers.0.mlp.gate_up_proj"],
            },
            at="/quantization_config/modules_to_not_convert/1",
        ),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        declared = quantization(target) if not target.pointer else None
        if declared is None or not declared.skip_key:
            return
        entries = declared.raw[declared.skip_key]
        if not any(isinstance(entry, str) and _is_fused(entry) for entry in entries):
            return
        modules = {name.rpartition(".")[0] for name in stored_tensors(ctx) or _implied(ctx)}
        for index, entry in enumerate(entries):
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
