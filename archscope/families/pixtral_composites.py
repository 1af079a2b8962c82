"""Text towers behind Pixtral: neighbouring patches merged by a matrix, then two more into the text."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.composites import FLAT, assemble, nested
from archscope.blocks.factories import size
from archscope.blocks.leaves import linear, regroup, rms_norm
from archscope.blocks.projectors import Projector, mlp_projector
from archscope.config import Config
from archscope.families.registry import family, tower


@family("mistral3")
def mistral3(c: Config) -> Architecture:
    """Mistral 3: spatial_merge_size squared patches become one token.

    Source: transformers, models/mistral3/modeling_mistral3.py (Mistral3MultiModalProjector).
    """
    text, found = c.sub("text_config"), c.vision_feature_layer
    layers = len(found) if isinstance(found, list) else 1
    bridge = _projector(c, "multi_modal_projector", c.multimodal_projector_bias, c.projector_hidden_act, layers)
    seeing = tower(c.sub("vision_config"), "vision_tower", "vision")
    return assemble(c, FLAT, tower(text, FLAT.text), seeing, bridge, text_config=text)


@family("lighton_ocr")
def lighton_ocr(c: Config) -> Architecture:
    """LightOn OCR: Mistral 3's projector without biases before a Qwen3 text tower.

    Source: transformers, models/lighton_ocr/modeling_lighton_ocr.py (LightOnOcrMultiModalProjector).
    """
    at, text = nested(c), c.sub("text_config")
    bridge = _projector(c, at("vision_projection"), False, "gelu", 1)
    seeing = tower(c.sub("vision_config"), at("vision_encoder"), "vision")
    return assemble(c, at, tower(text, at.text), seeing, bridge, text_config=text)


def _projector(c: Config, name: str, bias: bool, activation: str, layers: int) -> Projector:
    d, d_v = size(c.sub("text_config"), "hidden_size"), c.sub("vision_config").hidden_size
    merged, inputs = d_v * c.spatial_merge_size**2, d_v * layers
    return mlp_projector(
        name,
        d_v,
        d,
        inputs=inputs,
        bias=bias,
        before=(
            rms_norm("norm", d_v),
            regroup("patch merge", d_v, merged),
            linear("patch_merger.merging_layer", merged, d_v),
            *((regroup("layers side by side", d_v, inputs),) if layers > 1 else ()),
        ),
        activation=activation,
        note=f"{c.spatial_merge_size} x {c.spatial_merge_size} patches to one token",
    )
