"""Numbers that scale or cap what flows through the model, and the functions between."""

from __future__ import annotations

from collections.abc import Iterator

from archscope.config import Config
from archscope.diagnostics import Edit, Fix, Severity
from archscope.rules.base import Context, Fails, Finding, Passes, Rule
from archscope.source import path_of

ACTIVATIONS = frozenset(
    "gelu gelu_10 gelu_fast gelu_new gelu_python gelu_pytorch_tanh gelu_python_tanh gelu_accurate hardswish laplace "
    "leaky_relu linear mish quick_gelu relu relu2 relu6 sigmoid silu sqrtsoftplus swish tanh prelu xielu".split()
)
"""Names that transformers has a function for. Source: transformers 5.24.0 activations.py (ACT2FN)."""

ACTIVATION_FIELDS = (
    "hidden_act", "hidden_activation", "activation_function", "projector_hidden_act", "feed_forward_proj",
)  # fmt: skip


class UnknownActivation(Rule[Config]):
    """An activation has a name that transformers has no function for.

    ## What it checks
    hidden_act, hidden_activation, activation_function, projector_hidden_act and feed_forward_proj (which may say `gated-`
    before it) of known types without remote code.

    ## Why it matters
    transformers reads the file and raises a KeyError when the model is built.

    ## How to fix
    Use one of the known names; "silu" and "gelu_pytorch_tanh" are the usual ones of gated blocks.

    ## References
    transformers activations.py (ACT2FN).
    """

    name = "unknown-activation"
    severity = Severity.ERROR
    requires = ("wrong-type",)
    cases = (
        Passes("llama", hidden_act="silu"),
        Fails("llama", hidden_act="silux", at="/hidden_act"),
        Fails("gpt2", activation_function="gelu_neww", at="/activation_function"),
        Passes("t5", feed_forward_proj="gated-silu"),
        Fails("t5", feed_forward_proj="gated-gelo", at="/feed_forward_proj"),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        schema = target.schema
        if schema is None or "auto_map" in ctx.root.raw:
            return
        for name in ACTIVATION_FIELDS:
            value = target.raw.get(name)
            field = schema.fields.get(name)
            if not isinstance(value, str) or field is None or value == field.default:
                continue
            if name == "feed_forward_proj":
                value = value.removeprefix("gated-")
            if value in ACTIVATIONS:
                continue
            from difflib import get_close_matches

            near = get_close_matches(value, sorted(ACTIVATIONS), n=1)
            yield Finding(
                f"transformers has no activation {value[:40]!r}",
                ctx.at(name),
                help=f"did you mean {near[0]!r}?" if near else f"known: {', '.join(sorted(ACTIVATIONS))}",
            )


class ConflictingActivation(Rule[Config]):
    """Two fields name the activation, and disagree by more than the kind of GELU.

    ## What it checks
    hidden_act against hidden_activation where the file has both. gelu beside gelu_pytorch_tanh is how the first Gemma files
    are written, and means the second.

    ## Why it matters
    The code of such families reads hidden_activation; readers of hidden_act compute another function.

    ## How to fix
    Make them equal, or keep hidden_activation.

    ## References
    transformers models/gemma/modeling_gemma.py.
    """

    name = "conflicting-activation"
    severity = Severity.WARNING
    cases = (
        Passes("gemma", hidden_act="gelu", hidden_activation="gelu_pytorch_tanh"),
        Fails("gemma2", hidden_act="silu", hidden_activation="gelu_pytorch_tanh", at="/hidden_act"),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        one, other = target.raw.get("hidden_act"), target.raw.get("hidden_activation")
        if not isinstance(one, str) or not isinstance(other, str) or one == other:
            return
        if "gelu" in one and "gelu" in other:
            return
        yield Finding(
            f"hidden_act is {one[:40]!r} and hidden_activation is {other[:40]!r}",
            ctx.place(f"{target.pointer}/hidden_act"),
            related=[ctx.place(f"{target.pointer}/hidden_activation")],
            help="make them equal",
        )


class SoftcapNotPositive(Rule[Config]):
    """A soft cap is zero or negative.

    ## What it checks
    final_logit_softcapping and attn_logit_softcapping; of other caps only that they are not negative, since some families
    write 0 for none.

    ## Why it matters
    The cap computes cap x tanh(x / cap): zero divides by zero and every logit becomes NaN.

    ## How to fix
    null switches a cap off.

    ## References
    Gemma 2, arXiv 2408.00118 section 2; transformers models/gemma2/modeling_gemma2.py.
    """

    name = "softcap-not-positive"
    severity = Severity.ERROR
    cases = (
        Passes("gemma2", final_logit_softcapping=30.0, attn_logit_softcapping=None),
        Fails("gemma2", final_logit_softcapping=0.0, at="/final_logit_softcapping"),
        Fails("gemma2", attn_logit_softcapping=-50.0, at="/attn_logit_softcapping"),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        for name, value in target.raw.items():
            if not name.endswith(("softcapping", "softcap", "soft_cap", "logit_cap")):
                continue
            if (
                isinstance(value, int | float)
                and not isinstance(value, bool)
                and (value < 0 or (value == 0 and name in DIVIDING_CAPS))
            ):
                place = ctx.place(f"{target.pointer}/{name}")
                yield Finding(f"{name[:60]} is {value:g}; it divides", place, help="null switches the cap off")


DIVIDING_CAPS = ("final_logit_softcapping", "attn_logit_softcapping")


class AttentionScaleBelowHeadWidth(Rule[Config]):
    """The attention scale belongs to heads narrower than the model's.

    ## What it checks
    query_pre_attn_scalar against head_dim. It is head_dim, or hidden_size / num_attention_heads where that is larger; the
    smaller quotient is a known slip.

    ## Why it matters
    Scores are multiplied by its inverse root: with another number every attention is sharper or flatter than trained.

    ## How to fix
    Write head_dim (or the number of the released model).

    ## References
    https://github.com/google/gemma_pytorch/issues/71; https://github.com/ggml-org/llama.cpp/pull/8444
    """

    name = "attention-scale-below-head-width"
    severity = Severity.WARNING
    requires = ("wrong-type", "odd-head-dim")
    cases = (
        Passes("gemma2", hidden_size=3584, num_attention_heads=16, head_dim=256, query_pre_attn_scalar=256),
        Passes("gemma2", hidden_size=4608, num_attention_heads=32, head_dim=128, query_pre_attn_scalar=144),
        Fails(
            "gemma2",
            hidden_size=3584,
            num_attention_heads=16,
            head_dim=256,
            query_pre_attn_scalar=224,
            at="/query_pre_attn_scalar",
        ),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        scale, width = target.raw.get("query_pre_attn_scalar"), target.get("head_dim")
        d, heads = target.get("hidden_size"), target.get("num_attention_heads")
        if not isinstance(scale, int | float) or not isinstance(width, int) or not isinstance(d, int) or not heads:
            return
        if d < 128 or scale in (width, d / heads if d / heads > width else width):
            return
        yield Finding(
            f"query_pre_attn_scalar is {scale:g}, but heads are {width} wide",
            ctx.place(f"{target.pointer}/query_pre_attn_scalar"),
            related=[ctx.at("head_dim")],
            help=f"write {width}, the width of a head",
        )


class NormEpsNotPositive(Rule[Config]):
    """The epsilon of a norm is zero, negative, or no small number.

    ## What it checks
    rms_norm_eps, layer_norm_eps, layer_norm_epsilon, norm_eps: positive and below 0.1.

    ## Why it matters
    It keeps a division from zero; a value that is not small changes what the norm computes.

    ## How to fix
    1e-5 and 1e-6 are usual; the base model's config tells which.

    ## References
    RMSNorm, arXiv 1910.07467.
    """

    name = "norm-eps-not-small"
    severity = Severity.ERROR
    requires = ("wrong-type", "out-of-range")
    cases = (
        Passes("llama", rms_norm_eps=1e-6),
        Fails("llama", rms_norm_eps=-1e-5, at="/rms_norm_eps"),
        Fails("llama", rms_norm_eps=1.0, at="/rms_norm_eps"),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        for name in ("rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon", "norm_eps", "norm_epsilon"):
            value = target.raw.get(name)
            if isinstance(value, float) and not 0 <= value < 0.1:
                yield Finding(f"{name} is {value:g}; an epsilon is a small positive number", ctx.at(name))


class IntegerEpsilon(Rule[Config]):
    """An epsilon is written as a whole number.

    ## What it checks
    Fields whose name ends in _eps or _epsilon and that take a float: 0 or 1 for 0.0 or 1.0.

    ## Why it matters
    Several config classes of the first releases of transformers 5 refuse an integer here, and typed readers do still.

    ## How to fix
    Write the number with a decimal point.

    ## References
    transformers 5.0 configuration classes (annotations as float).
    """

    name = "integer-epsilon"
    severity = Severity.WARNING
    cases = (
        Passes("dbrx", ffn_config={"moe_jitter_eps": 0.0}),
        Fails("dbrx", ffn_config={"moe_jitter_eps": 0}, at="/ffn_config/moe_jitter_eps"),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        for name, value in target.raw.items():
            if not name.endswith(("_eps", "_epsilon")) or isinstance(value, bool) or not isinstance(value, int):
                continue
            if target.schema is None or name not in target.schema.fields or name in target.problems:
                continue
            pointer = f"{target.pointer}/{name}"
            span = ctx.document.value_span(path_of(pointer))
            edits = (Edit(ctx.document.name, span.start, span.end, f"{value}.0"),) if span else ()
            yield Finding(
                f"{name} is the integer {value}; early releases of transformers 5 want {value}.0",
                ctx.place(pointer),
                help=f"write {value}.0",
                fixes=(Fix(f"write {value}.0", edits, safe=True),) if edits else (),
            )
