"""One fact under two names: conflicts between them, and names that the type does not read."""

from __future__ import annotations

from collections.abc import Iterator

from archscope.config import Config, Schema
from archscope.config.known import known_keys
from archscope.diagnostics import Edit, Fix, Severity
from archscope.rules.base import Context, Fails, Finding, Passes, Rule
from archscope.source import path_of

SYNONYMS: tuple[tuple[str, ...], ...] = (
    ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts", "num_moe_experts"),
    ("num_experts_per_tok", "num_experts_per_token", "experts_per_token", "moe_topk", "moe_k"),
    ("n_shared_experts", "num_shared_experts", "moe_num_shared_experts"),
    ("num_key_value_heads", "num_kv_heads", "n_kv_heads", "multi_query_group_num", "num_query_groups", "n_head_kv"),
    ("num_attention_heads", "n_head", "n_heads", "num_heads"),
    ("hidden_size", "n_embd", "d_model", "n_embed"),
    ("num_hidden_layers", "n_layer", "n_layers"),
    ("intermediate_size", "ffn_hidden_size", "ffn_dim", "n_inner", "d_ff"),
    ("rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon", "norm_eps", "norm_epsilon", "layernorm_epsilon"),
    ("attention_bias", "qkv_bias", "use_qkv_bias", "attn_bias", "attention_qkv_bias", "add_qkv_bias"),
    ("hidden_act", "hidden_activation", "activation_function"),
    ("sliding_window", "sliding_window_size", "window_size"),
    ("tie_word_embeddings", "tie_embeddings", "tied_embeddings"),
    ("head_dim", "attention_head_dim", "kv_channels"),
)
"""Names of one fact in different families. Source: the config classes of transformers 5.24.0."""


class ConflictingNames(Rule[Config]):
    """Two names of one fact have different values.

    ## What it checks
    A field against its aliases in the type (attribute_map), and sizes against the names that other families have for them,
    where the type reads one of the two.

    ## Why it matters
    transformers takes one without a word (an alias beats the declared field), other readers take the other.

    ## How to fix
    Keep one name, or make the values equal.

    ## References
    transformers configuration_utils.py (attribute_map).
    """

    name = "conflicting-names"
    severity = Severity.ERROR
    cases = (
        Passes("gpt2", n_embd=768, hidden_size=768),
        Passes("gpt_oss", num_local_experts=32, num_experts=32),
        Fails("gpt2", n_layer=2, num_hidden_layers=6, at="/num_hidden_layers"),
        Fails("gpt_oss", num_local_experts=128, num_experts=4, at="/num_experts"),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        if target.schema is None:
            return
        for other, field in _pairs(target.schema, target):
            a, b = target.raw[other], target.raw[field]
            if a != b and a is not None and b is not None and type(a) is type(b) and not isinstance(a, dict | list):
                yield Finding(
                    f"{other} is {a!r:.40} and {field}, another name of the same, is {b!r:.40}",
                    ctx.place(f"{target.pointer}/{other}"),
                    related=[ctx.place(f"{target.pointer}/{field}")],
                    help="keep one name, or make the values equal",
                )


def _pairs(schema: Schema, config: Config) -> Iterator[tuple[str, str]]:
    """(name that is not the type's own, the type's own) of one fact, where the file has both."""
    seen = set()
    for alias, field in schema.aliases.items():
        if alias in config.raw and field in config.raw:
            seen.add((alias, field))
            yield alias, field
    for names in SYNONYMS[:3]:
        own = [name for name in names if name in schema.fields and name in config.raw]
        for other in names:
            foreign = other in config.raw and other not in schema.fields and other not in schema.aliases
            if own and foreign and (other, own[0]) not in seen:
                yield other, own[0]


class NameOfAnotherFamily(Rule[Config]):
    """A fact is stated under the name that another family has for it.

    ## What it checks
    Keys that the type does not read, but that name a fact which the type has under another name, where the file does not say
    that one and the two values differ.

    ## Why it matters
    transformers keeps the key and builds with the default of the field that it does read.

    ## How to fix
    Rename the key as the help says.

    ## References
    The config classes of transformers.
    """

    name = "name-of-another-family"
    severity = Severity.WARNING
    requires = ("unknown-field",)
    cases = (
        Passes("qwen3", attention_bias=True),
        Passes("qwen3", qkv_bias=False),
        Fails("qwen3", qkv_bias=True, at="/qkv_bias"),
        Fails("llama", num_kv_heads=8, at="/num_kv_heads"),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        schema = target.schema
        if schema is None:
            return
        known = known_keys(target.model_type)
        for names in SYNONYMS:
            for key in names:
                if key not in target.raw or key in known:
                    continue
                own = next((name for name in names if name in schema.fields), None)
                if own is None or target.pointer_of(own) or any(n in target.raw for n in names if n in known):
                    continue
                value, taken = target.raw[key], target.get(own)
                if value == taken or value is None or isinstance(value, dict | list):
                    continue
                span = ctx.document.key_span(path_of(f"{target.pointer}/{key}"))
                edits = (Edit(ctx.document.name, span.start, span.end, f'"{own}"'),) if span else ()
                yield Finding(
                    f"{schema.class_name} does not read {key}; it takes {own} = {taken!r:.40}",
                    ctx.place(f"{target.pointer}/{key}", key=True),
                    related=[ctx.place(f"{target.pointer}/{own}", f"{own} is not there")],
                    help=f"rename {key} to {own} if {value!r:.40} is meant",
                    fixes=(Fix(f"rename {key} to {own}", edits),) if edits else (),
                )


class ConflictingRotaryShare(Rule[Config]):
    """Two fields say how much of a head is rotated, and disagree.

    ## What it checks
    rotary_dim against partial_rotary_factor x head_dim, where the file has both.

    ## Why it matters
    Readers take one or the other; with the wrong share the model talks nonsense without an error.

    ## How to fix
    Make rotary_dim equal to partial_rotary_factor x head_dim.

    ## References
    transformers models/minimax_m2/configuration_minimax_m2.py (rotary_dim / head_dim).
    """

    name = "conflicting-rotary-share"
    severity = Severity.WARNING
    requires = ("wrong-type",)
    cases = (
        Passes("glm", head_dim=128, partial_rotary_factor=0.5, rotary_dim=64),
        Fails("glm", head_dim=128, partial_rotary_factor=0.5, rotary_dim=128, at="/rotary_dim"),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        rotated, width = target.raw.get("rotary_dim"), target.get("head_dim")
        share = next((rope.partial_rotary_factor for rope in target.rope.values()), None)
        written = "partial_rotary_factor" in target.raw or any(
            rope.pointers.get("partial_rotary_factor") for rope in target.rope.values()
        )
        if not isinstance(rotated, int) or not isinstance(width, int) or not written or width < 1:
            return
        if isinstance(share, int | float) and int(width * share) != rotated:
            yield Finding(
                f"rotary_dim is {rotated}, but partial_rotary_factor {share:g} x head_dim {width} is {width * share:g}",
                ctx.place(f"{target.pointer}/rotary_dim"),
                related=[ctx.place(f"{target.pointer}/partial_rotary_factor"), ctx.at("head_dim")],
                help=f"write rotary_dim: {int(width * share)}",
            )
