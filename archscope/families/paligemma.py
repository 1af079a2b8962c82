"""PaliGemma, and the robot policy and image classifier built on such models."""

from __future__ import annotations

from dataclasses import replace

from archscope.blocks.assembly import Architecture, Head, Tower
from archscope.blocks.base import Block, group
from archscope.blocks.composites import FLAT, assemble
from archscope.blocks.factories import size
from archscope.blocks.leaves import linear, rms_norm
from archscope.blocks.projectors import projector
from archscope.blocks.base import weight
from archscope.config import Config
from archscope.families.registry import build, family, tower


@family("paligemma")
def paligemma(c: Config) -> Architecture:
    """A Gemma text tower behind SigLIP, with one matrix between them.

    Source: transformers, models/paligemma/modeling_paligemma.py (PaliGemmaMultiModalProjector).
    """
    text, vision = c.sub("text_config"), c.sub("vision_config")
    d_v, d_p = vision.hidden_size, vision.projection_dim
    bridge = projector("multi_modal_projector", d_v, d_p, linear("linear", d_v, d_p, True))
    return assemble(c, FLAT, tower(text, FLAT.text), tower(vision, "vision_tower", "vision"), bridge, text_config=text)
