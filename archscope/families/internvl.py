"""The InternVL lineage: patches folded into channels, a norm and two matrices into any text tower."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.composites import FLAT, assemble
from archscope.blocks.factories import size
from archscope.blocks.leaves import layer_norm, regroup
from archscope.blocks.projectors import mlp_projector
from archscope.config import Config
from archscope.families.registry import family, tower


@family("internvl")
def internvl(c: Config) -> Architecture:
    """Pixel shuffle by 1 / downsample_ratio, then norm and projector.

    Source: transformers, models/internvl/modeling_internvl.py (InternVLMultiModalProjector).
    """
    text, vision = c.sub("text_config"), c.sub("vision_config")
    factor = int(1 / c.downsample_ratio)
    d_v, folded = vision.hidden_size, vision.hidden_size * factor**2
    bridge = mlp_projector(
        "multi_modal_projector",
        d_v,
        size(text, "hidden_size"),
        inputs=folded,
        before=(regroup("pixel shuffle", d_v, folded), layer_norm("layer_norm", folded)),
        activation=c.projector_hidden_act,
        note=f"{factor} x {factor} patches to one token",
    )
    seeing = tower(vision, "vision_tower", "vision")
    return assemble(c, FLAT, tower(text, FLAT.text), seeing, bridge, text_config=text)
