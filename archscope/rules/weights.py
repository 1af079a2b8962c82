"""The stored tensors against the structure that the config implies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from archscope.blocks.assembly import Tower
from archscope.blocks.size import SYMBOLS, symbol_of
from archscope.diagnostics import Place, Severity
from archscope.rules.base import Context, Fails, Finding, Passes, Rule
from archscope.rules.examples import TENSORS, TINY, WITHOUT_HEAD
from archscope.rules.stored import grouped, index_place, shown
from archscope.structure import Comparison, Structure

MOST = 6
"""Groups of tensors that one rule names; more have one cause that the first ones show."""

TOWERS = ("vision_tower", "vision_model", "visual", "audio_tower", "image_encoder", "vit", "multi_modal_projector")


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
            f"{shown(grouped(names))}: {found} stored, {wanted}{of} from the config",
            places[0],
            related=[*places[1:], index_place(ctx)],
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
            f"{len(names)} biases are stored, and the config has none for them: {shown(grouped(names))}",
            places[0],
            related=[*places[1:], index_place(ctx)],
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
                related=[index_place(ctx)],
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
                related=[index_place(ctx)],
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
                related=[index_place(ctx)],
                help="put the config of the composite model back",
            )
