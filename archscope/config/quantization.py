"""What a config says of quantisation, read from the forms that the tools of the field write."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from archscope.config.config import Config
from archscope.records import dataclass

SKIP_KEYS = (
    "modules_to_not_convert",
    "ignore",
    "exclude_modules",
    "llm_int8_skip_modules",
    "exclude",
    "ignored_layers",
)
"""Under which key each tool lists the modules that it leaves alone."""

READ_SKIP_KEYS: Mapping[str, tuple[str, ...]] = {
    "awq": ("modules_to_not_convert",),
    "bitsandbytes": ("llm_int8_skip_modules",),
    "compressed-tensors": ("ignore",),
    "fbgemm_fp8": ("modules_to_not_convert",),
    "fp8": ("modules_to_not_convert", "ignored_layers"),
    "mxfp4": ("modules_to_not_convert",),
    "quark": ("exclude",),
    "modelopt": ("ignore", "exclude_modules"),
    "torchao": ("modules_to_not_convert",),
    "hqq": ("skip_modules",),
    "eetq": ("modules_to_not_convert",),
    "quanto": ("modules_to_not_convert",),
    "finegrained_fp8": ("modules_to_not_convert",),
}
"""Which of these keys the reader of a method reads. Source: transformers 5.24.0 utils/quantization_config.py."""


@dataclass(frozen=True, slots=True)
class Quantization:
    """One quantization_config.

    Units: group is values along the input that share a scale, block (outputs, inputs) that do. skipped are the names or
    patterns left unquantised, each with its pointer.
    """

    pointer: str
    raw: Mapping[str, Any]
    method: str
    bits: int | None
    group: int | None
    group_pointer: str
    block: tuple[int, int] | None
    block_pointer: str
    skip_key: str
    skipped: tuple[str, ...]


def quantization(config: Config) -> Quantization | None:
    """The quantisation that a config declares, at the top level or in its text part; None where there is none."""
    for owner in (config, *config.subs.values()):
        raw = owner.raw.get("quantization_config")
        if isinstance(raw, dict) and raw:
            return _read(f"{owner.pointer}/quantization_config", raw)
    return None


def _read(pointer: str, raw: Mapping[str, Any]) -> Quantization:
    method = raw.get("quant_method")
    bits, group, group_pointer = _whole(raw.get("bits")), _whole(raw.get("group_size")), f"{pointer}/group_size"
    block, block_pointer = _pair(raw.get("weight_block_size")), f"{pointer}/weight_block_size"
    for name, weights in _group_weights(raw):
        at = f"{pointer}/config_groups/{name}/weights"
        bits = _whole(weights.get("num_bits")) if bits is None else bits
        if group is None and weights.get("group_size") is not None:
            group, group_pointer = _whole(weights.get("group_size")), f"{at}/group_size"
        if block is None and weights.get("block_structure") is not None:
            block, block_pointer = _pair(weights.get("block_structure")), f"{at}/block_structure"
    key = next((name for name in SKIP_KEYS if isinstance(raw.get(name), list)), "")
    skipped = tuple(entry for entry in raw.get(key) or () if isinstance(entry, str)) if key else ()
    return Quantization(
        pointer=pointer,
        raw=raw,
        method=method if isinstance(method, str) else "",
        bits=bits,
        group=group if group is not None and group > 0 else None,
        group_pointer=group_pointer,
        block=block,
        block_pointer=block_pointer,
        skip_key=key,
        skipped=skipped,
    )


def _group_weights(raw: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    groups = raw.get("config_groups")
    if isinstance(groups, dict):
        for name, group in groups.items():
            weights = group.get("weights") if isinstance(group, dict) else None
            if isinstance(weights, dict):
                yield name, weights


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _pair(value: object) -> tuple[int, int] | None:
    if isinstance(value, list) and len(value) == 2 and all(_whole(one) for one in value):
        return value[0], value[1]
    return None
