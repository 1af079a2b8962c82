"""The data type of the model: its name, its two keys, and the stored tensors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import prod

from archscope.config import Config
from archscope.config.quantization import quantization
from archscope.diagnostics import Severity
from archscope.rules.base import Context, Fails, Finding, Passes, Rule

HALVES = ("BF16", "F16")
NEARLY_ALL = 0.98
"""The share of all stored numbers that makes a data type that of the model."""

WORDS = {"BF16": "bfloat16", "F16": "float16", "F32": "float32"}
"""Floating types of safetensors headers, and their names in a config."""

TORCH_DTYPES = frozenset(
    "float float16 float32 float64 double half bfloat16 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz "
    "float8_e8m0fnu float4_e2m1fn_x2 complex32 complex64 complex128 cfloat cdouble chalf int int1 int2 int3 int4 int5 int6 "
    "int7 int8 int16 int32 int64 short long uint1 uint2 uint3 uint4 uint5 uint6 uint7 uint8 uint16 uint32 uint64 bool qint8 "
    "qint32 quint8 quint2x4 quint4x2 bit bits8 bits16 bits1x8 bits2x4 bits4x2".split()
)
"""Data types that are attributes of the module torch (torch 2.13)."""

MEANT = {
    "bf16": "bfloat16",
    "fp16": "float16",
    "f16": "float16",
    "fp32": "float32",
    "f32": "float32",
    "fp64": "float64",
}


class UnknownDtype(Rule[Config]):
    """The data type has a name that torch does not know.

    ## What it checks
    dtype and torch_dtype of known types, where they are text.

    ## Why it matters
    transformers looks the name up in the module torch as it reads the config: `bf16` or `torch.bfloat16` end in an
    AttributeError.

    ## How to fix
    Use torch's name without its module: "bfloat16", "float16" or "float32".

    ## References
    transformers configuration_utils.py (PreTrainedConfig.__post_init__).
    """

    name = "unknown-dtype"
    severity = Severity.ERROR
    cases = (
        Passes("llama", dtype="bfloat16"),
        Passes("llama", torch_dtype="half"),
        Passes("llama", dtype=None),
        Fails("llama", dtype="bf16", at="/dtype"),
        Fails("llama", torch_dtype="torch.bfloat16", at="/torch_dtype"),
        Fails("gemma3", text_config={"dtype": "auto"}, at="/text_config/dtype"),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        if target.schema is None:
            return
        key = "dtype" if target.raw.get("dtype") is not None else "torch_dtype"
        said = target.raw.get(key)
        if isinstance(said, str) and said not in TORCH_DTYPES:
            word = said.removeprefix("torch.").lower()
            meant = MEANT.get(word, word if word in TORCH_DTYPES else "")
            yield Finding(
                f"torch has no data type {said[:40]!r}",
                ctx.place(f"{target.pointer}/{key}"),
                help=f'write "{meant}"' if meant else "bfloat16, float16 and float32 are the usual ones",
            )


class ConflictingDtype(Rule[Config]):
    """The two names of the data type disagree.

    ## What it checks
    torch_dtype against dtype, null included.

    ## Why it matters
    transformers 5 takes dtype, older readers torch_dtype: with null they fall back to float32, twice the memory.

    ## How to fix
    Make them equal, or delete torch_dtype.

    ## References
    transformers configuration_utils.py (PreTrainedConfig.__post_init__).
    """

    name = "conflicting-dtype"
    severity = Severity.WARNING
    cases = (
        Passes("llama", dtype="bfloat16", torch_dtype="bfloat16"),
        Passes("llama", torch_dtype="bfloat16"),
        Fails("llama", dtype="bfloat16", torch_dtype=None, at="/torch_dtype"),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        if "dtype" not in target.raw or "torch_dtype" not in target.raw:
            return
        new, old = target.raw["dtype"], target.raw["torch_dtype"]
        if new != old and new is not None:
            yield Finding(
                f"torch_dtype is {'null' if old is None else repr(old)[:40]} and dtype is {new!r:.40}",
                ctx.place(f"{target.pointer}/torch_dtype"),
                related=[ctx.place(f"{target.pointer}/dtype", "transformers 5 takes this one")],
                help="make them equal, or delete torch_dtype",
            )


class DtypeAgainstWeights(Rule[Config]):
    """The data type of the config is not that of the stored tensors.

    ## What it checks
    dtype (or torch_dtype) against the headers, where nearly all numbers have one floating type (routers and norms are
    often kept in another); and half-precision tensors beside a config that names no type. Quantised weights are left alone.

    ## Why it matters
    Readers that go by the config load in twice the memory, or in less precision than stored.

    ## How to fix
    Write the type of the weights.

    ## References
    transformers modeling_utils.py (dtype="auto").
    """

    name = "dtype-against-weights"
    severity = Severity.WARNING
    cases = (
        Passes("llama", torch_dtype="bfloat16", weights={"a": ("BF16", (2,))}),
        Fails("llama", torch_dtype="float32", weights={"a": ("BF16", (2,))}, at="/torch_dtype"),
        Fails("llama", weights={"a": ("BF16", (2,))}, at="/dtype"),
        Passes("llama", torch_dtype="float32", weights={"a": ("BF16", (2,)), "b": ("F32", (2,))}),
        Fails(
            "llama",
            torch_dtype="float32",
            weights={"a": ("BF16", (200,)), "b": ("F32", (1,)), "c": ("I64", (1,))},
            at="/torch_dtype",
        ),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        weights = ctx.repository.weights
        if target.pointer or weights is None or quantization(target) is not None:
            return
        numbers: Counter[str] = Counter()
        for tensor in weights.tensors.values():
            numbers[tensor.dtype or ""] += prod(tensor.shape or ())
        if not numbers or not weights.has_shapes:
            return
        stored, most = numbers.most_common(1)[0]
        if most < NEARLY_ALL * numbers.total():
            return
        amount = "all" if len(numbers) == 1 else "nearly all"
        word, said = WORDS.get(stored), target.get("dtype")
        if word is None or said == word:
            return
        if said is None or not ctx.written("dtype"):
            if stored in HALVES and not _any_dtype(target):
                yield Finding(
                    f"{amount} of {len(weights.tensors)} tensors are {word}, but the config names no data type",
                    ctx.place("/dtype"),
                    help=f'write "dtype": "{word}"; readers fall back to float32 without it',
                )
        elif isinstance(said, str) and said in WORDS.values():
            yield Finding(
                f"the config says {said}, but {amount} of {len(weights.tensors)} tensors are {word}",
                ctx.at("dtype"),
                help=f"write {word}",
            )


def _any_dtype(config: Config) -> bool:
    """Whether any part of the config names a data type."""
    return any(one.raw.get("dtype") or one.raw.get("torch_dtype") for one in config.walk())
