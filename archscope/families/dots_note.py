"""dots.note: a latent-attention decoder with experts that sees and hears."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.base import Block
from archscope.blocks.composites import Mount, assemble
from archscope.blocks.renaming import renamed
from archscope.config import Config
from archscope.families.registry import family, tower


@family("dots3_note")
def dots3_note(c: Config) -> Architecture:
    """Three towers, each of which brings its own way into the text's width, under the names of the first release.

    Source: transformers, models/dots3_note/modeling_dots3_note.py (Dots3NoteModel); conversion_mapping.py.
    """
    bare, text = c.task == "model", c.sub("text_config")
    at = Mount("", "" if bare else "model", "lm_head")
    seeing = tower(c.sub("vision_config"), "vision_encoder", "vision")
    hearing: Block = tower(c.sub("audio_config"), "" if bare else "audio_encoder", "audio")
    if bare:
        hearing = renamed(hearing, _beside_adapter)
    return assemble(c, at, tower(text, at.text), seeing, hearing, text_config=text)


def _beside_adapter(around: str, name: str) -> str:
    """In the base class the audio adapter stands beside the audio encoder."""
    return f"audio_encoder.{name}" if name.startswith("dots_encoder") else name
