"""ERNIE 4.5 that sees: experts for text and experts for images in one layer, and a resampler over space and time."""

from __future__ import annotations

from dataclasses import replace

from archscope.blocks.assembly import Architecture
from archscope.blocks.base import Block, weight
from archscope.blocks.composites import Mount, assemble
from archscope.blocks.factories import attention, mlp, moe, size
from archscope.blocks.leaves import layer_norm, linear, regroup, rms_norm
from archscope.blocks.modality_moe import modality_moe
from archscope.blocks.moe import Moe
from archscope.blocks.projectors import Projector, plain_bridge, projector
from archscope.blocks.size import Size
from archscope.blocks.skeletons import pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family, tower


@family("ernie4_5_vl_moe_text")
def ernie4_5_vl_moe_text(c: Config) -> Architecture:
    """ERNIE 4.5's layer; sparse ones have a pool of experts for each modality and shared ones for both.

    Source: transformers, models/ernie4_5_vl_moe/modeling_ernie4_5_vl_moe.py (Ernie4_5_VLMoeDecoderLayer).
    """
    text = pre_norm_decoder(
        c,
        lambda kind: attention(c, bias=c.use_bias),
        lambda kind: _experts(c) if kind == "sparse" else mlp(c, bias=c.use_bias),
        kinds=tuple(c.mlp_layer_types)[: c.num_hidden_layers],
    )
    return with_head(c, text)


@family("ernie4_5_vl_moe")
def ernie4_5_vl_moe(c: Config) -> Architecture:
    """Text tower, vision tower and resampler, without a name for the text tower.

    Source: transformers, models/ernie4_5_vl_moe/modeling_ernie4_5_vl_moe.py; conversion_mapping.py.
    """
    bare, text = c.task == "model", c.sub("text_config")
    at = Mount("" if bare else "model.", "" if bare else "model", "lm_head")
    seeing = tower(c.sub("vision_config"), at("vision_model"), "vision")
    return assemble(c, at, tower(text, at.text), seeing, _resampler(c, at("resampler_model")), text_config=text)


def _experts(c: Config) -> Block:
    e, shared = Size(c.num_experts, "E"), c.moe_num_shared_experts
    text_width, vision_width = c.moe_intermediate_size
    fields = ("moe_num_shared_experts", "moe_intermediate_size")
    width = Size(text_width * shared, "m_e·n_shared")
    return modality_moe(
        "mlp",
        _pool(c, text_width, "weight"),
        _pool(c, vision_width, "weight_1"),
        statics=weight("moe_statics.e_score_correction_bias", 2, e),
        shared=mlp(c, name="shared_experts", role="shared", width=width, bias=c.use_bias, fields=fields)
        if shared > 0
        else None,
    )


def _pool(c: Config, width: int, matrix: str) -> Moe:
    """One modality's experts; the router's matrix is saved with the inputs first."""
    e, d = Size(c.num_experts, "E"), size(c, "hidden_size")
    made = moe(c, num_experts=e, top_k=c.num_experts_per_tok, width=width, normalised=True)
    return replace(made, router=replace(made.router, parts=(weight(matrix, d, e, role="scores"),), bias_corrected=True))


def _resampler(c: Config, name: str) -> Projector:
    """Neighbours in space side by side, then neighbours in time, each through an MLP with a norm after it."""
    d, vision = size(c.sub("text_config"), "hidden_size"), c.sub("vision_config")
    d_v = vision.hidden_size
    space = d_v * vision.spatial_merge_size**2
    time = space * vision.temporal_merge_size
    return projector(
        name,
        d_v,
        d,
        regroup("patch merge", d_v, space),
        plain_bridge(space, space, space, name="spatial_linear", names=("0", "2")),
        layer_norm("spatial_linear.3", space),
        regroup("frame merge", space, time),
        plain_bridge(time, space, space, name="temporal_linear", names=("0", "2")),
        layer_norm("temporal_linear.3", space),
        linear("mlp", space, d, True),
        rms_norm("after_norm", d),
    )
