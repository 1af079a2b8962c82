"""Phi-4 multimodal: Phi-3's decoder whose token embedding is extended by an image and an audio embedding."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.base import Block, weight
from archscope.blocks.factories import attention, head_size, mlp, rope, size
from archscope.blocks.leaves import regroup
from archscope.blocks.projectors import Projector, plain_bridge, projector
from archscope.blocks.skeletons import pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family, tower


@family("phi4_multimodal")
def phi4_multimodal(c: Config) -> Architecture:
    """Fused projections; partly rotated heads; towers below embed_tokens_extend.

    Source: transformers, models/phi4_multimodal/modeling_phi4_multimodal.py (Phi4MultimodalModel).
    """
    rotary = rope(c, width=head_size(c))
    text = pre_norm_decoder(
        c,
        lambda kind: attention(c, fused="qkv_proj", rotary=rotary, window=c.sliding_window),
        lambda kind: mlp(c, kind="fused"),
        kinds=("",) * c.num_hidden_layers,
    )
    at = "embed_tokens_extend" if c.task == "model" else "model.embed_tokens_extend"
    return with_head(c, text, beside=(*_images(c, f"{at}.image_embed"), *_audio(c, f"{at}.audio_embed")))


def _images(c: Config, name: str) -> tuple[Block, ...]:
    vision, d = c.sub("vision_config"), size(c, "hidden_size")
    d_v = vision.hidden_size
    bridge = projector(
        name,
        d_v,
        d,
        regroup("pooling", d_v, d_v),
        weight("global_img_feature_extensor", 1, 1, d_v, role="separator"),
        weight("sub_img_feature_extensor", 1, 1, 1, d_v, role="line end"),
        plain_bridge(d_v, d, d, names=("img_projection_up", "img_projection_down")),
    )
    return tower(vision, f"{name}.img_processor", "vision"), bridge


def _audio(c: Config, name: str) -> tuple[Block, ...]:
    """One pair of matrices for speech alone, another for speech beside images."""
    audio, d = c.sub("audio_config"), size(c, "hidden_size")
    joined = audio.hidden_size * audio.downsample_rate
    bridges = (_speech(name, joined, d, "speech"), _speech(name, joined, d, "vision_speech"))
    return tower(audio, f"{name}.encoder", "audio"), *bridges


def _speech(name: str, inputs: int, width: int, kind: str) -> Projector:
    names = (f"up_proj_for_{kind}", f"down_proj_for_{kind}")
    return projector(name, inputs, width, plain_bridge(inputs, width, width, names=names))
