"""MoonViT and its kin: a table of positions for each row and column, rotary positions, plain layers."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.attention import Attention
from archscope.blocks.factories import kinds, rope, size
from archscope.blocks.leaves import layer_norm
from archscope.blocks.patches import patch_embedding, position_weight, sides
from archscope.blocks.towers import feed_forward, is_mounted, layers, square_attention, tower_model
from archscope.config import Config
from archscope.families.registry import family


@family("kimi_k25_vision")
def kimi_vision(c: Config) -> Architecture:
    """Positions in one tensor (rows, columns, width); sines for frames.

    Source: transformers, models/kimi_k25/modeling_kimi_k25.py (Kimi_K25VisionModel); inside the whole model the
    names are those of its first release (conversion_mapping.py).
    """
    d, first = size(c, "hidden_size"), is_mounted(c)
    at = "encoder." if first else ""
    grid = (c.pos_emb_height, c.pos_emb_width, d)
    table = "patch_embed.pos_emb.weight" if first else "patch_embed.pos_emb.position_embeddings"
    patches = patch_embedding(
        "",
        3,
        d,
        sides(c.patch_size),
        projection=f"{at}patch_embed.proj",
        positions=c.pos_emb_height * c.pos_emb_width,
        position=position_weight(table, *grid),
    )
    attend = _attention(c, name="" if first else "attn", names=("", "", "", "wo") if first else NAMES, fused=first)
    ffn = feed_forward(c, d, size(c, "intermediate_size"), names=("fc0", "fc1") if first else ("fc1", "fc2"))
    norms = ("norm0", "norm1") if first else ("norm1", "norm2")
    stacked = f"{at}blocks" if first else "layers"
    layered = layers(stacked, c.num_hidden_layers, d, attend, ffn, norms=norms, eps=1e-5)
    return tower_model(c, d, patches, layered, layer_norm(f"{at}final_layernorm", d, eps=1e-5))


@family("muse_glimmer_vision", "muse_spark_vision")
def muse_vision(c: Config) -> Architecture:
    """Flat patches of frames, norms before and after the layers, windows of pos_emb_height in most layers.

    Source: transformers, models/muse_glimmer/modeling_muse_glimmer.py (MuseGlimmerVisionModel).
    """
    d = size(c, "hidden_size")
    patches = patch_embedding(
        "patch_embedder",
        3,
        d,
        (c.patch_temporal, *sides(c.patch_size)),
        bias=False,
        flat=True,
        positions=c.pos_emb_height * c.pos_emb_width,
        position="position_embedding_table",
    )
    return tower_model(
        c,
        d,
        patches,
        layer_norm("ln_pre", d, eps=c.layer_norm_eps),
        layers(
            "layers",
            c.num_hidden_layers,
            d,
            lambda kind: _attention(c, chunk=c.pos_emb_height**2 if kind == "window_attention" else None),
            feed_forward(c, d, size(c, "intermediate_size")),
            norms=("norm1", "norm2"),
            eps=c.layer_norm_eps,
            kinds=kinds(c, "layer_types"),
        ),
        layer_norm("ln_post", d, eps=c.layer_norm_eps),
    )


NAMES = ("q_proj", "k_proj", "v_proj", "proj")


def _attention(
    c: Config,
    *,
    name: str = "attn",
    names: tuple[str, str, str, str] = NAMES,
    fused: bool = False,
    chunk: int | None = None,
) -> Attention:
    d, heads = size(c, "hidden_size"), c.num_attention_heads
    return square_attention(
        d,
        heads,
        name=name,
        names=names,
        fused="wqkv" if fused else "",
        position="rope",
        chunk=chunk,
        rotary=rope(c, dim=int(d // heads)),
    )
