"""Stored tensors by name: those that are missing, those that have no place, and next-token-prediction layers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from archscope.diagnostics import Severity
from archscope.rules.base import Context, Fails, Finding, Passes, Rule
from archscope.rules.examples import TENSORS, TINY, TWO_LAYERS
from archscope.rules.stored import grouped, index_place, shown
from archscope.structure import Comparison, Structure

NEXT_TOKEN = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules", "num_mtp_layers")


class MissingTensors(Rule[Structure]):
    """Tensors that the config implies are not stored.

    ## What it checks
    Every tensor of the class in architectures against the names in index and headers, where these are names of this
    architecture.

    ## Why it matters
    What is missing is made at random; the model loads with a warning and writes noise.

    ## How to fix
    Correct the field that asks for them (often num_hidden_layers), or ship the tensors.

    ## References
    transformers modeling_utils.py (missing keys).
    """

    name = "missing-tensors"
    severity = Severity.ERROR
    requires = ("wrong-type", "out-of-range", "head-not-stored", "weights-of-another-architecture", "misshapen-tensors")
    cases = (
        Passes("llama", **TINY, weights=TENSORS),
        Fails(
            "llama",
            **TINY,
            weights={name: tensor for name, tensor in TENSORS.items() if name != "model.norm.weight"},
            at="/architectures",
        ),
        Fails("llama", **{**TINY, "num_hidden_layers": 2}, weights=TENSORS, at="/num_hidden_layers"),
    )

    def check(self, target: Structure, ctx: Context) -> Iterator[Finding]:
        compared, weights = ctx.stored(), ctx.repository.weights
        if compared is None or weights is None or not compared.same_naming or not compared.missing:
            return
        if not ctx.written("architectures"):
            return
        if not weights.weight_map and any(shard.tensors is None for shard in weights.shards.values()):
            return
        groups = grouped(compared.missing)
        layers = _whole_layers(compared)
        if layers:
            yield Finding(
                f"{layers[0]} layers are stored, the config has {layers[1]}",
                ctx.at("num_hidden_layers"),
                related=[index_place(ctx)],
            )
            return
        yield Finding(
            f"{len(compared.missing)} of {len(compared.expected)} tensors are not stored: {shown(groups)}",
            ctx.at("architectures"),
            related=[index_place(ctx)],
        )


def _whole_layers(compared: Comparison) -> tuple[int, int] | None:
    """(stored, expected) numbers of layers, where whole layers at the end are what is missing."""
    stored, expected = _layer_counts(compared.plain), _layer_counts(compared.expected)
    for prefix, count in expected.items():
        if prefix in stored and stored[prefix] != count:
            return stored[prefix], count
    return None


def _layer_counts(names: Mapping[str, object]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name in names:
        parts = name.split(".")
        number = next((i for i, part in enumerate(parts) if part.isdecimal()), None)
        if number is not None and number > 0:
            prefix = ".".join(parts[:number])
            counts[prefix] = max(counts.get(prefix, 0), int(parts[number]) + 1)
    return counts


class UnexpectedTensors(Rule[Structure]):
    """Tensors are stored that the config has no place for.

    ## What it checks
    Stored names that the structure lacks, apart from biases, tied heads, next-token-prediction layers and buffers that
    loading ignores, which other rules speak of or nobody needs to.

    ## Why it matters
    Loading drops them: layers, norms or experts that were trained are not there any more.

    ## How to fix
    Correct the field that should ask for them (often num_hidden_layers), or name the right model type.

    ## References
    transformers modeling_utils.py (unexpected keys).
    """

    name = "unexpected-tensors"
    severity = Severity.WARNING
    requires = (
        "wrong-type",
        "out-of-range",
        "undeclared-bias",
        "stored-tied-head",
        "weights-of-another-architecture",
        "missing-tensors",
        "misshapen-tensors",
    )
    cases = (
        Passes("llama", **TINY, weights=TENSORS),
        Fails(
            "llama",
            **TINY,
            weights={**TENSORS, "model.layers.0.self_attn.q_norm.weight": ("F32", (4,))},
            at="/architectures",
        ),
        Fails("llama", **TINY, weights=TWO_LAYERS, at="/num_hidden_layers"),
    )

    def check(self, target: Structure, ctx: Context) -> Iterator[Finding]:
        compared = ctx.stored()
        if compared is None or not compared.same_naming:
            return
        tied = {name for name, _ in target.ties}
        left = [name for name in compared.unexpected if name not in tied and not _next_token(name, compared)]
        if not left:
            return
        layers = _whole_layers(compared)
        if layers and layers[0] > layers[1]:
            yield Finding(
                f"{layers[0]} layers are stored, the config has {layers[1]}",
                ctx.at("num_hidden_layers"),
                related=[index_place(ctx)],
                severity=Severity.ERROR,
            )
            return
        yield Finding(
            f"{len(left)} stored tensors have no place in the model: {shown(grouped(left))}",
            ctx.at("architectures") if ctx.written("architectures") else ctx.place(""),
            related=[index_place(ctx)],
        )


def _next_token(name: str, compared: Comparison) -> bool:
    """Whether a tensor is of a next-token-prediction layer: by its words, or one layer past the last with such words."""
    words = ("mtp", "eh_proj", "enorm", "hnorm", "shared_head", "nextn")
    if any(word in name for word in words):
        return True
    layer = _layer_prefix(name)
    return layer is not None and any(
        other.startswith(layer) and any(w in other for w in words) for other in compared.unexpected
    )


def _layer_prefix(name: str) -> str | None:
    parts = name.split(".")
    number = next((i for i, part in enumerate(parts) if part.isdecimal()), None)
    return None if number is None else ".".join(parts[: number + 1]) + "."


class UndeclaredNextTokenLayers(Rule[Structure]):
    """Next-token-prediction layers are stored or declared, but not both.

    ## What it checks
    Stored tensors of such layers against num_nextn_predict_layers and its kin.

    ## Why it matters
    transformers builds none either way. Engines that use them for speculative decoding look for tensors that are not there,
    or do not know that there are some.

    ## How to fix
    State as many as are stored.

    ## References
    DeepSeek-V3, arXiv 2412.19437 section 2.2.
    """

    name = "undeclared-next-token-layers"
    severity = Severity.WARNING
    requires = ("missing-tensors",)
    cases = (
        Passes("llama", **TINY, weights=TENSORS),
        Fails(
            "llama",
            **TINY,
            weights={**TENSORS, "mtp.fc.weight": ("F32", (8, 8))},
            at="/num_nextn_predict_layers",
        ),
    )

    def check(self, target: Structure, ctx: Context) -> Iterator[Finding]:
        compared = ctx.stored()
        if compared is None or not compared.same_naming:
            return
        stored = [name for name in compared.unexpected if _next_token(name, compared)]
        declared = [
            (config, name, config.raw[name])
            for config in ctx.root.walk()
            for name in NEXT_TOKEN
            if isinstance(config.raw.get(name), int)
        ]
        wanted = sum(number for _, _, number in declared)
        if stored and not wanted:
            place = ctx.place(f"{declared[0][0].pointer}/{declared[0][1]}" if declared else f"/{NEXT_TOKEN[0]}")
            yield Finding(
                f"{len(stored)} tensors of next-token-prediction layers are stored, but none are declared",
                place,
                related=[index_place(ctx)],
                help="state num_nextn_predict_layers",
            )
        elif wanted and not stored and ctx.repository.weights is not None:
            config, name, number = declared[0]
            yield Finding(
                f"{name} is {number}, but no tensor of such a layer is stored",
                ctx.place(f"{config.pointer}/{name}"),
                related=[index_place(ctx)],
                help=f"{name}: 0, unless the layers come in another file",
            )
