"""Granite's models that see: docling pages through a connector of two routes, and vision layers injected by depth."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.base import Block, group, weight
from archscope.blocks.composites import assemble, nested
from archscope.blocks.factories import attention, mlp, size
from archscope.blocks.leaves import layer_norm, linear, regroup
from archscope.blocks.projectors import plain_bridge, projector
from archscope.blocks.repeated import repeated
from archscope.blocks.skeletons import pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family, tower


@family("granite_docling_text", "granite4_vision_text")
def granite_text(c: Config) -> Architecture:
    """Granite's decoder: Llama's layer with factors on embeddings, scores and what is added to the residual stream.

    Source: transformers, models/granite_docling/modeling_granite_docling.py, models/granite4_vision (text models).
    """
    text = pre_norm_decoder(
        c,
        lambda kind: attention(c, bias=c.attention_bias, scale=c.attention_multiplier),
        lambda kind: mlp(c, bias=c.mlp_bias),
        scale=c.residual_multiplier,
        embed_scale=c.embedding_multiplier,
    )
    return with_head(c, text)


@family("granite_docling")
def granite_docling(c: Config) -> Architecture:
    """A vision tower that ends in its own connector, and a small router that guesses how dense a page is.

    Source: transformers, models/granite_docling/modeling_granite_docling.py (GraniteDoclingModel).
    """
    at, text = nested(c, text="text_model"), c.sub("text_config")
    vision = c.sub("vision_config")
    router = () if c.density_router_hidden_size is None else (_density_router(c, at("density_router")),)
    seeing = tower(vision, at("vision_model"), "vision")
    return assemble(c, at, tower(text, at.text), seeing, *router, text_config=text)


@family("granite4_vision")
def granite4_vision(c: Config) -> Architecture:
    """Vision layers of several depths, each read by a windowed Q-Former and added to a text layer.

    Source: transformers, models/granite4_vision/modeling_granite4_vision.py.
    """
    at, text = nested(c), c.sub("text_config")
    parts = (
        tower(c.sub("vision_config"), at("vision_tower"), "vision"),
        weight(at("image_newline"), text.hidden_size),
        repeated(at("layerwise_projectors"), len(c.deepstack_layer_map), _window_reader(c)),
        repeated(at("spatial_projectors"), 4, _window_reader(c)),
    )
    return assemble(c, at, tower(text, at.text), *parts, text_config=text)


def _density_router(c: Config, name: str) -> Block:
    d_v, hidden = c.sub("vision_config").hidden_size, c.density_router_hidden_size
    return group(
        name,
        linear("att", d_v, 1, True),
        regroup("attention pooling", 1, d_v),
        layer_norm("norm", d_v),
        plain_bridge(d_v, hidden, 1, names=("fc1", "fc2")),
        role="density router",
    )


def _window_reader(c: Config) -> Block:
    """Learned queries that read the patches of one window. Source: Granite4VisionWindowQFormerDownsampler."""
    d, d_v = size(c.sub("text_config"), "hidden_size"), c.sub("vision_config").hidden_size
    query, window = (int(side) for side in str(c.downsample_rate).split("/"))
    return projector(
        "",
        d_v,
        d,
        layer_norm("norm", d_v),
        weight("image_positions", 1, window**2, d_v),
        weight("query", 1, query**2, d_v, role="queries"),
        tower(c.sub("qformer_config"), "qformer", "other"),
        linear("out_linear", d_v, d, True),
        note=f"{window} x {window} patches to {query} x {query} tokens",
    )
