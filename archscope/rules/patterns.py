"""Layer patterns in forms of their own: strings, lists of switches, counts of leading dense layers."""

from __future__ import annotations

from collections.abc import Iterator

from archscope.config import Config
from archscope.diagnostics import Severity
from archscope.rules.base import Context, Fails, Finding, Passes, Rule

PATTERNS = ("hybrid_override_pattern", "layers_block_type", "attn_type_list")
"""One entry a layer, as letters or words."""


class PatternLength(Rule[Config]):
    """A layer pattern is longer or shorter than the number of layers.

    ## What it checks
    hybrid_override_pattern (one letter a layer) and lists with one entry a layer, against num_hidden_layers where the file
    says both.

    ## Why it matters
    transformers takes the pattern's length over num_hidden_layers for some types, the number for others; engines differ.

    ## How to fix
    Make them agree; the weights tell how many layers there are.

    ## References
    transformers models/nemotron_h/configuration_nemotron_h.py.
    """

    name = "pattern-length"
    severity = Severity.ERROR
    requires = ("wrong-type", "out-of-range")
    cases = (
        Passes("nemotron_h", num_hidden_layers=4, hybrid_override_pattern="M-M*"),
        Passes("nemotron_h", hybrid_override_pattern="M-M*M"),
        Fails("nemotron_h", num_hidden_layers=4, hybrid_override_pattern="M-M*M", at="/hybrid_override_pattern"),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        written = _count_in_file(target)
        if written is None:
            return
        for name in PATTERNS:
            found = target.raw.get(name)
            if not isinstance(found, str | list) or len(found) in (0, written):
                continue
            if isinstance(found, str) and len(found.replace("|", "").replace("/", "")) == written:
                continue
            yield Finding(
                f"{name} has {len(found)} entries for {written} layers",
                ctx.place(f"{target.pointer}/{name}"),
                related=[ctx.at("num_hidden_layers", "layers")],
            )


def _count_in_file(config: Config) -> int | None:
    """num_hidden_layers as the file has it, under any of its names."""
    schema = config.schema
    names = ["num_hidden_layers"]
    if schema is not None and "num_hidden_layers" in schema.aliases:
        names.append(schema.aliases["num_hidden_layers"])
    found = next((config.raw[name] for name in names if isinstance(config.raw.get(name), int)), None)
    return found if isinstance(found, int) and not isinstance(found, bool) and found > 0 else None


class RopeSwitchList(Rule[Config]):
    """The list that says which layers rotate is empty, or not one entry a layer.

    ## What it checks
    no_rope_layers (1: the layer rotates) against the number of layers.

    ## Why it matters
    An empty list means "every layer rotates" to some readers and "use the default pattern" to transformers; a short one
    fails.

    ## How to fix
    null for the default pattern, else one 0 or 1 for each layer.

    ## References
    transformers models/llama4/configuration_llama4.py; https://github.com/huggingface/transformers/pull/37344
    """

    name = "rope-switch-list"
    severity = Severity.WARNING
    requires = ("wrong-type", "out-of-range")
    cases = (
        Passes("smollm3", num_hidden_layers=4, no_rope_layers=[1, 1, 1, 0]),
        Fails("smollm3", num_hidden_layers=4, no_rope_layers=[], at="/no_rope_layers"),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        found, count = target.raw.get("no_rope_layers"), target.get("num_hidden_layers")
        if not isinstance(found, list) or not isinstance(count, int) or len(found) == count:
            return
        empty = not found
        yield Finding(
            "no_rope_layers is empty: some readers rotate in every layer, others take their default pattern"
            if empty
            else f"no_rope_layers has {len(found)} entries for {count} layers",
            ctx.place(f"{target.pointer}/no_rope_layers"),
            related=[ctx.at("num_hidden_layers", "layers")],
            help="null for the default pattern, else one 0 or 1 for each layer",
            severity=None if empty else Severity.ERROR,
        )


class ConflictingDenseLayers(Rule[Config]):
    """Two fields say which layers are dense, and disagree.

    ## What it checks
    mlp_layer_types against first_k_dense_replace, where the file has both.

    ## Why it matters
    Readers take one or the other: the same layer is a mixture for one and a dense block for the next.

    ## How to fix
    Make them agree: the first first_k_dense_replace entries are "dense".

    ## References
    transformers models/glm4_moe_lite/configuration_glm4_moe_lite.py.
    """

    name = "conflicting-dense-layers"
    severity = Severity.ERROR
    requires = ("layer-types-length", "unknown-layer-type")
    cases = (
        Passes(
            "glm4_moe_lite",
            num_hidden_layers=3,
            first_k_dense_replace=1,
            mlp_layer_types=["dense", "sparse", "sparse"],
        ),
        Fails(
            "glm4_moe_lite",
            num_hidden_layers=3,
            first_k_dense_replace=1,
            mlp_layer_types=["sparse"] * 3,
            at="/mlp_layer_types",
        ),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        types, dense = target.raw.get("mlp_layer_types"), target.raw.get("first_k_dense_replace")
        if not isinstance(types, list) or not isinstance(dense, int) or isinstance(dense, bool):
            return
        for index, word in enumerate(types):
            wanted = "dense" if index < dense else "sparse"
            if word in ("dense", "sparse") and word != wanted:
                yield Finding(
                    f"mlp_layer_types says layer {index} is {word}, first_k_dense_replace {dense} says {wanted}",
                    ctx.place(f"{target.pointer}/mlp_layer_types"),
                    related=[ctx.place(f"{target.pointer}/first_k_dense_replace")],
                    help="make them agree",
                )
                return
