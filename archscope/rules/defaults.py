"""Fields that are not in the file, whose default matters."""

from __future__ import annotations

from collections.abc import Iterator

from archscope.config import Config
from archscope.diagnostics import Severity
from archscope.rules.base import Context, Fails, Finding, Options, Passes, Rule
from archscope.rules.targets import parse_version, reads_version_4


class ReliedOnNormTopk(Rule[Config]):
    """Whether the experts' weights are made to sum to one is left to a default.

    ## What it checks
    norm_topk_prob, where the type has it, is false by default, and the file does not say it.

    ## Why it matters
    Readers have different defaults, and released models of one family differ: with the wrong one the experts' outputs are
    too small or too large by a factor, without an error.

    ## How to fix
    Write norm_topk_prob as the model was trained (true for the Qwen3 mixtures).

    ## References
    transformers models/qwen3_moe/configuration_qwen3_moe.py; https://github.com/QwenLM/Qwen3
    """

    name = "relied-on-norm-topk"
    severity = Severity.WARNING
    cases = (
        Passes("qwen3_moe", norm_topk_prob=True),
        Passes("qwen3_moe", norm_topk_prob=False),
        Fails("qwen3_moe", num_experts_per_tok=8, at="/norm_topk_prob"),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        schema = target.schema
        field = schema.fields.get("norm_topk_prob") if schema is not None else None
        if field is None or field.default is not False or target.pointer_of("norm_topk_prob"):
            return
        top = target.get("num_experts_per_tok")
        if isinstance(top, int) and top > 1 and target.pointer_of("num_experts_per_tok"):
            yield Finding(
                f"norm_topk_prob is not in the file; {schema.class_name if schema else ''} takes false, other readers true",
                ctx.at("norm_topk_prob"),
                related=[ctx.at("num_experts_per_tok")],
                help="write norm_topk_prob as the model was trained",
            )


class ReliedOnRotaryShare(Rule[Config]):
    """How much of a head is rotated is left to a default other than all of it.

    ## What it checks
    partial_rotary_factor, where the type's default is not 1 and the file does not say it.

    ## Why it matters
    transformers takes the class default; readers that do not know it rotate the whole head.

    ## How to fix
    Write partial_rotary_factor.

    ## References
    https://github.com/ml-explore/mlx-lm/pull/1698
    """

    name = "relied-on-rotary-share"
    severity = Severity.INFO
    cases = (
        Passes("glm", partial_rotary_factor=0.5),
        Passes("llama"),
        Fails("glm", num_attention_heads=32, at="/partial_rotary_factor"),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        for rope in target.rope.values():
            share = rope.partial_rotary_factor
            said = rope.pointers.get("partial_rotary_factor") or any(
                name in target.raw for name in ("partial_rotary_factor", "rotary_pct", "rotary_dim", "rope_pct")
            )
            if isinstance(share, int | float) and share != 1 and not said and target.schema is not None:
                yield Finding(
                    f"partial_rotary_factor is not in the file; {target.schema.class_name} takes {share:g}",
                    ctx.place(f"{target.pointer}/partial_rotary_factor"),
                    help=f"write partial_rotary_factor: {share:g}",
                )
                return


SIZES = ("num_attention_heads", "num_key_value_heads", "head_dim", "vocab_size", "num_hidden_layers", "hidden_size")


class ReliedOnTextSizes(Rule[Config]):
    """Sizes of the text part are left to the defaults of its config class.

    ## What it checks
    A text_config that states some sizes and leaves out others which its type declares.

    ## Why it matters
    transformers completes them. Converters, engines and other readers have no class defaults, or other ones.

    ## How to fix
    Write them out for readers other than transformers.

    ## References
    https://github.com/huggingface/transformers/issues/36683
    """

    name = "relied-on-text-sizes"
    severity = Severity.INFO
    requires = ("unknown-field", "name-of-another-family")
    cases = (
        Passes("llava", text_config={"model_type": "llama"}),
        Fails(
            "gemma3",
            text_config={"hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34},
            at="/text_config/num_attention_heads",
        ),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        schema = target.schema
        if schema is None or not target.pointer.endswith("/text_config") or "hidden_size" not in target.raw:
            return
        left = [
            name
            for name in SIZES
            if schema.aliases.get(name, name) in schema.fields and target.get(name) is not None
            if name in target and target.origin(name).kind == "default"
        ]
        if left:
            shown = ", ".join(f"{name} {target.get(name)}" for name in left)
            yield Finding(
                f"text_config leaves sizes to {schema.class_name}: {shown}",
                ctx.at(left[0]),
                related=[ctx.at(name) for name in left[1:]],
                help="write them out for readers other than transformers",
            )


class NestedTieOnly(Rule[Config]):
    """Whether the head is tied stands only in a part of the config, and the whole says otherwise.

    ## What it checks
    tie_word_embeddings in a sub-config that differs from what the top level comes to, where the top level does not say it.

    ## Why it matters
    transformers asks the top level for most composite models, other readers the text part: one ties the head, the other
    looks for its weights.

    ## How to fix
    Write tie_word_embeddings at the top level too.

    ## References
    transformers modeling_utils.py (tie_weights, get_text_config).
    """

    name = "nested-tie-only"
    severity = Severity.WARNING
    cases = (
        Passes("gemma3", tie_word_embeddings=False, text_config={"tie_word_embeddings": False}),
        Fails("gemma3", text_config={"tie_word_embeddings": False}, at="/text_config/tie_word_embeddings"),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        if target.pointer or "tie_word_embeddings" in target.raw or "tie_word_embeddings" not in target:
            return
        whole = target.get("tie_word_embeddings")
        for name in ("text_config", "llm_config", "language_config"):
            raw = target.raw.get(name)
            nested = raw.get("tie_word_embeddings") if isinstance(raw, dict) else None
            if isinstance(nested, bool) and isinstance(whole, bool) and nested != whole:
                yield Finding(
                    f"tie_word_embeddings is {_word(nested)} in {name}, and {_word(whole)} for the whole by default",
                    ctx.place(f"/{name}/tie_word_embeddings"),
                    related=[ctx.at("tie_word_embeddings")],
                    help="write tie_word_embeddings at the top level too",
                )


def _word(value: bool) -> str:
    return "true" if value else "false"


class TaggedFloat(Rule[Config]):
    """A number is written in the notation of transformers 5 that other readers do not know.

    ## What it checks
    With --targets: objects of the form {"__float__": "Infinity"}.

    ## Why it matters
    Readers other than transformers 5 find an object where they look for a number.

    ## How to fix
    Use a finite number.

    ## References
    transformers configuration_utils.py (_decode_special_floats).
    """

    name = "tagged-float"
    severity = Severity.WARNING
    cases = (
        Passes("mamba2", time_step_limit=[0.0, 1e308], options=Options(targets=("vllm",))),
        Fails(
            "mamba2",
            time_step_limit=[0.0, {"__float__": "Infinity"}],
            options=Options(targets=("transformers<5",)),
            at="/time_step_limit/1",
        ),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        others = [one for one in ctx.options.targets if not one.startswith("transformers") or reads_version_4(ctx)]
        if not others or target.pointer:
            return
        for pointer in _tagged(target.raw, "", 0):
            yield Finding(
                'a tagged float ({"__float__": ...}) is understood by transformers >= 5 only',
                ctx.place(pointer),
                help="use a finite number, such as 1e308 for no limit",
            )


def _tagged(value: object, pointer: str, depth: int) -> Iterator[str]:
    if depth > 8:
        return
    if isinstance(value, dict) or hasattr(value, "items"):
        items = dict(value.items())
        if set(items) == {"__float__"}:
            yield pointer
            return
        for key, one in items.items():
            yield from _tagged(one, f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}", depth + 1)
    elif isinstance(value, list) and len(value) <= 1000:
        for index, one in enumerate(value):
            yield from _tagged(one, f"{pointer}/{index}", depth + 1)


class PerLayerConfigForOldReader(Rule[Config]):
    """Differences between layers are written in a form that an older reader does not know.

    ## What it checks
    With --targets naming transformers before 5.15: per_layer_config without the older fields that say the same
    (global_head_dim, num_global_key_value_heads).

    ## Why it matters
    Such a reader ignores the object and builds every layer alike: the weights of the others do not fit.

    ## How to fix
    Write both forms.

    ## References
    transformers integrations/heterogeneity; https://github.com/ggml-org/llama.cpp/pull/26882
    """

    name = "per-layer-config-for-old-reader"
    severity = Severity.INFO
    cases = (
        Passes("gemma4", text_config={"per_layer_config": {"05": {"head_dim": 512}}}),
        Fails(
            "gemma4",
            text_config={"per_layer_config": {"05": {"head_dim": 512}}},
            options=Options(targets=("transformers<5.15",)),
            at="/text_config/per_layer_config",
        ),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        if "per_layer_config" not in target.raw or not _before_5_15(ctx):
            return
        if any(name in target.raw for name in ("global_head_dim", "num_global_key_value_heads")):
            return
        yield Finding(
            "per_layer_config is read by transformers >= 5.15 only",
            ctx.place(f"{target.pointer}/per_layer_config", key=True),
            help="write the older fields too (global_head_dim, num_global_key_value_heads)",
        )


def _before_5_15(ctx: Context) -> bool:
    for one in ctx.options.targets:
        name, _, rest = one.partition("<")
        version = parse_version(f"{rest.strip(' =')}.0" if rest else None)
        if name.strip() == "transformers" and version is not None and version <= (5, 15, 0):
            return True
        if name.strip() in ("llama.cpp", "mlx"):
            return True
    return False
