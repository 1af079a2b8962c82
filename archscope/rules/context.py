"""The context window against rotary scaling: bases, factors, and where the window is stated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from archscope.blocks.assembly import Tower
from archscope.blocks.attention import Attention
from archscope.blocks.latent_attention import LatentAttention
from archscope.config import Config
from archscope.config.rotary import rotary_width
from archscope.diagnostics import Severity
from archscope.rules.base import Context, Fails, Finding, Passes, Rule

LONG = 65_536
"""Positions past which a base of 10,000 no longer spans the window: its longest wave is 2·pi·10,000 = 62,832."""


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


class RopeScaledTwice(Rule[Config]):
    """The window looks multiplied already, and is scaled once more.

    ## What it checks
    Linear and dynamic scaling where max_position_embeddings divided by the factor is a window that models are trained with
    before extension (2048, 4096), while the file's number is the extended one.

    ## Why it matters
    transformers uses max_position_embeddings as it stands. Engines that multiply it by the factor promise a window that the
    model was not made for.

    ## How to fix
    State the window before extension, or leave the factor out.

    ## References
    vllm config/model.py (_get_and_verify_max_len).
    """

    name = "rope-scaled-twice"
    severity = Severity.WARNING
    requires = ("rope-factor-below-one", "missing-rope-key", "wrong-type")
    cases = (
        Passes("llama", max_position_embeddings=4096, rope_scaling={"rope_type": "linear", "factor": 4.0}),
        Fails(
            "llama",
            max_position_embeddings=16384,
            rope_scaling={"rope_type": "linear", "factor": 4.0},
            at="/max_position_embeddings",
        ),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        rope = target.rope.get("")
        window = target.get("max_position_embeddings")
        if rope is None or rope.rope_type not in ("linear", "dynamic") or not ctx.written("max_position_embeddings"):
            return
        factor = _number(rope.factor)
        if factor is None or factor < 2 or not isinstance(window, int) or "alpha" in rope.parameters:
            return
        before = window / factor
        if before in (2048, 4096) and window >= 8192:
            yield Finding(
                f"engines derive {window} x {factor:g} = {window * factor:.0f} positions, but {window} looks multiplied "
                f"already ({before:.0f} x {factor:g})",
                ctx.at("max_position_embeddings"),
                related=[ctx.place(rope.pointers["factor"], "the factor")] if rope.pointers.get("factor") else [],
                help=f"write the window before extension, {before:.0f}, or leave the factor out",
            )


class RopeThetaTooSmall(Rule[Config]):
    """The rotary base is too small for the window.

    ## What it checks
    The base of text models with unscaled or yarn-scaled rotary positions: below 10,000, the smallest that text models are
    trained with; or 10,000 and less for a window past the longest wave that it makes (2·pi·10,000 positions), with no
    scaling and no sliding window.

    ## Why it matters
    Distant positions become indistinguishable: the model loads, and fails on long inputs. Such a base is mostly a slip of a
    zero or a lost field.

    ## How to fix
    Write the base that the model was trained with, or the scaling that extends it.

    ## References
    Scaling laws of RoPE-based extrapolation, arXiv 2310.05209.
    """

    name = "rope-theta-too-small"
    severity = Severity.WARNING
    requires = ("rope-theta-not-positive", "wrong-type")
    cases = (
        Passes("llama", rope_theta=10000.0, max_position_embeddings=4096),
        Fails("qwen3", rope_theta=1000, max_position_embeddings=131072, at="/rope_theta"),
        Fails("llama", rope_theta=10000.0, max_position_embeddings=131072, at="/rope_theta"),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        window = target.get("max_position_embeddings")
        if not isinstance(window, int) or "vocab_size" not in target or not _rotates(ctx):
            return
        for kind, rope in target.rope.items():
            theta = _number(rope.rope_theta)
            pointer = rope.pointers.get("rope_theta", "")
            if theta is None or theta <= 0 or not pointer or kind == "sliding_attention":
                continue
            small = theta < 10_000 and window >= 2048
            short = (
                theta <= 10_000 and window > LONG and rope.rope_type == "default" and not target.get("sliding_window")
            )
            if (small or short) and (rotary_width(target) or 0) >= 32:
                yield Finding(
                    f"the rotary base {theta:g} is small for a window of {window} positions"
                    + ("" if small else f" (its longest wave is {6.2832 * theta:.0f}) and nothing scales it"),
                    ctx.place(pointer),
                    related=[ctx.at("max_position_embeddings", "the window")],
                    help="write the base that the model was trained with, or the scaling that extends it",
                )


def _rotates(ctx: Context) -> bool:
    """Whether attention over text is made from this config and has rotary positions; true where nobody knows."""
    if ctx.structure is None:
        return True
    towers = [at.block for at in ctx.structure.of_type(Tower) if at.pointer == ctx.config.pointer]
    if any(isinstance(tower, Tower) and not tower.is_main for tower in towers):
        return False
    mixers = (*ctx.structure.of_type(Attention), *ctx.structure.of_type(LatentAttention))
    return any(getattr(at.block, "rope", None) is not None for at in mixers if at.pointer == ctx.config.pointer)


class ExtendedWindowNotStated(Rule[Config]):
    """Scaling extends the window, but max_position_embeddings is still the window before it.

    ## What it checks
    yarn with original_max_position_embeddings equal to max_position_embeddings and a factor above one.

    ## Why it matters
    transformers scales all the same; readers that take the window from max_position_embeddings allow only the short one. It
    is how the opt-in block of many model cards is meant.

    ## How to fix
    State the extended window if the block is meant to be on.

    ## References
    Qwen documentation on YaRN; vllm config/model.py.
    """

    name = "extended-window-not-stated"
    severity = Severity.INFO
    requires = ("rope-factor-below-one", "missing-rope-key")
    cases = (
        Passes(
            "qwen3",
            max_position_embeddings=163840,
            rope_scaling={"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 40960},
        ),
        Fails(
            "qwen3",
            max_position_embeddings=40960,
            rope_scaling={"rope_type": "yarn", "factor": 3.0, "original_max_position_embeddings": 40960},
            at="/max_position_embeddings",
        ),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        window = target.get("max_position_embeddings")
        for rope in target.rope.values():
            factor = _number(rope.factor)
            before = rope.parameters.get("original_max_position_embeddings")
            written = rope.pointers.get("original_max_position_embeddings", "")
            if rope.rope_type != "yarn" or factor is None or factor <= 1 or before != window:
                continue
            if not written.endswith("/original_max_position_embeddings"):
                continue
            yield Finding(
                f"yarn extends {before} x {factor:g} = {before * factor:.0f} positions, but max_position_embeddings is "
                f"{window}",
                ctx.at("max_position_embeddings"),
                related=[ctx.place(written, "the window before extension")],
                help=f"state {before * factor:.0f} if the scaling is meant to be on",
            )


class LostRopeScaling(Rule[Config]):
    """The file speaks of a window before extension, but nothing extends it.

    ## What it checks
    original_max_position_embeddings at the top level, smaller than max_position_embeddings, without any rotary scaling.

    ## Why it matters
    The scaling that the weights were trained with is lost: the model works on short inputs and fails on long ones.

    ## How to fix
    Put the scaling block back, from the base model's config.

    ## References
    transformers modeling_rope_utils.py (longrope, yarn).
    """

    name = "lost-rope-scaling"
    severity = Severity.WARNING
    cases = (
        Passes("phi3", max_position_embeddings=4096, original_max_position_embeddings=4096),
        Fails(
            "phi3",
            max_position_embeddings=131072,
            original_max_position_embeddings=4096,
            at="/original_max_position_embeddings",
        ),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        name = "original_max_position_embeddings"
        before, window = target.raw.get(name), target.get("max_position_embeddings")
        if not isinstance(before, int) or not isinstance(window, int) or before >= window or isinstance(before, bool):
            return
        if target.rope and all(rope.rope_type == "default" for rope in target.rope.values()):
            yield Finding(
                f"the window before extension is {before} and the window {window}, but nothing scales the positions",
                ctx.place(f"{target.pointer}/{name}"),
                related=[ctx.at("max_position_embeddings", "the window")],
                help="put the rope_scaling block of the base model back",
            )


WINDOW_NAMES = ("model_max_length", "max_sequence_length", "max_seq_len", "max_seq_length", "seq_length", "max_context_length",
                "n_ctx", "context_length", "max_length_context")  # fmt: skip


class WindowUnderAnotherName(Rule[Config]):
    """The context window is stated only under a name that few readers know.

    ## What it checks
    Configs of language models without max_position_embeddings, and without the name that the type has for it, that have
    the window as model_max_length, max_sequence_length and the like.

    ## Why it matters
    Most tools read max_position_embeddings and fall back to a small default without it.

    ## How to fix
    Add max_position_embeddings with the same value.

    ## References
    vllm config/model.py (possible_keys of _get_and_verify_max_len).
    """

    name = "window-under-another-name"
    severity = Severity.WARNING
    cases = (
        Passes("llama", max_position_embeddings=4096, max_sequence_length=4096),
        Fails("kimi_linear", model_max_length=1048576, at="/model_max_length"),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        schema = target.schema
        if schema is None or target.pointer or "causal_lm" not in schema.tasks:
            return
        if "max_position_embeddings" in target.raw:
            return
        for name in WINDOW_NAMES:
            value: Any = target.raw.get(name)
            if isinstance(value, int) and not isinstance(value, bool) and value > 1 and not _own_name(target, name):
                yield Finding(
                    f"the window of {value} positions is stated only as {name}; most readers look for "
                    "max_position_embeddings",
                    ctx.place(f"/{name}"),
                    related=[ctx.place("/max_position_embeddings", "max_position_embeddings is not there")],
                    help=f"add max_position_embeddings: {value}",
                )
                return


def _own_name(config: Config, name: str) -> bool:
    """Whether the type has its positions under another field, so that this name is its own."""
    schema = config.schema
    stored = "" if schema is None else schema.aliases.get("max_position_embeddings", "max_position_embeddings")
    if name == TOKENIZER_KEY:
        return False
    return (
        (schema is not None and name in schema.fields)
        or stored == name
        or (stored != "max_position_embeddings" and stored in config.raw)
    )


TOKENIZER_KEY = "model_max_length"
"""Known to readers as a key of tokenizer_config.json, not as the window of a model."""
