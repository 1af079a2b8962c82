"""Heads against each other and against the width they are cut from."""

from __future__ import annotations

from collections.abc import Iterator

from archscope.blocks.attention import Attention
from archscope.config import Config
from archscope.diagnostics import Severity
from archscope.rules.base import Context, Fails, Finding, Passes, Rule


class IndivisibleKvHeads(Rule[Attention]):
    """Query heads cannot be shared evenly among the key/value heads.

    ## What it checks
    num_attention_heads against num_key_value_heads of every attention, under whatever names the type has for them.

    ## Why it matters
    Each key/value head serves a whole group of query heads. transformers builds the model all the same for nearly every
    type, and fails at the first forward pass (or repeats heads wrongly).

    ## How to fix
    Use a number of key/value heads that divides the number of query heads: equal to it (multi-head), a divisor
    (grouped-query) or 1 (multi-query). The weights tell which: k_proj has num_key_value_heads x head_dim rows.

    ## References
    GQA, arXiv 2305.13245; transformers models/llama/modeling_llama.py (repeat_kv, num_key_value_groups).
    """

    name = "indivisible-kv-heads"
    severity = Severity.ERROR
    cases = (
        Passes("llama", num_attention_heads=32, num_key_value_heads=8),
        Fails("llama", num_attention_heads=32, num_key_value_heads=5, at="/num_key_value_heads"),
        Passes("qwen3", num_attention_heads=16, num_key_value_heads=1),
        Fails("falcon", num_attention_heads=71, num_kv_heads=8, new_decoder_architecture=True, at="/num_kv_heads"),
        Fails(
            "gemma3",
            text_config={"num_attention_heads": 8, "num_key_value_heads": 3},
            at="/text_config/num_key_value_heads",
        ),
    )

    def check(self, target: Attention, ctx: Context) -> Iterator[Finding]:
        heads, kv = int(target.num_heads), int(target.num_kv_heads)
        if kv > 0 and heads % kv == 0:
            return
        name = "num_key_value_heads" if ctx.written("num_key_value_heads") else "num_kv_heads"
        if name not in ctx.config:
            name = "num_key_value_heads"
        divisors = [n for n in range(1, min(heads, 4096) + 1) if heads % n == 0]
        yield Finding(
            f"{heads} query heads do not divide into {kv} key/value heads",
            ctx.at(name),
            related=[ctx.at("num_attention_heads", "query heads")],
            help=f"{name} may be one of {_listed(divisors)}",
        )


class IndivisibleHiddenSize(Rule[Config]):
    """The hidden size cannot be cut into heads of equal width.

    ## What it checks
    hidden_size against num_attention_heads (and decoder_attention_heads), where the width of a head is their quotient; and
    where head_dim is given but the config class refuses the pair all the same.

    ## Why it matters
    The quotient is rounded down: the projections come out narrower than the hidden size, and loading or the first forward
    pass fails. A dozen config classes of transformers refuse the file at once.

    ## How to fix
    Make hidden_size a multiple of num_attention_heads, or state head_dim where the model's heads have a width of their own.

    ## References
    transformers models/llama/configuration_llama.py (validate_architecture).
    """

    name = "indivisible-hidden-size"
    severity = Severity.ERROR
    requires = ("out-of-range", "wrong-type")
    cases = (
        Passes("llama", hidden_size=64, num_attention_heads=4),
        Fails("llama", hidden_size=65, num_attention_heads=4, num_key_value_heads=4, at="/hidden_size"),
        Passes("qwen3", hidden_size=1024, num_attention_heads=12, head_dim=128, num_key_value_heads=4),
        Fails("bert", hidden_size=768, num_attention_heads=10, at="/hidden_size", also=("width-mismatch",)),
        Passes("bart", d_model=64, encoder_attention_heads=4, decoder_attention_heads=8),
        Fails("bart", d_model=64, encoder_attention_heads=4, decoder_attention_heads=6, at="/d_model"),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        d, schema = target.get("hidden_size"), target.schema
        if not isinstance(d, int) or d < 1:
            return
        counts = {name: target.get(name) for name in HEAD_COUNTS}
        uneven = {name: count for name, count in counts.items() if isinstance(count, int) and count > 0 and d % count}
        refuses = schema is not None and schema.model_type in REFUSING
        if not uneven or (not refuses and (not _head_dim_follows(target) or not _has_attention(ctx, target))):
            return
        for name, heads in uneven.items():
            near = sorted({d // heads * heads, -(-d // heads) * heads} - {0})
            reason = f" ({schema.class_name} refuses it, whatever head_dim says)" if refuses and schema else ""
            yield Finding(
                f"hidden_size {d} is not a multiple of {heads} heads{reason}",
                ctx.at("hidden_size"),
                related=[ctx.at(name, "heads")],
                help=f"the nearest multiples of {heads} are {_listed(near)}"
                + ("" if refuses else "; or state head_dim if the heads have a width of their own"),
            )


HEAD_COUNTS = ("num_attention_heads", "decoder_attention_heads")
"""Head counts over hidden_size; in encoder-decoders the first is that of the encoder."""

REFUSING = frozenset(
    "arcee aria_text cwm deepseek_v2 exaone gemma2 gemma3_text gemma3n_text gpt_neox hrm_text hyperclovax internlm3 "
    "iquestcoder jais2 llama minicpm3 vaultgemma".split()
)
"""Types whose validate_architecture asks for hidden_size % num_attention_heads == 0. Source: transformers 5.24.0."""


OWN_HEAD_WIDTHS = ("kv_channels", "qk_rope_head_dim", "kv_lora_rank", "d_kv", "attention_head_size", "d_head")
"""Fields that give the heads a width of their own."""


def _head_dim_follows(config: Config) -> bool:
    """Whether the width of a head is the quotient, rather than a field of its own."""
    if config.get("head_dim") is None:
        return not any(config.get(name) for name in OWN_HEAD_WIDTHS)
    return config.origin("head_dim").kind == "derived"


def _has_attention(ctx: Context, config: Config) -> bool:
    """Whether the structure has attention made from this config; true where there is no structure to ask."""
    if ctx.structure is None:
        return config.schema is not None
    return any(at.pointer == config.pointer for at in ctx.structure.of_type(Attention))


class OddHeadDim(Rule[Config]):
    """The width of a head is odd, or no width at all.

    ## What it checks
    head_dim (or the quotient that it comes from) and qk_rope_head_dim. It is an error where all of it is rotated, or it is
    below one; else an odd width is only unlikely to be meant.

    ## Why it matters
    Rotary embedding turns pairs of numbers: an odd width leaves one over, and transformers raises (or builds tables that do
    not fit). A head of width 0 makes empty matrices. Kernels want multiples of 8.

    ## How to fix
    Use an even head_dim; where it is hidden_size / num_attention_heads, change one of these.

    ## References
    RoFormer, arXiv 2104.09864; transformers modeling_rope_utils.py (validate_rope).
    """

    name = "odd-head-dim"
    severity = Severity.ERROR
    requires = ("indivisible-hidden-size", "wrong-type")
    cases = (
        Passes("llama", hidden_size=64, num_attention_heads=4),
        Fails("qwen3", hidden_size=64, num_attention_heads=4, num_key_value_heads=4, head_dim=33, at="/head_dim"),
        Fails("qwen3", hidden_size=64, num_attention_heads=4, num_key_value_heads=4, head_dim=0, at="/head_dim"),
        Fails("deepseek_v3", qk_rope_head_dim=63, at="/qk_rope_head_dim"),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        rotated = bool(target.rope) and _rotates_all(target)
        for name in ("qk_rope_head_dim", "head_dim"):
            width = target.get(name)
            if not isinstance(width, int) or isinstance(width, bool) or name in target.problems:
                continue
            if width == 0 and name == "qk_rope_head_dim":
                continue
            if width >= 1 and width % 2 == 0:
                continue
            written = target.pointer_of(name)
            if not written and (width < 1 or not rotated):
                continue
            place = ctx.place(written) if written else ctx.at("hidden_size", f"{name} comes from here")
            odd = f"{name} is {width}, which is odd" + ("; rotary positions turn pairs" if rotated else "")
            message = f"{name} is {width}; a head has a width" if width < 1 else odd
            severity = None if width < 1 or (rotated and width > 4) else Severity.WARNING
            yield Finding(message, place, severity=severity)
            return


def _rotates_all(config: Config) -> bool:
    """Whether the whole head is rotated, so that its width must be even."""
    parts = [rope.partial_rotary_factor for rope in config.rope.values()]
    return all(part is None or part == 1 for part in parts)


def _listed(numbers: list[int], most: int = 12) -> str:
    shown = ", ".join(map(str, numbers[:most]))
    return f"{shown}, ..." if len(numbers) > most else shown
