"""Ovis 2: an image becomes probabilities over visual words, which mix the rows of a second embedding table."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.composites import assemble, nested
from archscope.blocks.factories import size
from archscope.blocks.leaves import embedding
from archscope.config import Config
from archscope.families.registry import family, tower


@family("ovis2")
def ovis2(c: Config) -> Architecture:
    """The vision tower ends in logits over the visual vocabulary; its own hidden and vocabulary size make the head.

    Source: transformers, models/ovis2/modeling_ovis2.py (Ovis2Model, Ovis2ForConditionalGeneration).
    """
    at, text, vision = nested(c), c.sub("text_config"), c.sub("vision_config")
    table = embedding(at("visual_embeddings_table"), vision.vocab_size, size(c, "hidden_size"), of="visual word")
    seeing = tower(vision, at("vision_tower"), "vision")
    d, words = size(c, "hidden_size"), size(c, "vocab_size")
    reading = tower(text, at.text)
    return assemble(c, at, reading, seeing, table, text_config=text, vocabulary=words, head_width=d)
