"""Rotary position embeddings: their type, keys and numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from archscope.config import Config, RopeParameters, Schema
from archscope.diagnostics import Severity
from archscope.rules.base import Context, Fails, Finding, Passes, Rule
from archscope.rules.rotary import LEGACY_NAMES, holder, place_of, scaled

REQUIRED_KEYS: dict[str, tuple[str, ...]] = {
    "default": (),
    "axial": (),
    "linear": ("factor",),
    "dynamic": ("factor",),
    "yarn": ("factor", "original_max_position_embeddings"),
    "longrope": ("short_factor", "long_factor", "original_max_position_embeddings"),
    "llama3": ("factor", "original_max_position_embeddings", "low_freq_factor", "high_freq_factor"),
    "proportional": (),
}
"""Keys that each type needs. Source: transformers 5.24.0 modeling_rope_utils.py."""

OPTIONAL_KEYS: dict[str, tuple[str, ...]] = {
    "default": (),
    "axial": (),
    "linear": (),
    "dynamic": ("alpha", "original_max_position_embeddings"),
    "yarn": ("attention_factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim", "truncate"),
    "longrope": ("attention_factor", "factor", "short_mscale", "long_mscale"),
    "llama3": (),
    "proportional": ("factor",),
}
ALWAYS = ("rope_type", "type", "rope_theta", "partial_rotary_factor", "mrope_section", "mrope_interleaved")


class UnknownRopeType(Rule[Config]):
    """The kind of rotary scaling is none that transformers has.

    ## What it checks
    rope_type (or the legacy key type) of every rotary embedding in the file.

    ## Why it matters
    transformers only warns that it has no check for the type, and raises a bare KeyError when the model is built.

    ## How to fix
    Use one of the types that the help lists.

    ## References
    transformers modeling_rope_utils.py (ROPE_INIT_FUNCTIONS).
    """

    name = "unknown-rope-type"
    severity = Severity.ERROR
    cases = (
        Passes("llama", rope_parameters={"rope_type": "linear", "factor": 2.0, "rope_theta": 1e4}),
        Fails("llama", rope_scaling={"type": "liner", "factor": 2.0}, at="/rope_scaling/type"),
        Fails("llama", rope_parameters={"rope_type": "lama3", "factor": 8.0}, at="/rope_parameters/rope_type"),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        if target.schema is None or "rope_parameters" not in target.schema.fields:
            return
        known = {*REQUIRED_KEYS, *LEGACY_NAMES}
        for name, rope in scaled(target):
            if name in known:
                continue
            from difflib import get_close_matches

            near = get_close_matches(name, sorted(known), n=1)
            yield Finding(
                f"transformers has no rotary embedding of type {name[:40]!r}",
                place_of(rope, ctx, "rope_type", "type"),
                help=(f"did you mean {near[0]!r}? " if near else "")
                + f"known types: {', '.join(sorted(REQUIRED_KEYS))}",
            )


class MissingRopeKey(Rule[Config]):
    """The rotary scaling lacks a number that its type needs.

    ## What it checks
    The keys that each rope type needs: factor for linear, dynamic, yarn and llama3; the pre-extension window for yarn,
    longrope and llama3; the two frequency factors for llama3; the two lists for longrope.

    ## Why it matters
    transformers raises a KeyError that names neither the file nor the reason. A missing pre-extension window is taken to be
    the extended one, so that yarn scales from the wrong length; other readers crash.

    ## How to fix
    Add the key with the number that the model was trained with.

    ## References
    transformers modeling_rope_utils.py (validation functions of each type).
    """

    name = "missing-rope-key"
    severity = Severity.ERROR
    requires = ("unknown-rope-type",)
    cases = (
        Passes("llama", rope_scaling={"type": "linear", "factor": 2.0}),
        Fails("llama", rope_scaling={"type": "linear"}, at="/rope_scaling/factor"),
        Fails(
            "llama",
            rope_scaling={"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 512},
            at="/rope_scaling/high_freq_factor",
            count=2,
        ),
        Fails(
            "qwen2",
            rope_scaling={"type": "yarn", "factor": 4.0},
            at="/rope_scaling/original_max_position_embeddings",
        ),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        if target.schema is None:
            return
        for name, rope in scaled(target):
            for key in REQUIRED_KEYS.get(name, ()):
                if key in rope.parameters and (key != WINDOW or rope.pointers.get(key, "").endswith(f"/{WINDOW}")):
                    continue
                if (key == WINDOW and target.pointer_of(WINDOW)) or _misspelt(rope, name, key):
                    continue
                filled = key == WINDOW
                said = (
                    f"; transformers takes max_position_embeddings ({target.get('max_position_embeddings')}) for it"
                    if filled
                    else ""
                )
                yield Finding(
                    f"rotary scaling of type {name} has no {key}{said}",
                    ctx.place(f"{holder(rope, ctx)}/{key}"),
                    help=f"add {key}",
                )


WINDOW = "original_max_position_embeddings"


class UnknownRopeKey(Rule[Config]):
    """The rotary scaling has a key that its type does not read.

    ## What it checks
    Keys inside rope_scaling or rope_parameters against those of the type, those of the model type, and those that many
    published files carry without harm. A key that resembles one of the type's, or a factor on a type that has none, is
    reported.

    ## Why it matters
    transformers warns about "unrecognized keys" and leaves them out: the model runs without the scaling that was meant.

    ## How to fix
    Correct the spelling, or choose the type that reads the key.

    ## References
    transformers modeling_rope_utils.py (RotaryEmbeddingConfigMixin, _check_received_keys).
    """

    name = "unknown-rope-key"
    severity = Severity.WARNING
    requires = ("unknown-rope-type",)
    cases = (
        Passes("llama", rope_scaling={"type": "linear", "factor": 2.0}),
        Passes("qwen2_vl", text_config={"rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]}}),
        Fails("llama", rope_scaling={"type": "linear", "factor": 2.0, "facter": 4.0}, at="/rope_scaling/facter"),
        Fails("llama", rope_parameters={"rope_type": "default", "factor": 8.0}, at="/rope_parameters/factor"),
        Fails(
            "llama",
            rope_scaling={
                "rope_type": "yarn",
                "factor": 4.0,
                "original_max_position_embeddings": 512,
                "attn_factor": 1.1,
            },
            at="/rope_scaling/attn_factor",
        ),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        if target.schema is None:
            return
        for name, rope in scaled(target):
            own = {*REQUIRED_KEYS.get(name, ()), *OPTIONAL_KEYS.get(name, ())}
            allowed = own | set(ALWAYS) | target.schema.ignore_keys_at_rope_validation | _default_keys(target.schema)
            for key in rope.parameters:
                if key in allowed or not rope.pointers.get(key) or isinstance(rope.parameters[key], dict):
                    continue
                meant = _meant(key, name, own)
                if meant:
                    place = ctx.place(rope.pointers[key], key=True)
                    lacks = [one for one in REQUIRED_KEYS.get(name, ()) if _misspelt(rope, name, one) == key]
                    yield Finding(
                        f"rotary scaling of type {name} does not read {key[:40]}",
                        place,
                        related=[ctx.place(f"{holder(rope, ctx)}/{one}", f"{one} is not there") for one in lacks],
                        help=meant,
                        severity=Severity.ERROR if lacks else None,
                    )


def _misspelt(rope: RopeParameters, name: str, key: str) -> str:
    """The key in the file that nearly spells a required one which is not there; "" where there is none."""
    if rope.pointers.get(key, "").endswith(f"/{key}"):
        return ""
    own = {*REQUIRED_KEYS.get(name, ()), *OPTIONAL_KEYS.get(name, ()), *ALWAYS}
    return next((one for one in rope.parameters if one not in own and _meant(one, name, {key}).startswith("did")), "")


def _default_keys(schema: Schema) -> set[str]:
    """Keys that the type's own default has."""
    field = schema.fields.get("rope_parameters")
    found = field.effective if field is not None else None
    return set(found) if isinstance(found, dict) else set()


def _meant(key: str, name: str, own: set[str]) -> str:
    """What to do instead; "" where the key is harmless."""
    from difflib import get_close_matches

    if key in ALIASES_OF_KEYS:
        return f"the key is {ALIASES_OF_KEYS[key]}" if ALIASES_OF_KEYS[key] in own else ""
    near = get_close_matches(key, sorted(own), n=1, cutoff=0.8)
    if near and not any(key == other for others in OPTIONAL_KEYS.values() for other in others):
        return f"did you mean {near[0]}?"
    if key == "factor" and name == "default":
        return "the type default does not scale: name the type that is meant (linear, dynamic, yarn, ...)"
    return ""


ALIASES_OF_KEYS = {"attn_factor": "attention_factor", "extrapolation_factor": "factor", "scaling_factor": "factor"}


class RopeFactorBelowOne(Rule[Config]):
    """A scaling factor is below one, or no number.

    ## What it checks
    factor of every scaled rotary embedding.

    ## Why it matters
    A factor stretches the window: below one it would shrink it. transformers warns and computes with it; a string fails
    when the model is built.

    ## How to fix
    Write the ratio of the new window to the old one, at least 1.0.

    ## References
    transformers modeling_rope_utils.py.
    """

    name = "rope-factor-below-one"
    severity = Severity.ERROR
    requires = ("unknown-rope-type", "missing-rope-key")
    cases = (
        Passes("llama", rope_scaling={"type": "linear", "factor": 1.0}),
        Fails("llama", rope_scaling={"type": "linear", "factor": 0.5}, at="/rope_scaling/factor"),
        Fails("llama", rope_scaling={"type": "dynamic", "factor": "2"}, at="/rope_scaling/factor"),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        for name, rope in scaled(target):
            if "factor" not in rope.parameters or name in ("default", "axial"):
                continue
            factor = rope.parameters["factor"]
            if factor is None and name in ("longrope", "yarn"):
                continue
            if not isinstance(factor, int | float) or isinstance(factor, bool) or factor < 1:
                message = f"the rotary scaling factor is {factor!r:.40}, not a number of at least 1"
                yield Finding(message, place_of(rope, ctx, "factor"))


class RopeThetaNotPositive(Rule[Config]):
    """The base of the rotary frequencies is not a positive number.

    ## What it checks
    rope_theta of every rotary embedding, wherever it is written.

    ## Why it matters
    The frequencies are powers of it: zero, negative or non-numeric values give NaN or an error when the model runs.

    ## How to fix
    Write the base that the model was trained with (10000.0 for the first Llamas, 500000.0 for Llama 3).

    ## References
    RoFormer, arXiv 2104.09864 section 3.2.2.
    """

    name = "rope-theta-not-positive"
    severity = Severity.ERROR
    cases = (
        Passes("llama", rope_theta=500000.0),
        Fails("llama", rope_theta=0, at="/rope_theta"),
        Fails("llama", rope_parameters={"rope_type": "default", "rope_theta": -1.0}, at="/rope_parameters/rope_theta"),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        for rope in target.rope.values():
            pointer = rope.pointers.get("rope_theta")
            theta = rope.parameters.get("rope_theta")
            positive = isinstance(theta, int | float) and not isinstance(theta, bool) and theta > 0
            if pointer and not positive:
                yield Finding(f"the rotary base is {theta!r:.40}, not a positive number", ctx.place(pointer))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
