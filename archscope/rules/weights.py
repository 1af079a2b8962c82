"""The stored tensors against the structure that the config implies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from archscope.blocks.assembly import Tower
from archscope.blocks.size import SYMBOLS, symbol_of
from archscope.diagnostics import Place, Severity
from archscope.rules.base import Context, Fails, Finding, Passes, Rule
from archscope.rules.examples import TENSORS, TINY, TWO_LAYERS, WITHOUT_HEAD
from archscope.structure import Comparison, Structure
from archscope.structure.stored import pattern

MOST = 6
"""Groups of tensors that one rule names; more have one cause that the first ones show."""

TOWERS = ("vision_tower", "vision_model", "visual", "audio_tower", "image_encoder", "vit", "multi_modal_projector")
NEXT_TOKEN = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules", "num_mtp_layers")


def _grouped(names: Iterable[str]) -> list[tuple[str, int]]:
    """Names with their numbers as *, and how many there are of each, most frequent first."""
    counts = Counter(pattern(name) for name in names)
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _shown(groups: list[tuple[str, int]]) -> str:
    shown = ", ".join(f"{name} ({count})" if count > 1 else name for name, count in groups[:3])
    return shown if len(groups) <= 3 else f"{shown} and {len(groups) - 3} more kinds"


def _index_place(ctx: Context) -> Place:
    """The index, or the weights file, as a place."""
    weights = ctx.repository.weights
    if weights is not None and weights.index is not None:
        return Place(weights.index.name, "/weight_map")
    folder = ctx.repository.folder or ""
    file = weights.files[0] if weights is not None and weights.files else "model.safetensors"
    return Place(f"{folder}/{file}" if folder else file)


def _written(ctx: Context, names: Iterable[str]) -> list[Place]:
    """Places of the fields among these that the config has, the written ones first."""
    known = [name for name in dict.fromkeys(names) if name in ctx.config]
    return [ctx.at(name) for name in sorted(known, key=lambda name: not ctx.written(name))]


class MisshapenTensors(Rule[Structure]):
    """Stored tensors have other shapes than the config implies.

    ## What it checks
    The shape of every stored tensor in the safetensors headers against the structure's. The dimensions that differ are
    traced back to the field that they come from, and a field is reported once.

    ## Why it matters
    Loading fails with a size mismatch, or (with ignore_mismatched_sizes) leaves random weights.

    ## How to fix
    Correct the field: the message has both numbers. Where every shape is off, this is the config of another size.

    ## References
    transformers modeling_utils.py (_load_state_dict_into_model).
    """

    name = "misshapen-tensors"
    severity = Severity.ERROR
    requires = ("wrong-type", "out-of-range")
    cases = (
        Passes("llama", **TINY, weights=TENSORS),
        Fails(
            "llama",
            **TINY,
            num_key_value_heads=1,
            weights=TENSORS,
            at="/num_key_value_heads",
        ),
        Fails("llama", **{**TINY, "vocab_size": 12}, weights=TENSORS, at="/vocab_size"),
        Fails("llama", **{**TINY, "intermediate_size": 24}, weights=TENSORS, at="/intermediate_size"),
    )

    def check(self, target: Structure, ctx: Context) -> Iterator[Finding]:
        compared = ctx.stored()
        if compared is None:
            return
        causes: dict[tuple[str, int, int], list[str]] = {}
        for name in compared.misshapen:
            stored = compared.stored[name].shape or ()
            for cause in _causes(compared.expected[name].shape, stored):
                causes.setdefault(cause, []).append(name)
        blamed: set[str] = set()
        for (symbol, wanted, found), names in sorted(causes.items(), key=lambda item: (-len(item[1]), item[0])):
            fields = _fields(symbol, target, ctx, names[0])
            if blamed & set(fields[:1]) or len(blamed) >= MOST:
                continue
            blamed.update(fields[:1])
            yield self._finding(target, ctx, symbol, wanted, found, names, fields)

    def _finding(
        self,
        target: Structure,
        ctx: Context,
        symbol: str,
        wanted: int,
        found: int,
        names: list[str],
        fields: list[str],
    ) -> Finding:
        placed = target.find(names[0].rpartition(".")[0])
        config = ctx.root if placed is None else ctx.root.at(placed.pointer)
        here = Context(ctx.repository, ctx.document, ctx.root, config, ctx.structure, ctx.options)
        places = _written(here, fields) or [ctx.place(config.pointer)]
        of = f" = {symbol}" if symbol != str(wanted) else ""
        return Finding(
            f"{_shown(_grouped(names))}: {found} stored, {wanted}{of} from the config",
            places[0],
            related=[*places[1:], _index_place(ctx)],
        )


def _causes(expected: tuple[int, ...], stored: tuple[int, ...]) -> Iterator[tuple[str, int, int]]:
    """(symbol, wanted, found) of each dimension that differs."""
    if len(expected) != len(stored):
        yield "number of dimensions", len(expected), len(stored)
        return
    for wanted, found in zip(expected, stored, strict=True):
        if int(wanted) != found:
            yield symbol_of(wanted), int(wanted), found


FIELD_OF = {symbol: field for field, symbol in SYMBOLS.items()}


def _fields(symbol: str, structure: Structure, ctx: Context, name: str) -> list[str]:
    """The fields behind a symbolic dimension, the most telling first; else those of the block that owns the tensor."""
    pieces = symbol.replace("(", " ").replace(")", " ").replace("·", " ").replace("+", " ").replace("/", " ").split()
    fields = [FIELD_OF[piece] for piece in pieces if piece in FIELD_OF]
    placed = structure.find(name.rpartition(".")[0])
    if placed is not None and not fields:
        for block in (placed.block, *reversed(placed.trail)):
            fields += block.fields
            if fields:
                break
    config = ctx.root if placed is None else ctx.root.at(placed.pointer)
    return [field for field in dict.fromkeys(fields) if field in config]


class UndeclaredBias(Rule[Structure]):
    """Biases are stored that the config does not switch on.

    ## What it checks
    Stored biases of modules that the structure has without one.

    ## Why it matters
    Loading drops them with a warning that few read: the model computes something else.

    ## How to fix
    Switch the bias on (attention_bias, mlp_bias), or name the model type whose layers have it.

    ## References
    transformers models/llama/configuration_llama.py (attention_bias, mlp_bias).
    """

    name = "undeclared-bias"
    severity = Severity.ERROR
    requires = ("wrong-type", "misshapen-tensors")
    cases = (
        Passes("llama", **TINY, weights=TENSORS),
        Fails(
            "llama",
            **TINY,
            attention_bias=False,
            weights={**TENSORS, "model.layers.0.self_attn.q_proj.bias": ("F32", (8,))},
            at="/attention_bias",
        ),
    )

    def check(self, target: Structure, ctx: Context) -> Iterator[Finding]:
        compared = ctx.stored()
        if compared is None or not compared.same_naming:
            return
        names = _biases(compared)
        if not names:
            return
        flags = [name for name in FLAGS if name in ctx.root]
        of = "attention" if any("attn" in name or "attention" in name for name in names) else "mlp"
        flags.sort(key=lambda name: of not in name)
        places = [ctx.at(name) for name in flags if ctx.root.get(name) is False] or [ctx.place("")]
        yield Finding(
            f"{len(names)} biases are stored, and the config has none for them: {_shown(_grouped(names))}",
            places[0],
            related=[*places[1:], _index_place(ctx)],
            help="switch the bias on, or name the model type whose layers have one",
        )


FLAGS = ("attention_bias", "mlp_bias", "use_bias", "qkv_bias", "bias", "use_qkv_bias", "attention_out_bias")


def _biases(compared: Comparison) -> list[str]:
    return [n for n in compared.unexpected if n.endswith(".bias") and f"{n[:-5]}.weight" in compared.expected]


class HeadNotStored(Rule[Structure]):
    """The head has weights of its own by the config, but none are stored.

    ## What it checks
    tie_word_embeddings false, token table stored, no tensor for the head.

    ## Why it matters
    The head is made at random: the model loads with a warning and writes noise.

    ## How to fix
    tie_word_embeddings true where the head is the token table, else ship the head.

    ## References
    transformers modeling_utils.py (tie_weights).
    """

    name = "head-not-stored"
    severity = Severity.ERROR
    cases = (
        Passes("llama", **TINY, tie_word_embeddings=True, weights=WITHOUT_HEAD),
        Fails("llama", **TINY, tie_word_embeddings=False, weights=WITHOUT_HEAD, at="/tie_word_embeddings"),
    )

    def check(self, target: Structure, ctx: Context) -> Iterator[Finding]:
        compared = ctx.stored()
        if compared is None or not compared.same_naming or ctx.root.get("tie_word_embeddings"):
            return
        heads = [name for name in compared.missing if name.rpartition(".")[0].rsplit(".", 1)[-1] in HEADS]
        if heads:
            yield Finding(
                f"tie_word_embeddings is false, but {heads[0]} is not stored",
                ctx.at("tie_word_embeddings"),
                related=[_index_place(ctx)],
                help="tie_word_embeddings: true if the head is the token table, else ship the head",
            )


HEADS = ("lm_head", "embed_out", "output_layer", "output")


class StoredTiedHead(Rule[Structure]):
    """A head is stored that the config ties to the token table.

    ## What it checks
    tie_word_embeddings true beside a stored head.

    ## Why it matters
    transformers ignores the stored head. Readers that load it are right only if the two are equal.

    ## How to fix
    Drop the tensor if it equals the table, else tie_word_embeddings false.

    ## References
    https://github.com/huggingface/transformers/pull/46456
    """

    name = "stored-tied-head"
    severity = Severity.INFO
    cases = (
        Passes("llama", **TINY, tie_word_embeddings=False, weights=TENSORS),
        Fails("llama", **TINY, tie_word_embeddings=True, weights=TENSORS, at="/tie_word_embeddings"),
    )

    def check(self, target: Structure, ctx: Context) -> Iterator[Finding]:
        compared = ctx.stored()
        if compared is None or not compared.same_naming:
            return
        for name in _tied_heads(target, compared):
            yield Finding(
                f"{name} is stored, though the head is tied to the token table",
                ctx.at("tie_word_embeddings"),
                related=[_index_place(ctx)],
                help="drop the tensor if it equals the table, else tie_word_embeddings: false",
            )
            return


def _tied_heads(structure: Structure, compared: Comparison) -> list[str]:
    tied = {name for name, _ in structure.ties}
    return [n for n in compared.unexpected if n in tied and n.rpartition(".")[0].rsplit(".", 1)[-1] in HEADS]


class WeightsOfAnotherArchitecture(Rule[Structure]):
    """The stored tensors include a tower that the config does not describe.

    ## What it checks
    Vision or audio towers among the stored names, where the structure has none.

    ## Why it matters
    The config of the text part was saved over that of the whole: the towers are dropped, and the text's names do not fit.

    ## How to fix
    Put the config of the composite model back (text_config, vision_config).

    ## References
    transformers models/gemma3/configuration_gemma3.py.
    """

    name = "weights-of-another-architecture"
    severity = Severity.ERROR
    cases = (
        Passes("llama", **TINY, weights=TENSORS),
        Fails(
            "llama",
            **TINY,
            weights={
                "language_model.model.embed_tokens.weight": ("F32", (10, 8)),
                "vision_tower.patch_embed.weight": ("F32", (8, 8)),
            },
            at="/architectures",
        ),
    )

    def check(self, target: Structure, ctx: Context) -> Iterator[Finding]:
        weights = ctx.repository.weights
        if weights is None or any(isinstance(at.block, Tower) and not at.block.is_main for at in target.of_type(Tower)):
            return
        if target.opaque or len(ctx.root.subs) > 1:
            return
        towers = {tower: name for name in weights.tensors for tower in TOWERS if f".{tower}." in f".{name}"}
        if towers:
            yield Finding(
                f"tensors of {', '.join(sorted(towers))} are stored, but the config describes a text model only",
                ctx.at("architectures") if ctx.written("architectures") else ctx.place(""),
                related=[_index_place(ctx)],
                help="put the config of the composite model back",
            )


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
        groups = _grouped(compared.missing)
        layers = _whole_layers(compared)
        if layers:
            yield Finding(
                f"{layers[0]} layers are stored, the config has {layers[1]}",
                ctx.at("num_hidden_layers"),
                related=[_index_place(ctx)],
            )
            return
        yield Finding(
            f"{len(compared.missing)} of {len(compared.expected)} tensors are not stored: {_shown(groups)}",
            ctx.at("architectures"),
            related=[_index_place(ctx)],
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
                related=[_index_place(ctx)],
                severity=Severity.ERROR,
            )
            return
        yield Finding(
            f"{len(left)} stored tensors have no place in the model: {_shown(_grouped(left))}",
            ctx.at("architectures") if ctx.written("architectures") else ctx.place(""),
            related=[_index_place(ctx)],
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
                related=[_index_place(ctx)],
                help="state num_nextn_predict_layers",
            )
        elif wanted and not stored and ctx.repository.weights is not None:
            config, name, number = declared[0]
            yield Finding(
                f"{name} is {number}, but no tensor of such a layer is stored",
                ctx.place(f"{config.pointer}/{name}"),
                related=[_index_place(ctx)],
                help=f"{name}: 0, unless the layers come in another file",
            )
