"""Apertus 1.5: images and sounds are tokens of the text's own vocabulary, made by two tokenizers beside it."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.composites import assemble, nested
from archscope.config import Config
from archscope.families.registry import family, tower


@family("apertus1p5")
def apertus1p5(c: Config) -> Architecture:
    """The text tower, a tokenizer for images and one for sounds; the head may know fewer tokens than the table.

    Source: transformers, models/apertus1p5/modeling_apertus1p5.py (Apertus1p5ForConditionalGeneration).
    """
    at, text = nested(c), c.sub("text_config")
    seeing = tower(c.sub("vision_config"), at("vision_tokenizer"), "vision")
    hearing = tower(c.sub("audio_config"), at("audio_tokenizer"), "audio")
    words = text.output_vocab_size or text.vocab_size
    return assemble(c, at, tower(text, at.text), seeing, hearing, text_config=text, vocabulary=words)
