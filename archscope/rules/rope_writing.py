"""How rotary embeddings are written: old names, two places, what a reader of another age sees."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from archscope.config import Config
from archscope.diagnostics import Edit, Fix, Severity
from archscope.rules.base import Context, Fails, Finding, Options, Passes, Rule
from archscope.rules.targets import parse_version, reads_version_4
from archscope.source import path_of

BLOCKS = ("rope_scaling", "rope_parameters")


def _blocks(config: Config) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object of rotary parameters in the file with its pointer: flat ones, and those by layer type."""
    for name in BLOCKS:
        found = config.raw.get(name)
        if not isinstance(found, dict):
            continue
        pointer = f"{config.pointer}/{name}"
        nested = {key: value for key, value in found.items() if isinstance(value, dict)}
        if nested and not {"rope_type", "type", "factor", "rope_theta"} & set(found):
            for key, value in nested.items():
                yield f"{pointer}/{key}", value
        else:
            yield pointer, found


class LegacyRopeTypeKey(Rule[Config]):
    """The type of rotary scaling is written under its old key only.

    ## What it checks
    `type` without `rope_type` in rope_scaling or rope_parameters.

    ## Why it matters
    transformers renamed the key in 4.43. Readers since then take both, but the first releases of the new key did not, and
    tools written since may read the new one only.

    ## How to fix
    Write rope_type; keep type beside it where readers older than 4.43 matter.

    ## References
    https://github.com/huggingface/transformers/issues/32167
    """

    name = "legacy-rope-type-key"
    severity = Severity.INFO
    cases = (
        Passes("llama", rope_scaling={"rope_type": "linear", "factor": 2.0}),
        Fails("llama", rope_scaling={"type": "linear", "factor": 2.0}, at="/rope_scaling/type"),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        for pointer, block in _blocks(target):
            if "rope_type" in block or not isinstance(block.get("type"), str) or block["type"] in RETIRED:
                continue
            span = ctx.document.key_span(path_of(f"{pointer}/type"))
            edits = (Edit(ctx.document.name, span.start, span.end, '"rope_type"'),) if span else ()
            yield Finding(
                "the type of rotary scaling is written as `type` only, its name before transformers 4.43",
                ctx.place(f"{pointer}/type", key=True),
                related=[ctx.place(f"{pointer}/rope_type", "rope_type is not there")],
                help="write rope_type (and keep type beside it if older readers matter)",
                fixes=(Fix("rename type to rope_type", edits, safe=True),) if edits else (),
            )


RETIRED = {"su": "longrope"}


class RetiredRopeType(Rule[Config]):
    """The type of rotary scaling has a name that is no longer used.

    ## What it checks
    The type "su", which became "longrope".

    ## Why it matters
    transformers still renames it for some types; transformers 5 fails on it where the pre-extension window stands at the top
    level, and other readers do not know it.

    ## How to fix
    Write longrope with the same lists.

    ## References
    transformers 4.43 release notes; transformers models/phi3/configuration_phi3.py.
    """

    name = "retired-rope-type"
    severity = Severity.WARNING
    cases = (
        Passes(
            "phi3",
            original_max_position_embeddings=4096,
            rope_scaling={"type": "longrope", "short_factor": [1.0] * 48, "long_factor": [1.0] * 48},
        ),
        Fails(
            "phi3",
            original_max_position_embeddings=4096,
            rope_scaling={"type": "su", "short_factor": [1.0] * 48, "long_factor": [1.0] * 48},
            at="/rope_scaling/type",
        ),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        for pointer, block in _blocks(target):
            for key in ("type", "rope_type"):
                old = block.get(key)
                if isinstance(old, str) and old in RETIRED:
                    span = ctx.document.value_span(path_of(f"{pointer}/{key}"))
                    edits = (Edit(ctx.document.name, span.start, span.end, f'"{RETIRED[old]}"'),) if span else ()
                    yield Finding(
                        f"rotary scaling of type {old!r} is now called {RETIRED[old]!r}",
                        ctx.place(f"{pointer}/{key}"),
                        help=f"write {RETIRED[old]}, with the same numbers",
                        fixes=(Fix(f"write {RETIRED[old]}", edits, safe=True),) if edits else (),
                    )


class ConflictingRope(Rule[Config]):
    """Two places of the file state the rotary embedding, and disagree.

    ## What it checks
    rope_theta at the top level against rope_theta inside rope_parameters or rope_scaling; rope_type against type in one
    object; rope_scaling against rope_parameters where both are there.

    ## Why it matters
    transformers 5 takes the inner base and rope_scaling without a word, older readers and engines the outer base: one file,
    two models.

    ## How to fix
    Keep one value.

    ## References
    transformers modeling_rope_utils.py (RotaryEmbeddingConfigMixin.convert_rope_params_to_dict).
    """

    name = "conflicting-rope"
    severity = Severity.ERROR
    cases = (
        Passes("llama", rope_theta=5e5, rope_parameters={"rope_type": "default", "rope_theta": 5e5}),
        Fails("llama", rope_theta=1e4, rope_parameters={"rope_type": "default", "rope_theta": 5e5}, at="/rope_theta"),
        Fails(
            "llama",
            rope_scaling={"type": "linear", "rope_type": "dynamic", "factor": 2.0},
            at="/rope_scaling/rope_type",
        ),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        blocks = list(_blocks(target))
        outer = target.raw.get("rope_theta")
        inner = [(pointer, block["rope_theta"]) for pointer, block in blocks if "rope_theta" in block]
        if outer is not None and inner and all(value != outer for _, value in inner):
            pointer, value = inner[0]
            yield Finding(
                f"rope_theta is {outer!r:.40} at the top and {value!r:.40} in {pointer.rsplit('/', 1)[-1]}",
                ctx.place(f"{target.pointer}/rope_theta"),
                related=[ctx.place(f"{at}/rope_theta", "transformers 5 takes this one") for at, _ in inner],
                help="keep one value",
            )
        for pointer, block in blocks:
            new, old = block.get("rope_type"), block.get("type")
            if isinstance(new, str) and isinstance(old, str) and new != old and not _same_type(new, old):
                yield Finding(
                    f"rope_type is {new!r:.40} and type is {old!r:.40}",
                    ctx.place(f"{pointer}/rope_type"),
                    related=[ctx.place(f"{pointer}/type", "older readers take this one")],
                    help="keep one value",
                )


def _same_type(new: str, old: str) -> bool:
    """Whether the two words mean one type: mrope is the default type with sections, su is longrope."""
    return RETIRED.get(old) == new or {new, old} <= {"default", "mrope"} or {new, old} <= {"dynamic", "xdrope"}


class HiddenMrope(Rule[Config]):
    """Multimodal sections are there, but both type keys say default.

    ## What it checks
    mrope_section in an object whose rope_type and type are both "default" (written so by transformers 4.49 to 4.52).

    ## Why it matters
    transformers finds the sections by their key. Engines that look for the type "mrope" use plain positions instead.

    ## How to fix
    Write type: mrope beside rope_type: default.

    ## References
    vllm model_executor/layers/rotary_embedding; transformers models/qwen2_vl/configuration_qwen2_vl.py.
    """

    name = "hidden-mrope"
    severity = Severity.INFO
    cases = (
        Passes("qwen2_vl", text_config={"rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]}}),
        Fails(
            "qwen2_vl",
            text_config={"rope_scaling": {"type": "default", "rope_type": "default", "mrope_section": [16, 24, 24]}},
            at="/text_config/rope_scaling/type",
        ),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        for pointer, block in _blocks(target):
            if "mrope_section" in block and block.get("type") == "default" and block.get("rope_type") == "default":
                yield Finding(
                    "mrope_section is there, but type and rope_type both say default",
                    ctx.place(f"{pointer}/type"),
                    related=[ctx.place(f"{pointer}/mrope_section")],
                    help="write type: mrope, which other readers look for",
                )


INTRODUCED = {"llama3": (4, 43, 0)}
"""The first transformers release that has a rope type. Source: its release notes."""


class RopeTypeNewerThanWriter(Rule[Config]):
    """The file says that an older transformers wrote it than the one that first had its rope type.

    ## What it checks
    transformers_version against the first release with the rope type.

    ## Why it matters
    Whoever installs the version that the file names cannot read it: "rope_scaling must be a dictionary with two fields".

    ## How to fix
    Record the version that can read the file; do not cut the scaling down to what the old one takes.

    ## References
    https://github.com/huggingface/transformers/releases/tag/v4.43.0
    """

    name = "rope-type-newer-than-writer"
    severity = Severity.INFO
    cases = (
        Passes(
            "llama",
            transformers_version="4.43.0",
            rope_scaling={
                "rope_type": "llama3",
                "factor": 8.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                "original_max_position_embeddings": 512,
            },
        ),
        Fails(
            "llama",
            transformers_version="4.42.3",
            rope_scaling={
                "rope_type": "llama3",
                "factor": 8.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                "original_max_position_embeddings": 512,
            },
            at="/transformers_version",
        ),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        version = parse_version(ctx.root.raw.get("transformers_version"))
        if version is None or target.schema is None:
            return
        for pointer, block in _blocks(target):
            name = block.get("rope_type", block.get("type"))
            first = INTRODUCED.get(name) if isinstance(name, str) else None
            if first is not None and version < first:
                wanted = ".".join(map(str, first))
                yield Finding(
                    f"rope type {name} needs transformers >= {wanted}, but the file names "
                    f"{ctx.root.raw['transformers_version']!r:.40}",
                    ctx.place("/transformers_version"),
                    related=[ctx.place(pointer)],
                    help=f"record the version that can read the file, at least {wanted}",
                )


class RopeParametersForOldReader(Rule[Config]):
    """Only rope_parameters states the rotary embedding, and a reader from before transformers 5 is a target.

    ## What it checks
    With --targets naming transformers before 5: rope_parameters without rope_theta at the top level.

    ## Why it matters
    Such a reader does not know rope_parameters: it takes its default base of 10000 and no scaling, and the model talks
    nonsense without an error.

    ## How to fix
    Write rope_theta and rope_scaling beside rope_parameters.

    ## References
    transformers 5 migration guide.
    """

    name = "rope-parameters-for-old-reader"
    severity = Severity.WARNING
    cases = (
        Passes("llama", rope_parameters={"rope_type": "default", "rope_theta": 5e5}),
        Passes("llama", rope_theta=5e5, options=Options(targets=("transformers<5",))),
        Fails(
            "llama",
            rope_parameters={"rope_type": "default", "rope_theta": 5e5},
            options=Options(targets=("transformers<5",)),
            at="/rope_parameters",
        ),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        found = target.raw.get("rope_parameters")
        if not reads_version_4(ctx) or not isinstance(found, dict) or "rope_theta" in target.raw:
            return
        yield Finding(
            "rotary parameters are in rope_parameters only, which readers before transformers 5 do not know",
            ctx.place(f"{target.pointer}/rope_parameters", key=True),
            help="write rope_theta (and rope_scaling) beside it",
        )
