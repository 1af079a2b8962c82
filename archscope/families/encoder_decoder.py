"""Encoder-decoders put together from two models of any kind."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Projector
from archscope.blocks.base import present
from archscope.blocks.leaves import linear
from archscope.blocks.skeletons import tied_names
from archscope.config import Config
from archscope.families.registry import family, model, tower


@family("encoder-decoder")
def encoder_decoder(c: Config) -> Architecture:
    """The base class of one type and the causal class of another, with a matrix between where their widths differ.

    Source: transformers, models/encoder_decoder/modeling_encoder_decoder.py.
    """
    first, second = c.sub("encoder"), c.sub("decoder").as_task("causal_lm")
    widths = (first.hidden_size, second.hidden_size)
    projector = None
    if widths[0] != widths[1] and second.get("cross_attention_hidden_size") is None:
        matrix = linear("", *widths, True, role="projection")
        projector = Projector(name="enc_to_dec_proj", parts=(matrix,), source_width=widths[0], target_width=widths[1])
    parts = present(tower(first, "encoder", "encoder"), projector, model(second, "decoder", "decoder"))
    return Architecture(parts=parts, tied=tuple(pair for part in parts for pair in tied_names(part, "")))
