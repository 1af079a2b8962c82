"""Cohere's models that see: patches folded into channels, then a gated projector into a Cohere text tower."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.base import Block
from archscope.blocks.composites import FLAT, assemble, nested
from archscope.blocks.factories import size
from archscope.blocks.leaves import layer_norm, regroup
from archscope.blocks.projectors import Projector, fused_gated_bridge, projector
from archscope.config import Config
from archscope.families.registry import family, tower


@family("aya_vision")
def aya_vision(c: Config) -> Architecture:
    """Pixel shuffle, a norm and a SwiGLU projector.

    Source: transformers, models/aya_vision/modeling_aya_vision.py (AyaVisionMultiModalProjector).
    """
    text = c.sub("text_config")
    folded = c.sub("vision_config").hidden_size * c.downsample_factor**2
    width = c.get("alignment_intermediate_size", text.hidden_size)
    bridge = _projector(c, FLAT("multi_modal_projector"), width, layer_norm("layernorm", folded))
    vision = tower(c.sub("vision_config"), FLAT("vision_tower"), "vision")
    return assemble(c, FLAT, tower(text, FLAT.text), vision, bridge, text_config=text)


@family("cohere2_vision")
def cohere2_vision(c: Config) -> Architecture:
    """Aya Vision's projector without the norm, and every part below `model`.

    Source: transformers, models/cohere2_vision/modeling_cohere2_vision.py (Cohere2VisionMultiModalProjector).
    """
    at, text = nested(c), c.sub("text_config")
    bridge = _projector(c, at("multi_modal_projector"), c.alignment_intermediate_size)
    vision = tower(c.sub("vision_config"), at("vision_tower"), "vision")
    return assemble(c, at, tower(text, at.text), vision, bridge, text_config=text)


def _projector(c: Config, name: str, width: int, *before: Block) -> Projector:
    d, d_v = size(c.sub("text_config"), "hidden_size"), c.sub("vision_config").hidden_size
    folded = d_v * c.downsample_factor**2
    return projector(
        name,
        d_v,
        d,
        regroup("pixel shuffle", d_v, folded),
        *before,
        fused_gated_bridge(folded, width, d),
        note=f"{c.downsample_factor} x {c.downsample_factor} patches to one token",
    )


@family("cohere_compass")
def cohere_compass(c: Config) -> Architecture:
    """A vision tower with its own merger beside a Cohere text tower, below `model`.

    Source: transformers, models/cohere_compass/modeling_cohere_compass.py (CohereCompassModel).
    """
    at, text = nested(c), c.sub("text_config")
    vision = tower(c.sub("vision_config"), at("visual"), "vision")
    return assemble(c, at, tower(text, at.text), vision, text_config=text)
