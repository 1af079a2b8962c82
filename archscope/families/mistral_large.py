"""Mistral Large 4: latent attention over indexed positions, layers that share a latent, a vision tower; saved natively."""

from __future__ import annotations

from dataclasses import replace

from archscope.blocks.assembly import Architecture, Head
from archscope.blocks.base import Block, group, weight
from archscope.blocks.composites import Mount, assemble
from archscope.blocks.factories import kinds, latent_attention, mlp, moe, size
from archscope.blocks.indexer import sparse_indexer
from archscope.blocks.latent_attention import LatentAttention
from archscope.blocks.leaves import layer_norm, linear, regroup, rms_norm
from archscope.blocks.moe import Moe
from archscope.blocks.projectors import Projector
from archscope.blocks.renaming import renamed
from archscope.blocks.size import Size
from archscope.blocks.skeletons import pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family, tower

ATTENTION = {"q_proj": "wq", "k_proj": "wk", "v_proj": "wv", "o_proj": "wo"}
FEED_FORWARD = {"gate_proj": "w1", "down_proj": "w2", "up_proj": "w3"}
ROOT = {"embed_tokens": "tok_embeddings", "rotary_emb.alpha": "lerope.alpha"}


@family("mistral_large4_text")
def mistral_large4_text(c: Config) -> Architecture:
    """Layers with and without rotation; some attend to the latent, or to the indices, of an earlier layer.

    Source: transformers, models/mistral_large4/modeling_mistral_large4.py (MistralLarge4TextAttention).
    """
    by_layer = tuple(zip(_shares(c), kinds(c, "no_rope_layers", "indexer_types", "mlp_layer_types"), strict=True))
    base = pre_norm_decoder(
        c,
        lambda kind: _attention(c, bool(kind[1][0]), kind[1][1] != "shared", kind[0]),
        lambda kind: _experts(c) if kind[1][2] == "sparse" else mlp(c, name="feed_forward"),
        norms=("attention_norm", "ffn_norm"),
        kinds=by_layer,
    )
    scales = weight("rotary_emb.alpha", _frequencies(c), role="side rotary scales")
    return with_head(c, replace(base, parts=(*base.parts, scales)))


@family("mistral_large4")
def mistral_large4(c: Config) -> Architecture:
    """The text model with Pixtral's tower and a projector; the class with a head saves Mistral's own names.

    Source: transformers, models/mistral_large4/modeling_mistral_large4.py; names as its conversion saves them.
    """
    text, vision = c.sub("text_config"), c.sub("vision_config")
    based = c.task == "model"
    body = _native(tower(text, "language_model" if based else ""), {} if based else ROOT)
    sight = _native(tower(vision, "vision_tower" if based else "vision_encoder", "vision"), {})
    at = Mount("", body.name, "output")
    table = "embed_tokens" if based else "tok_embeddings"
    tie = bool(c.get("tie_word_embeddings"))
    made = assemble(c, at, body, sight, _projector(c, based), text_config=text, table=table, tie=False)
    head = made.parts[-1]
    if not tie or not isinstance(head, Head):
        return made
    shared = tuple(replace(part, tied_to=f"{table}.weight") for part in head.parts)
    return replace(
        made, parts=(*made.parts[:-1], replace(head, parts=shared)), tied=(("output.weight", f"{table}.weight"),)
    )


def _native(part: Block, root: dict[str, str]) -> Block:
    """The renames of the whole model's conversion, which reach into both towers."""

    def rule(around: str, name: str) -> str:
        if around == "attention":
            return ATTENTION.get(name, name)
        return FEED_FORWARD.get(name, name) if around in ("feed_forward", "shared_experts") else root.get(name, name)

    return renamed(part, rule)


def _projector(c: Config, based: bool) -> Projector:
    text, vision = c.sub("text_config"), c.sub("vision_config")
    d, d_v, side = size(text, "hidden_size"), size(vision, "hidden_size"), c.spatial_merge_size
    layers = len(c.vision_feature_layer) if isinstance(c.vision_feature_layer, list | tuple) else 1
    norm, merger, first, second = (
        ("norm", "patch_merger.merging_layer", "linear_1", "linear_2")
        if based
        else (
            "pre_mm_projector_norm",
            "patch_merger.merging_layer",
            "vision_language_adapter.w_in",
            "vision_language_adapter.w_out",
        )
    )
    bias = c.multimodal_projector_bias
    return Projector(
        name="multi_modal_projector" if based else "",
        parts=(
            rms_norm(norm, d_v, eps=text.rms_norm_eps),
            regroup("patch merge", d_v, d_v * side**2),
            linear(merger, d_v * side**2, d_v),
            linear(first, d_v * layers, d, bias),
            linear(second, d, d, bias),
        ),
        source_width=d_v,
        target_width=d,
        note=f"{side} x {side} patches merged",
    )


def _shares(c: Config) -> tuple[bool, ...]:
    """Whether a layer attends to the latent of another; one that others attend to keeps its own."""
    source = c.kv_source_layers
    last = {layer: i for i, layer in enumerate(source)}
    return tuple(source[i] != i and last.get(i, -1) <= i for i in range(c.num_hidden_layers))


def _attention(c: Config, rotates: bool, indexed: bool, shares: bool) -> LatentAttention:
    heads = size(c, "num_attention_heads")
    nope, rotary = c.qk_nope_head_dim, c.qk_rope_head_dim
    extras = (_softmax_scaling("ssmax_scaling", heads), *((_indexer(c),) if indexed else ()))
    sizes = {
        "q_lora_rank": None,
        "qk_rope_head_dim": rotary if rotates else 0,
        "qk_nope_head_dim": nope + (0 if rotates else rotary),
    }
    made = latent_attention(c, name="attention", bias=c.attention_bias, sizes=sizes, extras=extras)
    names = {"q": "wq", "kv_a": "wkv_a_with_mqa", "kv_a_norm": "kv_a_norm", "kv_b": "wkv_b"}
    parts = tuple(
        replace(part, name=names.get(part.role, part.name))
        for part in made.parts
        if not (shares and part.role in ("kv_a", "kv_a_norm"))
    )
    return replace(made, parts=parts, reuses="an earlier layer" if shares else "")


def _indexer(c: Config) -> Block:
    d, heads = size(c, "hidden_size"), c.index_n_heads
    extras = (layer_norm("q_input_norm", d, eps=1e-6), _softmax_scaling("ssmax_scaling", heads))
    return sparse_indexer(d, d, num_heads=heads, head_dim=c.index_head_dim, top_k=c.index_topk, extras=extras)


def _softmax_scaling(name: str, heads: int) -> Block:
    """Queries grow with the logarithm of the position, by a scale and a bias a head."""
    return group(name, weight("s", heads), weight("b", heads), role="scaling")


def _experts(c: Config) -> Moe:
    """Saved beside the layer's other parts, without a module around them."""
    e, m = Size(c.n_routed_experts, "E"), c.moe_intermediate_size
    return moe(
        c,
        name="",
        num_experts=e,
        top_k=c.num_experts_per_tok,
        width=m,
        names=("w1", "w3", "w2"),
        normalised=True,
        scale=c.routed_scaling_factor,
        groups=c.n_group,
        top_groups=c.topk_group,
        shared=mlp(
            c,
            name="shared_experts",
            role="shared",
            width=Size(m * c.n_shared_experts, "m_e·n_shared"),
            fields=("n_shared_experts", "moe_intermediate_size"),
        ),
        num_shared=c.n_shared_experts,
        fields=("n_routed_experts", "num_experts_per_tok", "moe_intermediate_size"),
    )


def _frequencies(c: Config) -> int:
    """One learned scale for every pair of rotated elements."""
    rotary = c.rope.get("")
    share = 1.0 if rotary is None or rotary.rope_type == "default" else rotary.partial_rotary_factor
    return -(-int(c.head_dim * (1.0 if share is None else share)) // 2)
