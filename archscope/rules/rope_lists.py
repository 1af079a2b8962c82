"""Lists of numbers in rotary embeddings, one for each frequency or kind of position."""

from __future__ import annotations

from collections.abc import Iterator

from archscope.config import Config
from archscope.config.rotary import rotary_width
from archscope.diagnostics import Severity
from archscope.rules.base import Context, Fails, Finding, Passes, Rule
from archscope.rules.rotary import is_whole, place_of, scaled


class LongropeListLength(Rule[Config]):
    """A list of longrope factors does not have one number for each rotary frequency.

    ## What it checks
    The lengths of short_factor and long_factor against half the rotated width of a head: qk_rope_head_dim where the type
    has it, else head_dim x partial_rotary_factor.

    ## Why it matters
    The lists divide the frequencies one by one. transformers only warns for most types, then fails when the model is built.

    ## How to fix
    Give each list the length that the message names, or correct the head width that it follows from.

    ## References
    LongRoPE, arXiv 2402.13753; transformers modeling_rope_utils.py (_validate_longrope_parameters).
    """

    name = "longrope-list-length"
    severity = Severity.ERROR
    requires = ("unknown-rope-type", "missing-rope-key", "indivisible-hidden-size", "wrong-type")
    cases = (
        Passes(
            "phi3",
            hidden_size=64,
            num_attention_heads=4,
            num_key_value_heads=4,
            original_max_position_embeddings=4096,
            rope_scaling={"type": "longrope", "short_factor": [1.0] * 8, "long_factor": [2.0] * 8},
        ),
        Fails(
            "phi3",
            hidden_size=64,
            num_attention_heads=4,
            num_key_value_heads=4,
            original_max_position_embeddings=4096,
            rope_scaling={"type": "longrope", "short_factor": [1.0] * 8, "long_factor": [2.0] * 7},
            at="/rope_scaling/long_factor",
        ),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        width = rotary_width(target)
        if width is None:
            return
        for name, rope in scaled(target):
            if name != "longrope":
                continue
            for key in ("short_factor", "long_factor"):
                found = rope.parameters.get(key)
                if isinstance(found, list) and len(found) != width // 2:
                    yield Finding(
                        f"{key} has {len(found)} numbers; {width} rotated values of a head have {width // 2} frequencies",
                        place_of(rope, ctx, key),
                        related=[ctx.at(field, "the width comes from here") for field in _width_fields(target)],
                    )


class MropeSectionSum(Rule[Config]):
    """The sections of a multimodal rotary embedding do not add up to its frequencies.

    ## What it checks
    The sum of mrope_section against half the rotated width of a head.

    ## Why it matters
    The frequencies are split into time, height and width by these numbers; a wrong sum fails in the forward pass.

    ## How to fix
    Make the sections add up to the number that the message names.

    ## References
    Qwen2-VL, arXiv 2409.12191 section 2.1; transformers models/qwen2_vl/modeling_qwen2_vl.py.
    """

    name = "mrope-section-sum"
    severity = Severity.ERROR
    requires = ("wrong-type",)
    cases = (
        Passes(
            "qwen2_vl",
            text_config={
                "hidden_size": 512,
                "num_attention_heads": 4,
                "num_key_value_heads": 4,
                "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]},
            },
        ),
        Fails(
            "qwen2_vl",
            text_config={
                "hidden_size": 512,
                "num_attention_heads": 4,
                "num_key_value_heads": 4,
                "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 32]},
            },
            at="/text_config/rope_scaling/mrope_section",
        ),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        width = rotary_width(target)
        for rope in target.rope.values():
            sections = rope.parameters.get("mrope_section")
            if width is None or not isinstance(sections, list) or not all(map(is_whole, sections)):
                continue
            if rope.pointers.get("mrope_section") and sum(sections) != width // 2:
                yield Finding(
                    f"mrope_section adds up to {sum(sections)}; {width} rotated values of a head have {width // 2} "
                    "frequencies",
                    place_of(rope, ctx, "mrope_section"),
                    related=[ctx.at(field, "the width comes from here") for field in _width_fields(target)],
                )


def _width_fields(config: Config) -> tuple[str, ...]:
    if config.get("qk_rope_head_dim"):
        return ("qk_rope_head_dim",)
    return ("head_dim",) if config.pointer_of("head_dim") else ("hidden_size", "num_attention_heads")
