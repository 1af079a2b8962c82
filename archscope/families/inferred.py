"""A guess at what an unknown type builds: the decoder that most language models are, of the sizes that the fields name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from archscope.blocks.assembly import Architecture, Opaque
from archscope.blocks.base import Block
from archscope.blocks.factories import attention, latent_attention, mlp, moe, named_norm
from archscope.blocks.routed import sparse_layers
from archscope.blocks.size import Size
from archscope.blocks.skeletons import pre_norm_decoder, with_head
from archscope.blocks.undeclared import completed_decoder, first, flag, part_of, refuse_mistyped, refuse_nonsense, whole
from archscope.config import Config
from archscope.families import registry

GUESSED = "guessed from the names of fields: nothing is known of model type "
NEEDED = ("hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size")
TEXT = ("text_config", "llm_config", "language_config", "llm_cfg", "language_model_config", "thinker_config")
PLAIN = ("gelu", "relu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh", "relu2", "quick_gelu")
EXPERTS = ("num_experts", "num_experts_per_tok")
LATENT = ("kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")


def infer(c: Config) -> Architecture | None:
    """The decoder that the fields describe, or the text part of a composite; None where they describe neither.

    Raises: whatever arithmetic on the values raises.
    """
    if c.get("is_encoder_decoder") or (c.schema is not None and c.task != "causal_lm"):
        return None
    made = _decoder(c) if _has(c, NEEDED) else next(_composites(c), None)
    if made is not None:
        refuse_mistyped(made.parts)
    return made


def _composites(c: Config) -> Iterator[Architecture]:
    for name in TEXT:
        text = part_of(c, name)
        if text is not None and _has(text, NEEDED):
            yield _composite(c, name, text)


def _composite(c: Config, name: str, text: Config) -> Architecture:
    """The text part by its own type, where that is known, beside parts that are not."""
    known = registry.builder_of(text.model_type) is not None
    parts = registry.mounted(text.as_task("causal_lm"), "language_model") if known else _decoder(text).parts
    others = tuple(
        Opaque(name=key, model_type=kind, reason=f"nothing is known of {key}") for key, kind in _other_parts(c, name)
    )
    return Architecture(parts=(*parts, *others), partial=_reason(c), fidelity="inferred")


def _other_parts(c: Config, text: str) -> Iterator[tuple[str, str]]:
    for key, value in c.values.items():
        inside = isinstance(value, Mapping) and key != text and key != "quantization_config"
        if inside and key.isidentifier() and whole(value.get("hidden_size")) is not None:
            kind = value.get("model_type")
            yield key, kind if isinstance(kind, str) else ""


def _decoder(c: Config) -> Architecture:
    refuse_nonsense(c)
    c = completed_decoder(c)
    norm = named_norm(c, "layer" if c.get("rms_norm_eps") is None or "rms_norm_eps" not in c.raw else "rms")
    experts = _has(c, EXPERTS) and c.num_experts > 1
    tower = pre_norm_decoder(
        c,
        lambda kind: _mixer(c),
        lambda kind: _experts(c) if kind == "moe" else _feed_forward(c),
        norm=norm,
        kinds=sparse_layers(c, first(c, "first_k_dense_replace", default=0) if experts else c.num_hidden_layers),
    )
    made = with_head(c, tower)
    return Architecture(parts=made.parts, tied=made.tied, partial=_reason(c), fidelity="inferred")


def _mixer(c: Config) -> Block:
    if _has(c, LATENT):
        return latent_attention(c, bias=flag(c, "attention_bias"))
    bias = flag(c, "attention_bias", "qkv_bias", "use_qkv_bias", "add_qkv_bias", "use_bias")
    heads = flag(c, "use_qk_norm", "qk_norm", "qk_layernorm", "use_qk_layernorm")
    causal = not c.model_class.endswith("ForMaskedLM")
    return attention(
        c,
        bias=bias,
        out_bias=flag(c, "attention_bias", "use_bias"),
        qk_norm="head" if heads else "",
        causal=causal,
        cache=causal,
        position="alibi" if flag(c, "alibi", "use_alibi") else "rope",
    )


def _feed_forward(c: Config) -> Block:
    """Of intermediate_size, else of four times the hidden size; gated unless the activation is one of plain blocks."""
    given = whole(c.get("intermediate_size"))
    width = Size(4 * c.hidden_size if given is None else given, "m")
    plain = given is None or c.get("hidden_act") in PLAIN
    names = ("up_proj", "down_proj") if plain else ()
    return mlp(c, kind="plain" if plain else "gated", names=names, width=width, bias=flag(c, "mlp_bias", "use_bias"))


def _experts(c: Config) -> Block:
    width = first(c, "moe_intermediate_size", "intermediate_size")
    shared = first(c, "n_shared_experts", "num_shared_experts", default=0)
    return moe(
        c,
        num_experts=c.num_experts,
        top_k=c.num_experts_per_tok,
        width=width,
        shared=mlp(c, name="shared_experts", role="shared", width=width * shared) if shared else None,
        num_shared=shared,
    )


def _has(c: Config, names: tuple[str, ...]) -> bool:
    return all(whole(c.get(name)) is not None for name in names)


def _reason(c: Config) -> str:
    return f"{GUESSED}{c.model_type[:60]!r}" if c.model_type else "guessed from the names of fields: no model_type"
