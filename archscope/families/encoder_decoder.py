"""Encoder-decoders put together from two models of any kind."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, TowerRole
from archscope.blocks.base import present
from archscope.blocks.leaves import linear
from archscope.blocks.projectors import Projector
from archscope.blocks.skeletons import tied_names
from archscope.config import Config
from archscope.families.registry import family, model, tower


@family("encoder-decoder", "vision-encoder-decoder")
def encoder_decoder(c: Config) -> Architecture:
    """The base class of one type and the causal class of another, with a matrix between where their widths differ.

    Source: transformers, models/encoder_decoder/modeling_encoder_decoder.py,
    models/vision_encoder_decoder/modeling_vision_encoder_decoder.py.
    """
    first = c.sub("encoder")
    return _both(c, first.hidden_size, "vision" if c.model_type.startswith("vision") else "encoder")


@family("speech-encoder-decoder")
def speech_encoder_decoder(c: Config) -> Architecture:
    """The same over speech, whose encoder may give another width than it has inside.

    Source: transformers, models/speech_encoder_decoder/modeling_speech_encoder_decoder.py.
    """
    first = c.sub("encoder")
    found = first.get("output_hidden_size")
    return _both(c, first.hidden_size if found is None else found, "audio")


def _both(c: Config, gives: int, role: TowerRole) -> Architecture:
    """Encoder, matrix where what it gives is not the decoder's width, decoder."""
    first, second = c.sub("encoder"), c.sub("decoder").as_task("causal_lm")
    projector = None
    if gives != second.hidden_size and second.get("cross_attention_hidden_size") is None:
        widths = (first.hidden_size, second.hidden_size)
        matrix = linear("", *widths, True, role="projection")
        projector = Projector(name="enc_to_dec_proj", parts=(matrix,), source_width=widths[0], target_width=widths[1])
    parts = present(tower(first, "encoder", role), projector, model(second, "decoder", "decoder"))
    return Architecture(parts=parts, tied=tuple(pair for part in parts for pair in tied_names(part, "")))
