"""Weight files: what the index names, what is in the folder, what the headers say."""

from __future__ import annotations

import json
from collections.abc import Iterator

from archscope.diagnostics import Place, Severity
from archscope.rules.base import Context, Fails, Finding, Passes, Rule
from archscope.source import Document

INDEX = "model.safetensors.index.json"


def _index(*entries: tuple[str, str], size: int | None = None) -> str:
    """The text of an index, for examples."""
    metadata = {} if size is None else {"total_size": size}
    return json.dumps({"metadata": metadata, "weight_map": dict(entries)})


def _file(ctx: Context, name: str) -> Place:
    folder = ctx.repository.folder
    return Place(f"{folder}/{name}" if folder else name)


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


class MissingShards(Rule[Document]):
    """The index names weight files that are not in the folder.

    ## What it checks
    The files of the index against the folder, where at least one of them is there (a folder without any weights is a copy of
    the small files).

    ## Why it matters
    Loading fails at the first tensor of a missing file.

    ## How to fix
    Upload the files, or write the index anew.

    ## References
    transformers utils/hub.py (get_checkpoint_shard_files).
    """

    name = "missing-shards"
    severity = Severity.ERROR
    cases = (
        Passes("llama", files={INDEX: _index(("a", "m1.safetensors")), "m1.safetensors": "x" * 9}),
        Fails(
            "llama",
            files={INDEX: _index(("a", "m1.safetensors"), ("b", "m2.safetensors")), "m1.safetensors": "x" * 9},
            at="/weight_map/b",
            also=("damaged-shard",),
        ),
    )

    def check(self, target: Document, ctx: Context) -> Iterator[Finding]:
        weights = ctx.repository.weights
        if weights is None or weights.index is None:
            return
        present = set(ctx.repository.listing)
        missing = sorted(weights.indexed_files - present)
        if not missing or not weights.indexed_files & present:
            return
        first = next(name for name, file in weights.weight_map.items() if file == missing[0])
        shown = ", ".join(missing[:3]) + (f" and {len(missing) - 3} more" if len(missing) > 3 else "")
        yield Finding(
            f"{len(missing)} of {len(weights.indexed_files)} weight files are not in the folder: {shown}",
            weights.index.place(("weight_map", first)),
        )


class PhantomTensor(Rule[Document]):
    """The index maps a tensor to a file that does not hold it.

    ## What it checks
    Every entry of the index against the header of its file, where that can be read.

    ## Why it matters
    Loaders that go by the index fail on the name; others never see the tensor.

    ## How to fix
    Drop the entry, or ship the tensor.

    ## References
    safetensors format; transformers modeling_utils.py.
    """

    name = "phantom-tensor"
    severity = Severity.ERROR
    cases = (
        Passes("llama", weights={"a": ("F32", (1,))}, files={INDEX: _index(("a", "model.safetensors"))}),
        Fails(
            "llama",
            weights={"a": ("F32", (1,))},
            files={INDEX: _index(("a", "model.safetensors"), ("b", "model.safetensors"))},
            at="/weight_map/b",
        ),
    )

    def check(self, target: Document, ctx: Context) -> Iterator[Finding]:
        weights = ctx.repository.weights
        if weights is None or weights.index is None:
            return
        phantoms = []
        for name, file in weights.weight_map.items():
            shard = weights.shards.get(file)
            if shard is not None and shard.tensors is not None and name not in shard.tensors:
                phantoms.append((name, file))
        if phantoms:
            name, file = phantoms[0]
            more = f" (and {len(phantoms) - 1} more)" if len(phantoms) > 1 else ""
            yield Finding(
                f"the index maps {name[:120]} to {file}, which does not hold it{more}",
                weights.index.place(("weight_map", name)),
                related=[_file(ctx, file)],
                help="drop the entry, or ship the tensor",
            )


class StrayWeightFile(Rule[Document]):
    """A weight file lies in the folder that the index does not name.

    ## What it checks
    Safetensors files beside an index that names others. Files of another form of the same weights (consolidated*, adapters)
    are left alone.

    ## Why it matters
    Loaders that take every file read the tensors twice, or an older copy.

    ## How to fix
    Remove the file, or add it to the index.

    ## References
    vllm model_executor/model_loader/weight_utils.py (filter_duplicate_safetensors_files).
    """

    name = "stray-weight-file"
    severity = Severity.WARNING
    cases = (
        Passes("llama", weights={"a": ("F32", (1,))}, files={INDEX: _index(("a", "model.safetensors"))}),
        Fails(
            "llama",
            weights={"a": ("F32", (1,))},
            files={INDEX: _index(("a", "model-00001-of-00001.safetensors"))},
            at="",
        ),
    )

    def check(self, target: Document, ctx: Context) -> Iterator[Finding]:
        weights = ctx.repository.weights
        if weights is None or weights.index is None or not weights.weight_map:
            return
        for name in weights.files:
            if name not in weights.indexed_files and not name.startswith(("consolidated", "adapter", "mtp", "spark")):
                yield Finding(
                    f"{name} is not in the index, whose {len(weights.indexed_files)} files hold the model",
                    _file(ctx, name),
                    related=[Place(weights.index.name, "/weight_map")],
                    help="remove the file, or add it to the index",
                )


class DamagedShard(Rule[Document]):
    """A safetensors file cannot be what it should be.

    ## What it checks
    The header of each file (its length, its JSON, its entries) and the size of the file against what its tensors need. The
    data are never read; Git LFS pointers are recognised.

    ## Why it matters
    A truncated download or upload fails to load, or loads zeros.

    ## How to fix
    Upload or download the file again.

    ## References
    safetensors format.
    """

    name = "damaged-shard"
    severity = Severity.ERROR
    cases = (
        Passes("llama", weights={"a": ("F32", (1,))}),
        Fails("llama", files={"model.safetensors": "\x10\x00\x00\x00\x00\x00\x00\x00{"}, at=""),
    )

    def check(self, target: Document, ctx: Context) -> Iterator[Finding]:
        weights = ctx.repository.weights
        for shard in weights.shards.values() if weights is not None else ():
            if shard.problem:
                yield Finding(f"{shard.file}: {shard.problem}", _file(ctx, shard.file), help="upload the file again")


class IndexTotalSize(Rule[Document]):
    """The index states another total size than its files hold.

    ## What it checks
    metadata.total_size of the index against the sum over the tensors of all headers, where every header can be read.

    ## Why it matters
    Tools plan memory and downloads by it; a wrong sum is the sign of an index that was not written for these files.

    ## How to fix
    Write the index anew.

    ## References
    huggingface_hub serialization (split_torch_state_dict_into_shards).
    """

    name = "index-total-size"
    severity = Severity.WARNING
    requires = ("missing-shards", "phantom-tensor", "damaged-shard", "stray-weight-file")
    cases = (
        Passes("llama", weights={"a": ("F32", (2,))}, files={INDEX: _index(("a", "model.safetensors"), size=8)}),
        Fails(
            "llama",
            weights={"a": ("F32", (2,))},
            files={INDEX: _index(("a", "model.safetensors"), size=80)},
            at="/metadata/total_size",
        ),
    )

    def check(self, target: Document, ctx: Context) -> Iterator[Finding]:
        weights = ctx.repository.weights
        metadata = weights.index.mapping.get("metadata") if weights is not None and weights.index is not None else None
        stated = metadata.get("total_size") if isinstance(metadata, dict) else None
        if weights is None or weights.index is None or not isinstance(stated, int) or not weights.shards:
            return
        shards = [weights.shards.get(file) for file in weights.indexed_files]
        if any(shard is None or shard.data_bytes is None for shard in shards):
            return
        held = sum(shard.data_bytes or 0 for shard in shards if shard is not None)
        if stated not in (held, 0) and abs(stated - held) > held // 100:
            yield Finding(
                f"total_size is {stated:,} bytes; the headers add up to {held:,}",
                weights.index.place(("metadata", "total_size")),
            )
