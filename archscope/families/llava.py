"""The LLaVA lineage: features of a vision tower through two matrices into the token stream of a text tower."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.base import Block, weight
from archscope.blocks.composites import FLAT, assemble
from archscope.blocks.factories import size
from archscope.blocks.leaves import conv, layer_norm, regroup
from archscope.blocks.projectors import Projector, mlp_projector
from archscope.config import Config
from archscope.families.registry import family, tower


@family("llava")
def llava(c: Config) -> Architecture:
    """Any text tower behind any vision tower; the layers of vision_feature_layer side by side into the projector.

    Source: transformers, models/llava/modeling_llava.py; names as its conversion saves them.
    """
    return _llava(c, _projector(c, c.multimodal_projector_bias))


@family("llava_next", "llava_onevision")
def llava_next(c: Config) -> Architecture:
    """LLaVA with one learned vector that ends a row of image patches.

    Source: transformers, models/llava_next/modeling_llava_next.py, models/llava_onevision/modeling_llava_onevision.py.
    """
    return _llava(c, _projector(c, c.multimodal_projector_bias), _newline(c))


@family("llava_next_video")
def llava_next_video(c: Config) -> Architecture:
    """LLaVA-NeXT whose frames are pooled, by a convolution where spatial_pool_mode says so.

    Source: transformers, models/llava_next_video/modeling_llava_next_video.py (LlavaNextVideoPooler).
    """
    d_v, stride = c.sub("vision_config").hidden_size, c.spatial_pool_stride
    pool = (
        (conv("vision_resampler.pool", d_v, c.get("spatial_pool_out_channels", d_v), stride, stride),)
        if c.spatial_pool_mode == "conv"
        else ()
    )
    return _llava(c, *pool, _projector(c, c.multimodal_projector_bias), _newline(c))


@family("vipllava")
def vipllava(c: Config) -> Architecture:
    """LLaVA with several vision layers side by side, normalised before the projector.

    Source: transformers, models/vipllava/modeling_vipllava.py (VipLlavaMultiModalProjector).
    """
    joined = c.sub("vision_config").hidden_size * _feature_layers(c)
    return _llava(c, _projector(c, True, layer_norm("projector_layernorm", joined)))


@family("video_llava")
def video_llava(c: Config) -> Architecture:
    """One vision tower for images and one of the same shape for videos, before one projector.

    Source: transformers, models/video_llava/modeling_video_llava.py.
    """
    return _llava(c, _projector(c, c.multimodal_projector_bias), towers=("video_tower", "image_tower"))


def _llava(c: Config, *beside: Block, towers: tuple[str, ...] = ("vision_tower",)) -> Architecture:
    text, vision = c.sub("text_config"), c.sub("vision_config")
    seeing = (tower(vision, name, "vision") for name in towers)
    return assemble(c, FLAT, tower(text, FLAT.text), *seeing, *beside, text_config=text)


def _projector(c: Config, bias: bool, *before: Block) -> Projector:
    d, d_v, count = size(c.sub("text_config"), "hidden_size"), c.sub("vision_config").hidden_size, _feature_layers(c)
    joined = (regroup("layers side by side", d_v, d_v * count),) if count > 1 else ()
    return mlp_projector(
        "multi_modal_projector",
        d_v,
        d,
        inputs=d_v * count,
        bias=bias,
        before=(*joined, *before),
        activation=c.projector_hidden_act,
    )


def _feature_layers(c: Config) -> int:
    """How many layers of the vision tower are used side by side."""
    found = c.get("vision_feature_layer")
    if found is None:
        found = c.get("vision_feature_layers")
    return len(found) if isinstance(found, list) else 1


def _newline(c: Config) -> Block:
    return weight("image_newline", c.sub("text_config").hidden_size)
