"""Hunyuan models that see: a vision tower that merges patches by convolutions, before a Hunyuan text tower."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.base import Block
from archscope.blocks.composites import Mount, assemble
from archscope.blocks.renaming import renamed, renaming
from archscope.config import Config
from archscope.families.registry import family, tower

BASE_NAMES = {"input_layernorm": "layer_norm1", "post_attention_layernorm": "layer_norm2"}
"""What the renamings on saving leave alone in the base class, whose tower does not stand at the top."""


@family("hunyuan_vl", "hy_v4_vl")
def hunyuan_vl(c: Config) -> Architecture:
    """Vision tower and text tower under the names of the first release.

    Source: transformers, models/hunyuan_vl/modeling_hunyuan_vl.py, models/hy_v4_vl; conversion_mapping.py.
    """
    bare, text = c.task == "model", c.sub("text_config")
    at = Mount("", "language_model" if bare else "model", "lm_head")
    seeing: Block = tower(c.sub("vision_config"), "vision_tower" if bare else "vit", "vision")
    if bare:
        seeing = renamed(seeing, renaming(BASE_NAMES))
    return assemble(c, at, tower(text, at.text), seeing, text_config=text)
