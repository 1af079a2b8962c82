"""DeepSeek-VL: a Llama text tower behind SigLIP, and a hybrid with SAM for high resolution."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.base import Block, group, weight
from archscope.blocks.composites import Mount, assemble, nested
from archscope.blocks.factories import size
from archscope.blocks.joined import side_by_side
from archscope.blocks.leaves import conv, layer_norm, linear
from archscope.blocks.projectors import Projector, mlp_projector, projector
from archscope.config import Config
from archscope.families.registry import family, tower


@family("deepseek_vl")
def deepseek_vl(c: Config) -> Architecture:
    """One vision tower and two matrices.

    Source: transformers, models/deepseek_vl/modeling_deepseek_vl.py (DeepseekVLAligner).
    """
    at, text, vision = nested(c), c.sub("text_config"), c.sub("vision_config")
    d = size(text, "hidden_size")
    aligner = mlp_projector(at("aligner"), vision.hidden_size, d, names=("linear1", "linear2"))
    seeing = tower(vision, at("vision_model"), "vision")
    return assemble(c, at, tower(text, at.text), seeing, aligner, text_config=text)


@family("deepseek_vl_hybrid")
def deepseek_vl_hybrid(c: Config) -> Architecture:
    """SigLIP beside SAM, whose first global layer passes a second neck; both are projected to half of the text's width.

    Source: transformers, models/deepseek_vl_hybrid/modeling_deepseek_vl_hybrid.py.
    """
    at, text = nested(c), c.sub("text_config")
    high = c.sub("high_res_vision_config")
    parts = (
        tower(high, at("high_res_vision_model"), "vision"),
        *_high_resolution(at, high),
        tower(c.sub("vision_config"), at("vision_model"), "vision"),
        _aligner(c, at("aligner")),
    )
    return assemble(c, at, tower(text, at.text), *parts, text_config=text)


def _high_resolution(at: Mount, c: Config) -> tuple[Block, ...]:
    """Neck and strided convolutions over SAM's features, and the share of its early features."""
    width, channels = c.hidden_size, c.output_channels
    neck = group(
        at("high_res_vision_neck"),
        conv("conv1", width, channels, 1, 1, bias=False),
        layer_norm("layer_norm1", channels),
        conv("conv2", channels, channels, 3, 3, bias=False),
        layer_norm("layer_norm2", channels),
        role="neck",
    )
    down = projector(
        at("high_res_vision_proj"),
        channels,
        channels * 4,
        conv("conv1", channels, channels * 2, 3, 3, bias=False),
        conv("conv2", channels * 2, channels * 4, 3, 3, bias=False),
    )
    return neck, down, weight(at("high_res_vision_alpha"), 1)


def _aligner(c: Config, name: str) -> Projector:
    d, d_v = size(c.sub("text_config"), "hidden_size"), c.sub("vision_config").hidden_size
    high = c.sub("high_res_vision_config").output_channels * 4
    half = d // 2
    return projector(
        name,
        d_v,
        d,
        side_by_side(
            2 * half,
            linear("vision_proj", d_v, half, True),
            linear("high_res_vision_proj", high, half, True),
        ),
        linear("proj", d, d, True),
    )
