"""Pix2Struct and the tower that Kosmos-2.5 takes from it: flat patches of any page, tables for rows and columns."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.attention import Attention
from archscope.blocks.factories import size
from archscope.blocks.leaves import embedding, linear, rms_norm
from archscope.blocks.mlp import gated_mlp
from archscope.blocks.patches import PatchEmbedding
from archscope.blocks.size import Size
from archscope.blocks.towers import layers, tower_model
from archscope.config import Config
from archscope.families.registry import family


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
