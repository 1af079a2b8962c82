"""PaddleOCR-VL and VideoLLaMA 3: small text towers behind SigLIP towers with rotary positions."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.composites import Mount, assemble, nested
from archscope.blocks.factories import attention, mlp, size, sliding_window
from archscope.blocks.leaves import layer_norm, regroup
from archscope.blocks.projectors import mlp_projector
from archscope.blocks.skeletons import pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family, tower


@family("paddleocr_vl_text")
def paddleocr_vl_text(c: Config) -> Architecture:
    """ERNIE 4.5's layer: one flag for all biases.

    Source: transformers, models/paddleocr_vl/modeling_paddleocr_vl.py (PaddleOCRDecoderLayer).
    """
    text = pre_norm_decoder(
        c,
        lambda kind: attention(c, bias=c.use_bias, window=sliding_window(c, kind)),
        lambda kind: mlp(c, bias=c.use_bias),
    )
    return with_head(c, text)


@family("paddleocr_vl")
def paddleocr_vl(c: Config) -> Architecture:
    """A norm over each patch, then spatial_merge_size squared of them side by side through two matrices.

    Source: transformers, models/paddleocr_vl/modeling_paddleocr_vl.py (PaddleOCRProjector); conversion_mapping.py.
    """
    bare, text, vision = c.task == "model", c.sub("text_config"), c.sub("vision_config")
    at = Mount("", "language_model" if bare else "model", "lm_head")
    d_v = vision.hidden_size
    merged = d_v * vision.spatial_merge_size**2
    bridge = mlp_projector(
        "projector" if bare else "mlp_AR",
        d_v,
        size(text, "hidden_size"),
        inputs=merged,
        hidden=merged,
        before=(layer_norm("pre_norm", d_v), regroup("patch merge", d_v, merged)),
    )
    seeing = tower(vision, "visual", "vision")
    return assemble(c, at, tower(text, at.text), seeing, bridge, text_config=text)


@family("video_llama_3")
def video_llama_3(c: Config) -> Architecture:
    """Two matrices between a tower for images of any size and the text.

    Source: transformers, models/video_llama_3/modeling_video_llama_3.py (VideoLlama3Projector).
    """
    at, text, vision = nested(c), c.sub("text_config"), c.sub("vision_config")
    d = size(text, "hidden_size")
    bridge = mlp_projector(at("projector"), vision.hidden_size, d, names=("readout.0", "readout.2"))
    seeing = tower(vision, at("vision_model"), "vision")
    return assemble(c, at, tower(text, at.text), seeing, bridge, text_config=text)
