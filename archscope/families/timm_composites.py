"""Qwen2 and Llama text towers behind vision towers that timm builds."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.composites import Mount, assemble, nested
from archscope.blocks.factories import size
from archscope.blocks.leaves import regroup
from archscope.blocks.projectors import mlp_projector
from archscope.config import Config
from archscope.families.registry import family, tower


@family("fast_vlm")
def fast_vlm(c: Config) -> Architecture:
    """Two matrices between a convolutional tower and the text.

    Source: transformers, models/fast_vlm/modeling_fast_vlm.py (FastVlmMultiModalProjector).
    """
    return _behind(c, nested(c), c.sub("vision_config").hidden_size, c.multimodal_projector_bias)


@family("perception_lm")
def perception_lm(c: Config) -> Architecture:
    """Two matrices, then average pooling by projector_pooling_ratio.

    Source: transformers, models/perception_lm/modeling_perception_lm.py (PerceptionLMMultiModalProjector).
    """
    width = c.sub("vision_config").model_args["embed_dim"]
    return _behind(c, nested(c), width, True, c.projector_pooling_ratio)


def _behind(c: Config, at: Mount, width: int, bias: bool, pooling: int = 1) -> Architecture:
    text = c.sub("text_config")
    d = size(text, "hidden_size")
    bridge = mlp_projector(
        at("multi_modal_projector"),
        width,
        d,
        bias=bias,
        after=(regroup("pooling", d, d),) if pooling > 1 else (),
    )
    seeing = tower(c.sub("vision_config"), at("vision_tower"), "vision")
    return assemble(c, at, tower(text, at.text), seeing, bridge, text_config=text)
