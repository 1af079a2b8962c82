"""Gemma 4's decoders: per-layer inputs, shared keys and values, keys as values, experts beside the MLP; assistants."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from typing import NamedTuple

from archscope.blocks.assembly import Architecture, Branch, Layer, Sublayer, Tower
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, group, present, weight
from archscope.blocks.factories import attention, mlp, moe, named_norm, size, sliding_window, stacked_experts
from archscope.blocks.joined import summed
from archscope.blocks.leaves import Norm, embedding, linear
from archscope.blocks.moe import Moe
from archscope.blocks.plans import Overrides, layer_overrides, reusing_layers
from archscope.blocks.side_inputs import per_layer_input
from archscope.blocks.size import Size
from archscope.blocks.skeletons import decoder, tied_names, vocabulary_head, with_head
from archscope.config import Config
from archscope.families.registry import family, tower


class _Own(NamedTuple):
    """What only some of the types have: inputs for every layer, experts, keys that are values in full layers."""

    side: int = 0
    experts: bool = False
    keys_are_values: bool = False


@family("gemma4_text")
def gemma4_text(c: Config) -> Architecture:
    """Sliding and full layers with head sizes of their own; per-layer inputs and experts where the config has them.

    Source: transformers, models/gemma4/modeling_gemma4.py (Gemma4TextDecoderLayer, Gemma4TextModel).
    """
    own = _Own(c.hidden_size_per_layer_input or 0, bool(c.enable_moe_block), bool(c.attention_k_eq_v))
    return with_head(c, _tower(c, own, _reused(c)))


@family("gemma4_unified_text")
def gemma4_unified_text(c: Config) -> Architecture:
    """Gemma 4's layer without per-layer inputs and experts.

    Source: transformers, models/gemma4_unified/modeling_gemma4_unified.py (Gemma4UnifiedTextDecoderLayer).
    """
    return with_head(c, _tower(c, _Own(keys_are_values=bool(c.attention_k_eq_v)), _reused(c)))


@family("diffusion_gemma_text")
def diffusion_gemma_text(c: Config) -> Architecture:
    """Gemma 4's layer with experts, and keys that are values in every full layer.

    Source: transformers, models/diffusion_gemma/modeling_diffusion_gemma.py (DiffusionGemmaEncoderTextModel).
    """
    made = _tower(c, _Own(experts=True, keys_are_values=True), ("",) * c.num_hidden_layers)
    known = c.task == "model" or c.model_class in ("", "DiffusionGemmaEncoderTextModel")
    return Architecture(parts=(made,), partial="" if known else f"what {c.model_class} builds is not known")


@family("gemma4_assistant", "gemma4_unified_assistant")
def gemma4_assistant(c: Config) -> Architecture:
    """A small decoder that drafts for a large one: it reads the large one's states, and its keys and values.

    Source: transformers, models/gemma4_assistant/modeling_gemma4_assistant.py, models/gemma4_unified_assistant.
    """
    text, backbone = c.sub("text_config"), Size(c.backbone_hidden_size, "d_backbone")
    d = size(text, "hidden_size")
    model = tower(text, "model")
    tied_to = "model.embed_tokens.weight" if c.tie_word_embeddings else ""
    logits = vocabulary_head(text, d, tied_to=tied_to)
    centroids = group(
        "masked_embedding",
        linear("centroids", d, c.num_centroids),
        weight("token_ordering", size(text, "vocab_size"), parameter=False),
        role="centroids",
    )
    parts = present(
        linear("pre_projection", 2 * backbone, d),
        model,
        logits,
        linear("post_projection", d, backbone),
        centroids if c.use_ordered_embeddings else None,
    )
    known = c.task == "causal_lm"
    partial = "" if known else f"the head of {c.model_class or 'this class'} is not known"
    return Architecture(parts=parts, tied=tied_names(logits, ""), partial=partial)


def _reused(c: Config) -> tuple[str, ...]:
    outside = c.num_kv_shared_layers == c.num_hidden_layers
    return ("another model",) * c.num_hidden_layers if outside else reusing_layers(c)


def _tower(c: Config, has: _Own, reused: tuple[str, ...]) -> Tower:
    overrides = layer_overrides(c, "head_dim", "num_key_value_heads")
    return decoder(
        c,
        lambda kind: _layer(c, has, *kind),
        kinds=tuple(zip(c.layer_types, reused, overrides, strict=False)),
        embed_scale=sqrt(c.hidden_size),
        before=_per_layer(c, has.side) if has.side else (),
        final_norm=named_norm(c)("norm"),
    )


def _layer(c: Config, has: _Own, layer_type: str, reuses: str, own: Overrides) -> Layer:
    norm, d = named_norm(c), size(c, "hidden_size")
    mixer = Branch(
        pre=norm("input_layernorm"),
        body=_attention(c, has.keys_are_values and layer_type != "sliding_attention", layer_type, reuses, dict(own)),
        post=norm("post_attention_layernorm"),
    )
    wide = 2 if reuses and c.use_double_wide_mlp else 1
    dense: Block = mlp(c, width=wide * size(c, "intermediate_size"), activation=c.hidden_activation)
    pre, post = norm("pre_feedforward_layernorm"), norm("post_feedforward_layernorm")
    wider = Branch(body=_beside(c, pre, dense), post=post) if has.experts else Branch(pre=pre, body=dense, post=post)
    last = Branch(body=per_layer_input(d, has.side, norm("post_per_layer_input_norm"))) if has.side else None
    sublayers = tuple(Sublayer(branches=(branch,)) for branch in (mixer, wider, last) if branch is not None)
    label = layer_type.replace("_", " ") + (" · shared keys and values" if reuses else "")
    return Layer(sublayers=sublayers, width=d, label=label, extras=(weight("layer_scalar", 1, parameter=False),))


def _attention(c: Config, keys_only: bool, kind: str, reuses: str, own: dict[str, int | None]) -> Attention:
    """Full layers may take their keys for values."""
    width: int = own.get("head_dim", c.head_dim)  # type: ignore[assignment]
    made = attention(
        c,
        bias=c.attention_bias,
        head_dim=width,
        num_kv_heads=own.get("num_key_value_heads", c.num_key_value_heads),
        qk_norm="head",
        extras=(Norm(name="v_norm", role="v_norm", size=width, affine=False),),
        causal=c.use_bidirectional_attention != "all",
        layer_type=kind,
        window=sliding_window(c, kind),
        scale=1.0,
        cache=not reuses,
    )
    absent: tuple[str, ...] = ("k", "v", "k_norm", "v_norm") if reuses else ()
    if not reuses and keys_only:
        absent = ("v",)
    return replace(made, reuses=reuses, parts=tuple(part for part in made.parts if part.role not in absent))


def _beside(c: Config, pre: Norm, dense: Block) -> Block:
    """The MLP and the experts, each with norms before and after, added."""
    norm = named_norm(c)
    return summed(
        size(c, "hidden_size"),
        group("", pre, dense, norm("post_feedforward_layernorm_1"), role="dense"),
        group(
            "", norm("pre_feedforward_layernorm_2"), _experts(c), norm("post_feedforward_layernorm_2"), role="routed"
        ),
        role="feed forward",
    )


def _experts(c: Config) -> Moe:
    """The router scales its normed input, and each expert's answer."""
    d, e = size(c, "hidden_size"), Size(c.num_experts, "E")
    made = moe(
        c,
        name="",
        num_experts=e,
        top_k=c.top_k_experts,
        width=c.moe_intermediate_size,
        router="router",
        scores="proj",
        stacked=stacked_experts(e, d, c.moe_intermediate_size),
        activation=c.hidden_activation,
        normalised=True,
        fields=("num_experts", "top_k_experts", "moe_intermediate_size"),
    )
    scales = (weight("scale", d), weight("per_expert_scale", e))
    return replace(made, role="moe", router=replace(made.router, parts=(*made.router.parts, *scales)))


def _per_layer(c: Config, side: int) -> tuple[Block, ...]:
    """The table of per-layer embeddings, and what makes the same of the token's embedding."""
    each = Size(side, "d_ple")
    wide, rows = c.num_hidden_layers * each, c.vocab_size_per_layer_input
    of = "token, for each layer"
    return (
        embedding("embed_tokens_per_layer", rows, wide, of=of, role="side embedding", scale=sqrt(each)),
        linear("per_layer_model_projection", size(c, "hidden_size"), wide, role="side projection"),
        replace(named_norm(c, size_of=each)("per_layer_projection_norm"), role="side norm"),
    )
