"""The vision towers of Llama 3.2 and Llama 4."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Layer, Stack, pre_norm, stack
from archscope.blocks.attention import Attention, Position
from archscope.blocks.base import Block, Group, group, weight
from archscope.blocks.factories import attention, rope, size
from archscope.blocks.leaves import embedding, layer_norm, linear, regroup
from archscope.blocks.mlp import Mlp
from archscope.blocks.patches import class_token, patch_embedding, position_weight, sides
from archscope.blocks.projectors import projector
from archscope.blocks.towers import feed_forward, layers, tower_model
from archscope.config import Config
from archscope.families.registry import family

NORMS = ("input_layernorm", "post_attention_layernorm")


@family("llama4_vision_model")
def llama4_vision(c: Config) -> Architecture:
    """Unfolded patches, learned and rotary positions, a pixel shuffle with two matrices at the end.

    Source: transformers, models/llama4/modeling_llama4.py (Llama4VisionModel).
    """
    d, positions = size(c, "hidden_size"), (c.image_size // c.patch_size) ** 2 + 1
    patches = patch_embedding(
        "",
        c.num_channels,
        d,
        sides(c.patch_size),
        projection="patch_embedding.linear",
        bias=False,
        flat=True,
        token=class_token("class_embedding", d),
        positions=positions,
        position=position_weight("positional_embedding_vlm", positions, d),
    )
    return tower_model(
        c,
        d,
        patches,
        layer_norm("layernorm_pre", d),
        layers("model.layers", c.num_hidden_layers, d, _attention(c, True, "rope"), _mlp(c), norms=NORMS, eps=1e-5),
        layer_norm("layernorm_post", d),
        _adapter(c),
        classes=("Llama4VisionModel",),
    )


@family("mllama_vision_model")
def mllama_vision(c: Config) -> Architecture:
    """Tiles with positions of their own, added through gates, and a second stack whose branches are gated.

    Source: transformers, models/mllama/modeling_mllama.py (MllamaVisionModel).
    """
    d = size(c, "hidden_size")
    return tower_model(
        c,
        d,
        patch_embedding(
            "", c.num_channels, d, sides(c.patch_size), bias=False, token=class_token("class_embedding", d)
        ),
        _tile_positions(c, "pre_tile_positional_embedding", c.max_num_tiles * d),
        _positions(c),
        layer_norm("layernorm_pre", d),
        layers(
            "transformer.layers", c.num_hidden_layers, d, _attention(c, False), _mlp(c), norms=NORMS, eps=c.norm_eps
        ),
        layer_norm("layernorm_post", d),
        _tile_positions(c, "post_tile_positional_embedding", c.max_num_tiles * d),
        _gated_layers(c),
        classes=("MllamaVisionModel",),
    )


def _attention(c: Config, bias: bool, position: Position = "learned") -> Attention:
    width = c.hidden_size // c.num_attention_heads
    return attention(
        c,
        bias=bias,
        num_kv_heads=c.num_attention_heads,
        head_dim=width,
        causal=False,
        cache=False,
        position=position,
        rotary=rope(c, dim=width) if position == "rope" else None,
    )


def _mlp(c: Config) -> Mlp:
    return feed_forward(c, size(c, "hidden_size"), size(c, "intermediate_size"))


def _adapter(c: Config) -> Block:
    """Source: Llama4VisionPixelShuffleMLP, whose first matrix takes intermediate_size channels."""
    d, out = size(c, "hidden_size"), c.projector_output_dim
    shuffled = int(d / c.pixel_shuffle_ratio**2)
    return projector(
        "vision_adapter.mlp",
        d,
        out,
        regroup("pixel shuffle", d, shuffled),
        linear("fc1", c.intermediate_size, c.projector_input_dim),
        linear("fc2", out, out),
    )


def _positions(c: Config) -> Group:
    """One table for all tiles and one for each shape of the tiling. Source: MllamaPrecomputedPositionEmbedding."""
    d, positions = size(c, "hidden_size"), (c.image_size // c.patch_size) ** 2 + 1
    shapes = len(c.supported_aspect_ratios) + 1
    return group(
        "gated_positional_embedding",
        weight("gate", 1),
        weight("embedding", positions, d),
        embedding("tile_embedding", shapes, c.max_num_tiles * positions * d, of="tiling"),
        role="side positions",
    )


def _tile_positions(c: Config, name: str, width: int) -> Group:
    """One vector for each tile of each shape of the tiling. Source: MllamaPrecomputedAspectRatioEmbedding."""
    shapes = len(c.supported_aspect_ratios) + 1
    return group(name, weight("gate", 1), embedding("embedding", shapes, width, of="tiling"), role="side positions")


def _gated_layers(c: Config) -> Stack:
    d = size(c, "hidden_size")

    def layer(kind: object) -> Layer:
        first, second = (layer_norm(name, d, eps=c.norm_eps) for name in NORMS)
        return Layer(
            sublayers=pre_norm((first, _attention(c, False)), (second, _mlp(c))),
            width=d,
            label="gated",
            extras=(weight("gate_attn", 1), weight("gate_ffn", 1)),
        )

    return stack("global_transformer.layers", ("gated",) * c.num_global_layers, layer, width=d)
