"""Granite Speech: a conformer trained on characters, read by a Q-Former into a Granite text tower."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.base import weight
from archscope.blocks.composites import FLAT, assemble
from archscope.blocks.factories import size
from archscope.blocks.leaves import linear
from archscope.blocks.projectors import projector
from archscope.config import Config
from archscope.families.registry import family, tower


@family("granite_speech", "granite_speech_plus")
def granite_speech(c: Config) -> Architecture:
    """window_size // downsample_rate learned queries read a window of the encoder's frames.

    Source: transformers, models/granite_speech/modeling_granite_speech.py (GraniteSpeechEncoderProjector).
    """
    text, reader = c.sub("text_config"), c.sub("projector_config")
    d, width, queries = size(text, "hidden_size"), reader.hidden_size, c.window_size // c.downsample_rate
    bridge = projector(
        "projector",
        reader.encoder_hidden_size,
        d,
        weight("query", 1, queries, width, role="queries"),
        tower(reader, "qformer", "other"),
        linear("linear", width, d, True),
        note=f"{c.window_size} frames to {queries} tokens",
    )
    hearing = tower(c.sub("encoder_config"), "encoder", "audio")
    return assemble(c, FLAT, tower(text, FLAT.text), hearing, bridge, text_config=text)
