"""Fuyu: no vision tower, pixels of a patch straight into the text by one matrix."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.composites import FLAT, assemble
from archscope.blocks.factories import size
from archscope.blocks.leaves import linear
from archscope.blocks.projectors import projector
from archscope.config import Config
from archscope.families.registry import family, tower


@family("fuyu")
def fuyu(c: Config) -> Architecture:
    """A Persimmon text tower whose image tokens are linear in the pixels.

    Source: transformers, models/fuyu/modeling_fuyu.py.
    """
    text = c.sub("text_config")
    d, pixels = size(text, "hidden_size"), c.patch_size * c.patch_size * c.num_channels
    patches = projector("vision_embed_tokens", pixels, d, linear("", pixels, d, True, role="patches"))
    return assemble(c, FLAT, tower(text, FLAT.text), patches, text_config=text)
