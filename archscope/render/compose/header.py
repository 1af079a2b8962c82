"""The head of a figure: the model's name, and its facts."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from archscope.blocks.assembly import Architecture, Stack, Tower
from archscope.costs.kv_cache import CacheShape, cache_shape, element_bytes, weight_bytes
from archscope.costs.parameters import Parameters
from archscope.render.compose.context import Context
from archscope.render.compose.outline import Outline
from archscope.render.compose.state import STATE_BYTES
from archscope.render.figure import Chip
from archscope.render.quantities import count, in_bytes, whole
from archscope.source import Document

_SNAPSHOT = re.compile(r"[0-9a-f]{40}")
LONGEST_NAME = 300


def name_of(document: Document, model_type: str) -> str:
    """What to call the model: its repository or folder, else the file, else what the file calls itself."""
    return (_path_name(document.name) or _own_name(document.mapping) or model_type or "model")[:LONGEST_NAME]


def _path_name(path: str) -> str:
    if path.startswith("<"):
        return ""
    folder, file = os.path.split(path.replace("\\", "/"))
    if file != "config.json":
        return file.removesuffix(".json")
    steps = [step for step in folder.split("/") if step not in ("", ".", "..")]
    if len(steps) > 2 and steps[-2] == "snapshots" and _SNAPSHOT.fullmatch(steps[-1]):
        return steps[-3].removeprefix("models--").replace("--", "/")
    return steps[-1] if steps else ""


def _own_name(config: Mapping[str, Any]) -> str:
    found = config.get("_name_or_path")
    return found.rstrip("/").rpartition("/")[2] if isinstance(found, str) else ""


def chips(ctx: Context, plan: Outline, parameters: Parameters) -> tuple[Chip, ...]:
    """The facts that readers look for first."""
    architecture = ctx.structure.architecture
    main = plan.stacks[-1].block if plan.stacks else None
    pointer = main.pointer if isinstance(main, Tower) else ""
    made = [Chip("parameters", count(parameters.total))]
    if parameters.active != parameters.total:
        made.append(Chip("active", f"{count(parameters.active)} / token"))
    layers = [sum(len(stack) for stack in _stacks(part.block)) for part in plan.stacks]
    if any(layers):
        made.append(Chip("layers", " + ".join(map(whole, layers)), ctx.origin("num_hidden_layers", pointer)))
    made += _field(ctx, pointer, "context", "max_position_embeddings")
    made += _cache(ctx, architecture)
    made += _field(ctx, pointer, "vocabulary", "vocab_size")
    made.append(Chip("dtype", dtype(ctx), ctx.origin("dtype", "")))
    return tuple(made)


def _stacks(block: object) -> tuple[Stack, ...]:
    return block.stacks if isinstance(block, Tower) else ()


def _field(ctx: Context, pointer: str, label: str, field: str) -> Iterator[Chip]:
    value = ctx.config_at(pointer).get(field)
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        mark = " (default)" if ctx.is_default(field, pointer) else ""
        yield Chip(label, whole(value) + mark, ctx.origin(field, pointer))


def _cache(ctx: Context, architecture: Architecture) -> Iterator[Chip]:
    shape = cache_shape(architecture)
    said = cache_words(shape, element_bytes(ctx.structure.dtype))
    if said:
        yield Chip("KV cache", said)
    state = state_bytes(shape, element_bytes(ctx.structure.dtype))
    if state:
        yield Chip("state", f"{in_bytes(state)}, fixed")


def cache_words(shape: CacheShape, size: int) -> str:
    """What a token adds to the cache, and what is left of it beyond the windows; "" for no cache."""
    if not shape.per_token:
        return ""
    said = f"{in_bytes(shape.per_token * size)} / token"
    if not shape.windows:
        return said
    left = in_bytes(shape.growing * size) if shape.growing else "none"
    where = whole(next(iter(shape.windows))) if len(shape.windows) == 1 else "the windows"
    return f"{said}, {left} beyond {where}"


def state_bytes(shape: CacheShape, size: int) -> int:
    """Size of the recurrent state (kept in float32) and of the convolution's.

    Units: bytes per sequence.
    """
    return shape.state * STATE_BYTES + shape.convolution * size


def memory(ctx: Context, plan: Outline, parameters: Parameters) -> tuple[Chip, ...]:
    """What weights, cache and state take, each with how it comes about."""
    plain = ctx.structure.dtype
    each = element_bytes(plain)
    size = weight_bytes(plain)
    made = [
        Chip(
            "weights", f"{in_bytes(parameters.total * size)} = {whole(parameters.total)} × {size} bytes ({plain[:24]})"
        )
    ]
    shape = cache_shape(ctx.structure.architecture)
    main = plan.stacks[-1].block if plan.stacks else None
    longest = ctx.config_at(main.pointer if isinstance(main, Tower) else "").get("max_position_embeddings")
    if shape.per_token:
        made.append(Chip("KV cache", f"{cache_words(shape, each)} = {whole(shape.per_token)} elements × {each} bytes"))
    if shape.per_token and isinstance(longest, int) and not isinstance(longest, bool) and 0 < longest < 10**12:
        made.append(Chip("", f"{in_bytes(shape.elements(longest) * each)} for one sequence of {whole(longest)} tokens"))
    state = state_bytes(shape, each)
    if state:
        made.append(Chip("state", f"{in_bytes(state)} per sequence, whatever its length"))
    return tuple(made)


def dtype(ctx: Context) -> str:
    """The dtype of the weights, with how they are quantised."""
    plain = ctx.structure.dtype[:24]
    found = ctx.config.get("quantization_config")
    if not isinstance(found, Mapping):
        return plain if ctx.config.get("dtype") else f"{plain} (default)"
    method = found.get("quant_method")
    said = [method[:24]] if isinstance(method, str) else ["quantised"]
    form = found.get("fmt")
    if isinstance(form, str):
        said = [f"{said[0]} {form[:12]}"]
    bits = found.get("bits")
    if isinstance(bits, int) and not isinstance(bits, bool) and 0 < bits <= 64:
        said.append(f"{bits} bit")
    block = found.get("weight_block_size")
    if isinstance(block, list) and 0 < len(block) <= 2 and all(isinstance(n, int) and 0 < n < 10**6 for n in block):
        said.append(f"{'×'.join(map(str, block))} blocks")
    return ", ".join(said)
