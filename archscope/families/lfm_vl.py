"""Liquid's models that see: patches folded into channels, an optional norm and two matrices into an LFM text tower."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.base import Block
from archscope.blocks.composites import Mount, assemble, nested
from archscope.blocks.factories import size
from archscope.blocks.leaves import layer_norm, regroup
from archscope.blocks.projectors import mlp_projector
from archscope.config import Config
from archscope.families.registry import family, tower


@family("lfm2_vl")
def lfm2_vl(c: Config) -> Architecture:
    """Pixel shuffle, then a norm over the folded channels where projector_use_layernorm is true.

    Source: transformers, models/lfm2_vl/modeling_lfm2_vl.py (Lfm2VlMultiModalProjector).
    """
    d_v = c.sub("vision_config").hidden_size
    folded = d_v * c.downsample_factor**2
    norm = (layer_norm("layer_norm", folded),) if c.projector_use_layernorm else ()
    return _behind(c, nested(c), folded, regroup("pixel shuffle", d_v, folded), *norm)


@family("lfm3_vl")
def lfm3_vl(c: Config) -> Architecture:
    """A norm over each patch, then spatial_merge_size squared of them side by side.

    Source: transformers, models/lfm3_vl/modeling_lfm3_vl.py (Lfm3VlMultiModalProjector).
    """
    vision = c.sub("vision_config")
    d_v = vision.hidden_size
    merged = d_v * vision.spatial_merge_size**2
    return _behind(c, nested(c), merged, layer_norm("layer_norm", d_v), regroup("patch merge", d_v, merged))


def _behind(c: Config, at: Mount, inputs: int, *before: Block) -> Architecture:
    text, vision = c.sub("text_config"), c.sub("vision_config")
    bridge = mlp_projector(
        at("multi_modal_projector"),
        vision.hidden_size,
        size(text, "hidden_size"),
        inputs=inputs,
        hidden=c.projector_hidden_size,
        bias=c.projector_bias,
        before=before,
        activation=c.projector_hidden_act,
    )
    seeing = tower(vision, at("vision_tower"), "vision")
    return assemble(c, at, tower(text, at.text), seeing, bridge, text_config=text)
