"""Llama 4 that sees: a causal text model as a whole beside a vision tower."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.composites import FLAT
from archscope.blocks.factories import size
from archscope.blocks.leaves import linear
from archscope.blocks.projectors import projector
from archscope.blocks.skeletons import GENERATIVE_TASKS, tied_names, vocabulary_head
from archscope.config import Config
from archscope.families.registry import family, tower


@family("llama4")
def llama4(c: Config) -> Architecture:
    """One matrix from the vision tower's output into the text; the text model brings its own head and its own tie.

    Source: transformers, models/llama4/modeling_llama4.py (Llama4ForConditionalGeneration).
    """
    text, vision = c.sub("text_config"), c.sub("vision_config")
    d, d_v = size(text, "hidden_size"), vision.vision_output_dim
    bridge = projector("multi_modal_projector", d_v, d, linear("linear_1", d_v, d))
    tied_to = f"{FLAT.text}.embed_tokens.weight" if text.get("tie_word_embeddings") else ""
    head = vocabulary_head(text, d, FLAT.head, tied_to=tied_to)
    seeing = tower(vision, "vision_model", "vision")
    # The auto table of base models names the same class.
    known = c.task in ("model", *GENERATIVE_TASKS) and c.model_class == "Llama4ForConditionalGeneration"
    return Architecture(
        parts=(seeing, bridge, tower(text, FLAT.text), head),
        tied=tied_names(head, ""),
        partial="" if known else f"{c.model_class or 'this class'} is not known",
    )
