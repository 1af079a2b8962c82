"""Florence-2: a DaViT tower before an encoder-decoder that reads what it sees as words."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.base import group, weight
from archscope.blocks.factories import size
from archscope.blocks.leaves import embedding, layer_norm, linear
from archscope.blocks.projectors import Projector, projector
from archscope.blocks.skeletons import GENERATIVE_TASKS, tied_names, vocabulary_head
from archscope.config import Config
from archscope.families.registry import family, mounted, tower


@family("florence2")
def florence2(c: Config) -> Architecture:
    """The projected image stands before the words that the encoder reads; the head is the table of the text model.

    Source: transformers, models/florence2/modeling_florence2.py; arXiv 2311.06242.
    """
    text, at = c.sub("text_config"), "" if c.task == "model" else "model."
    d, home = size(text, "hidden_size"), f"{at}language_model"
    seeing = tower(c.sub("vision_config"), f"{at}vision_tower", "vision")
    reading = mounted(text.as_base(), home)
    parts = (seeing, _projector(c, f"{at}multi_modal_projector"), *reading)
    pairs = tuple(pair for part in reading for pair in tied_names(part, ""))
    if c.task == "model":
        return Architecture(parts=parts, tied=pairs)
    table, tied = f"{home}.shared", bool(c.get("tie_word_embeddings"))
    logits = vocabulary_head(text, d, tied_to=f"{table}.weight" if tied else "")
    reason = "" if c.task in GENERATIVE_TASKS else f"the head of {c.model_class or 'this class'} is not known"
    if tied and not any(part.name == table for part in reading):
        reason = f"which table of a {text.model_type} the head shares is not known"
    return Architecture(parts=(*parts, logits), tied=(*pairs, *tied_names(logits, "")), partial=reason)


def _projector(c: Config, name: str) -> Projector:
    """Rows and columns each give half of a position; frames have sines, saved as they are."""
    vision = c.sub("vision_config")
    d, target, half = vision.embed_dim[-1], vision.projection_dim, vision.embed_dim[-1] // 2
    sides = group(
        "image_position_embed",
        embedding("row_embeddings", vision.max_position_embeddings, half, of="row", role="rows"),
        embedding("column_embeddings", vision.max_position_embeddings, d - half, of="column", role="columns"),
        role="side positions",
    )
    sines = weight("pos_idx_to_embed", vision.max_temporal_embeddings, d, parameter=False)
    return projector(
        name,
        d,
        target,
        sides,
        group("visual_temporal_embed", sines, role="side frames"),
        linear("image_projection", d, target),
        layer_norm("image_proj_norm", target),
    )
