"""What generation keeps per sequence: keys and values that grow with it, windows that do not, states of fixed size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from archscope.blocks.assembly import Architecture, Layer
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, Repeating
from archscope.blocks.compressed_attention import CompressedAttention
from archscope.blocks.indexer import SparseIndexer
from archscope.blocks.latent_attention import LatentAttention
from archscope.blocks.ssm import StateMixer
from archscope.records import dataclass

_BITS = {"float64": 64, "double": 64, "float32": 32, "float": 32, "float16": 16, "half": 16, "bfloat16": 16, "int8": 8,
         "uint8": 8, "float8_e4m3fn": 8, "float8_e5m2": 8}  # fmt: skip


@dataclass(frozen=True, slots=True)
class CacheShape:
    """What one sequence keeps.

    Units: elements. `growing` per token, in layers that see every token, keys of an indexer included; `windows` per
    token by the number of tokens that is kept at most; `memory` per token of the encoder (cross-attention, made once);
    `state` and `convolution` per sequence, whatever its length. `expanded` is what `growing` would be if latents were
    kept as whole keys and values.
    """

    growing: int
    windows: Mapping[int, int]
    memory: int
    state: int
    convolution: int
    expanded: int

    @property
    def per_token(self) -> int:
        """Elements that one more token adds while no window is full."""
        return self.growing + sum(self.windows.values())

    def elements(self, num_tokens: int) -> int:
        """Keys and values of a sequence of `num_tokens`.

        Shapes: per layer (num_kv_heads, min(num_tokens, window), head_dim) for keys, v_head_dim for values.
        Raises: ValueError if num_tokens < 0.
        """
        if num_tokens < 0:
            raise ValueError(f"num_tokens must not be negative: {num_tokens}")
        kept = sum(width * min(window, num_tokens) for window, width in self.windows.items())
        return self.growing * num_tokens + kept


def cache_shape(architecture: Architecture) -> CacheShape:
    """What the layers of an architecture keep for one sequence.

    Latent attention keeps kv_lora_rank + qk_rope_head_dim per token; `expanded` counts the whole keys and values that
    transformers caches instead.
    Source: transformers cache_utils.py (DynamicLayer, DynamicSlidingWindowLayer); DeepSeek-V2 (arXiv 2405.04434),
    section 2.1.
    """
    growing = memory = state = convolution = expanded = 0
    windows: Counter[int] = Counter()
    for block, times in _mixers(architecture.parts, 1):
        if isinstance(block, StateMixer):
            state += times * block.state_elements
            convolution += times * block.conv_elements
            continue
        convolution += times * block.conv_elements if isinstance(block, Attention) else 0
        width = times * block.cache_width
        whole = times * block.expanded_cache_width if isinstance(block, LatentAttention) else width
        if not block.causal and not (isinstance(block, Attention) and block.is_cross):
            continue
        if isinstance(block, CompressedAttention) and block.rate and block.local:
            windows[block.local] += width
            entries = times * block.compressed_width // block.rate
            growing, expanded = growing + entries, expanded + entries
            continue
        window = block.window or (block.chunk if isinstance(block, Attention) else None)
        if isinstance(block, Attention) and block.is_cross:
            memory += width
        elif window:
            windows[window] += width
        else:
            index = _index_width(block) * times
            growing += width + index
            expanded += whole + index
    return CacheShape(growing, MappingProxyType(dict(sorted(windows.items()))), memory, state, convolution, expanded)


def _index_width(block: Attention | LatentAttention) -> int:
    """Elements per token that the indexer of a sparse attention keeps, where there is one."""
    found = block.find("indexer")
    return found.cache_width // max(found.pool, 1) if isinstance(found, SparseIndexer) else 0


def _mixers(blocks: tuple[Block, ...], times: int) -> Iterator[tuple[Attention | LatentAttention | StateMixer, int]]:
    for block in blocks:
        if isinstance(block, Attention | LatentAttention | StateMixer):
            yield block, times
        elif isinstance(block, Layer):
            depth = block.passes if block.caches is None else block.caches
            yield from _mixers(block.children(), times * depth)
        elif isinstance(block, Repeating):
            for part, count in block.kinds():
                yield from _mixers((part,), times * count)
        else:
            yield from _mixers(block.children(), times)


def element_bytes(dtype: str) -> int:
    """Size of one cached element of a dtype: caches are not quantised, so at least two bytes; two for an unknown dtype.

    Units: bytes.
    """
    return max(2, _BITS.get(dtype.removeprefix("torch."), 16) // 8)


def weight_bytes(dtype: str) -> int:
    """Size of one weight of a dtype; four for an unknown dtype, as torch's default has.

    Units: bytes.
    """
    return max(1, _BITS.get(dtype.removeprefix("torch."), 32) // 8)


def kv_cache_bytes(architecture: Architecture, *, num_tokens: int, dtype: str) -> int:
    """Size of the key/value cache of one sequence.

    Units: bytes.
    Raises: ValueError if num_tokens < 0.
    """
    return cache_shape(architecture).elements(num_tokens) * element_bytes(dtype)
