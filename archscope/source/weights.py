"""What a repository says of its weights: the safetensors index and the headers of the shards, never their data.

Source: the safetensors format: eight bytes with the length of the header (little-endian), then the header as JSON, then
the data. Only the first two are read.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from archscope.records import dataclass
from archscope.source.files import open_regular

if TYPE_CHECKING:
    from archscope.source.document import Document

INDEX_NAME = "model.safetensors.index.json"
MAX_HEADER_BYTES = 100 * 1024 * 1024
"""The format's own limit."""
_LFS_MARK = b"version https://git-lfs.github.com/spec/"


class StoredTensor(NamedTuple):
    """A tensor that the files name. shape and dtype (the format's word, "BF16") are None where only the index names it."""

    name: str
    file: str
    shape: tuple[int, ...] | None = None
    dtype: str | None = None


@dataclass(frozen=True, slots=True)
class Shard:
    """One safetensors file.

    Units: size in bytes, as on disk or as its Git LFS pointer says; needed is what header and data come to, data_bytes the
    data alone. tensors is None
    where the header could not be read, and `problem` says why ("" for a pointer, which is no fault).
    """

    file: str
    size: int
    is_pointer: bool = False
    tensors: Mapping[str, StoredTensor] | None = None
    needed: int | None = None
    data_bytes: int | None = None
    problem: str = ""


class Weights:
    """The tensors of a repository, by what its index and its shards say."""

    def __init__(self, folder: str, listing: tuple[str, ...], index: Document | None) -> None:
        self._folder = folder
        self._listing = listing
        self.index = index

    @cached_property
    def weight_map(self) -> Mapping[str, str]:
        """Tensor name to file, as the index says; empty where there is no index."""
        found: Any = self.index.mapping.get("weight_map") if self.index is not None else None
        if not isinstance(found, dict):
            return {}
        return {name: file for name, file in found.items() if isinstance(file, str)}

    @cached_property
    def files(self) -> tuple[str, ...]:
        """Names of the safetensors files in the folder."""
        return tuple(name for name in self._listing if name.endswith(".safetensors"))

    @cached_property
    def shards(self) -> Mapping[str, Shard]:
        """Every safetensors file by name, with its header where that can be read."""
        return {name: read_shard(os.path.join(self._folder, name), name) for name in self.files}

    @cached_property
    def tensors(self) -> Mapping[str, StoredTensor]:
        """Every tensor by name: with shape and dtype from the headers, else as the index names it."""
        found = {name: StoredTensor(name, file) for name, file in self.weight_map.items()}
        for shard in self.shards.values():
            if not self.weight_map or shard.file in self.indexed_files:
                found.update(shard.tensors or {})
        return found

    @cached_property
    def indexed_files(self) -> frozenset[str]:
        """The files that the index names."""
        return frozenset(self.weight_map.values())

    @cached_property
    def has_shapes(self) -> bool:
        """Whether the shape of every tensor is known."""
        return bool(self.tensors) and all(tensor.shape is not None for tensor in self.tensors.values())


def read_shard(path: str, name: str) -> Shard:
    """The header of one safetensors file. A damaged one is a shard with a problem, never an exception."""
    with open_regular(path, name) as file:
        size = os.fstat(file.fileno()).st_size
        start = file.read(8)
        if start == _LFS_MARK[:8]:
            return _pointer(name, start + file.read(1024), size)
        if len(start) < 8:
            return Shard(name, size, problem=f"the file has {size} bytes, less than a header's length")
        (length,) = struct.unpack("<Q", start)
        if length > MAX_HEADER_BYTES or length + 8 > size:
            return Shard(name, size, problem=f"the header would be {length:,} bytes of a file of {size:,}")
        data = file.read(length)
    return _parsed(name, size, data)


def _pointer(name: str, data: bytes, size: int) -> Shard:
    for line in data.decode("ascii", "replace").splitlines():
        key, _, value = line.partition(" ")
        if key == "size" and value.isdecimal() and len(value) < 20:
            return Shard(name, int(value), is_pointer=True)
    return Shard(name, size, is_pointer=True)


def _parsed(name: str, size: int, data: bytes) -> Shard:
    try:
        header = json.loads(data)
    except (ValueError, RecursionError):
        return Shard(name, size, problem="the header is not JSON")
    if not isinstance(header, dict):
        return Shard(name, size, problem="the header is not an object")
    tensors = {}
    end = 0
    for key, entry in header.items():
        if key == "__metadata__":
            continue
        made = _tensor(key, name, entry)
        if made is None:
            return Shard(name, size, problem=f"the header's entry for {key[:100]} is malformed")
        tensors[key] = made[0]
        end = max(end, made[1])
    needed = 8 + len(data) + end
    problem = "" if size >= needed else f"the file has {size:,} bytes; its tensors need {needed:,}"
    return Shard(name, size, tensors=tensors, needed=needed, data_bytes=end, problem=problem)


def _tensor(name: str, file: str, entry: object) -> tuple[StoredTensor, int] | None:
    if not isinstance(entry, dict):
        return None
    shape, dtype, offsets = entry.get("shape"), entry.get("dtype"), entry.get("data_offsets")
    if not (isinstance(shape, list) and all(type(n) is int and n >= 0 for n in shape) and isinstance(dtype, str)):
        return None
    if not (isinstance(offsets, list) and len(offsets) == 2 and all(type(n) is int and n >= 0 for n in offsets)):
        return None
    return StoredTensor(name, file, tuple(shape), dtype), offsets[1]
