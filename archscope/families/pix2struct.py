"""Pix2Struct and the tower that Kosmos-2.5 takes from it: flat patches of any page, tables for rows and columns."""

from __future__ import annotations

from dataclasses import replace

from archscope.blocks.assembly import Architecture, Tower, pre_norm, stack
from archscope.blocks.attention import Attention
from archscope.blocks.base import weight
from archscope.blocks.factories import size
from archscope.blocks.leaves import embedding, linear, rms_norm
from archscope.blocks.mlp import gated_mlp
from archscope.blocks.patches import PatchEmbedding
from archscope.blocks.size import Size
from archscope.blocks.skeletons import head, tied_names
from archscope.blocks.towers import layers, square_attention, tower_model
from archscope.config import Config
from archscope.families.registry import family, tower

TEXT_FIELDS = ("num_heads", "hidden_size")


@family("pix2struct")
def pix2struct(c: Config) -> Architecture:
    """The patches of a page in, a text out; the head is inside the decoder.

    Source: Pix2Struct (arXiv 2210.03347); transformers, models/pix2struct/modeling_pix2struct.py.
    """
    page = tower(c.sub("vision_config"), "encoder", "vision")
    # The whole model's choice to tie replaces that of its text config.
    text = _text(c.sub("text_config"), "decoder", bool(c.tie_word_embeddings))
    known = c.model_class == "Pix2StructForConditionalGeneration"
    return Architecture(
        parts=(page, text),
        tied=tied_names(text, ""),
        partial="" if known else f"what {c.model_class} builds is not known",
    )


@family("pix2struct_text_model")
def pix2struct_text(c: Config) -> Architecture:
    """The decoder alone, with cross-attention and its head.

    Source: transformers, models/pix2struct/modeling_pix2struct.py (Pix2StructTextModel).
    """
    text = _text(c, "", bool(c.tie_word_embeddings))
    known = not c.model_class or c.model_class == "Pix2StructTextModel"
    return Architecture(
        parts=(text,), tied=tied_names(text, ""), partial="" if known else f"what {c.model_class} builds is not known"
    )


@family("pix2struct_vision_model")
def pix2struct_vision(c: Config) -> Architecture:
    """Gated feed-forward blocks, RMSNorm, no biases but that of the patches.

    Source: Pix2Struct (arXiv 2210.03347); transformers, models/pix2struct/modeling_pix2struct.py.
    """
    return _vision(c, c.seq_len, Size(c.d_kv, "d_h"), Size(c.d_ff, "m"), c.dense_act_fn)


@family("kosmos_2_5_vision_model")
def kosmos25_vision(c: Config) -> Architecture:
    """Pix2Struct's tower.

    Source: transformers, models/kosmos2_5/modeling_kosmos2_5.py (Kosmos2_5VisionModel).
    """
    return _vision(c, c.max_num_patches, Size(c.head_dim, "d_h"), size(c, "intermediate_size"), c.dense_act_fn)


def _vision(c: Config, positions: int, width: int, inner: int, activation: str) -> Architecture:
    d, eps = size(c, "hidden_size"), c.layer_norm_eps
    patches = PatchEmbedding(
        name="embeddings",
        role="patch embedding",
        channels=3,
        patch=(c.patch_embed_hidden_size,),
        hidden=d,
        num_positions=positions,
        parts=(
            linear("patch_projection", c.patch_embed_hidden_size, d, True, role="projection"),
            embedding("row_embedder", positions, d, of="row", role="position"),
            embedding("column_embedder", positions, d, of="column", role="position"),
        ),
        fields=("patch_embed_hidden_size", "hidden_size"),
    )
    layered = layers(
        "encoder.layer",
        c.num_hidden_layers,
        d,
        _attention(c, width),
        gated_mlp(d, inner, activation, names=("wi_0", "wi_1", "wo")),
        norm=rms_norm,
        norms=("pre_attention_layer_norm", "pre_mlp_layer_norm"),
        eps=eps,
    )
    return tower_model(c, d, patches, layered, rms_norm("layernorm", d, eps=eps))


def _attention(c: Config, width: int) -> Attention:
    d, heads = size(c, "hidden_size"), Size(c.num_attention_heads, "h_q")
    inner = heads * width
    return Attention(
        name="attention",
        num_heads=heads,
        num_kv_heads=heads,
        head_dim=width,
        v_head_dim=width,
        parts=(
            linear("query", d, inner, role="q"),
            linear("key", d, inner, role="k"),
            linear("value", d, inner, role="v"),
            linear("output", inner, d, role="o"),
        ),
        causal=False,
        cache=False,
        position="learned",
        scale=1.0,
        fields=("num_attention_heads", "d_kv", "hidden_size"),
    )


def _text(c: Config, name: str, tied: bool) -> Tower:
    """T5's decoder under names of its own; the first layer's buckets of relative positions count for all."""
    d, eps, words = size(c, "hidden_size"), c.layer_norm_epsilon, size(c, "vocab_size")
    at, last = (
        f"{name}." if name else "",
        gated_mlp(d, Size(c.d_ff, "m"), c.dense_act_fn, name="mlp.DenseReluDense", names=("wi_0", "wi_1", "wo")),
    )
    layered = stack(
        "layer",
        [index == 0 for index in range(c.num_hidden_layers)],
        lambda first: pre_norm(
            (
                rms_norm("self_attention.layer_norm", d, eps=eps),
                _text_attention(c, "self_attention.attention", first=bool(first)),
            ),
            (
                rms_norm("encoder_decoder_attention.layer_norm", d, eps=eps),
                _text_attention(c, "encoder_decoder_attention.attention", memory=d),
            ),
            (rms_norm("mlp.layer_norm", d, eps=eps), last),
        ),
        width=d,
    )
    logits = linear("lm_head", d, words, role="logits", tied_to=f"{at}embed_tokens.weight" if tied else "")
    table = embedding("embed_tokens", words, d, role="embedding")
    parts = (table, layered, rms_norm("final_layer_norm", d, eps=eps), head("image_text_to_text", logits))
    return Tower(name=name, parts=parts, tower="decoder", model_type=c.model_type, pointer=c.pointer, width=d)


def _text_attention(c: Config, name: str, *, first: bool = False, memory: int | None = None) -> Attention:
    """Attention without scaling over square matrices, which the heads of d_kv must fill."""
    heads = c.num_attention_heads
    buckets = weight("relative_attention_bias.weight", c.relative_attention_num_buckets, heads, role="bias")
    made = square_attention(
        size(c, "hidden_size"),
        heads,
        name=name,
        names=("query", "key", "value", "output"),
        bias=False,
        extras=(buckets,) if first else (),
        position="none" if memory else "relative",
        causal=bool(c.is_decoder) and memory is None,
        cache=True,
        memory=memory,
        scale=1.0,
        fields=TEXT_FIELDS,
    )
    return replace(made, head_dim=Size(c.d_kv, "d_h"), v_head_dim=Size(c.d_kv, "d_h"))
