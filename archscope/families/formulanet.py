"""PP-FormulaNet: SAM's encoder reads a formula, a decoder with cross-attention writes it."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Tower
from archscope.blocks.encoder_decoders import side_layer, side_tower
from archscope.blocks.factories import size
from archscope.blocks.skeletons import GENERATIVE_TASKS, vocabulary_head
from archscope.blocks.towers import tower_model
from archscope.config import Config
from archscope.families.registry import family, tower


@family("pp_formulanet_text")
def formulanet_text(c: Config) -> Architecture:
    """The decoder of mBART: norms before the sublayers, over the embeddings and after the last layer.

    Source: transformers, models/pp_formulanet/modeling_pp_formulanet.py (PPFormulaNetTextModel).
    """
    made = _decoder(c, "")
    return tower_model(c, size(c, "hidden_size"), *made.parts, tower="decoder", classes=("PPFormulaNetTextModel",))


@family("pp_formulanet")
def formulanet(c: Config) -> Architecture:
    """The encoder ends with its own way into the width of the decoder; the head is never tied.

    Source: transformers, models/pp_formulanet/modeling_pp_formulanet.py (PPFormulaNetForConditionalGeneration).
    """
    text, bare = c.sub("text_config"), c.model_class == "PPFormulaNetModel"
    at = "" if bare else "model."
    reading = _decoder(text, f"{at}decoder")
    seeing = tower(c.sub("vision_config"), f"{at}encoder", "vision")
    if bare:
        return Architecture(parts=(seeing, reading))
    logits = vocabulary_head(text, size(text, "hidden_size"))
    reason = "" if c.task in GENERATIVE_TASKS else f"the head of {c.model_class or 'this class'} is not known"
    return Architecture(parts=(seeing, reading, logits), partial=reason)


def _decoder(c: Config, name: str) -> Tower:
    return side_tower(
        c,
        "decoder",
        name,
        "",
        lambda kind: side_layer(c, "decoder", pre=True),
        rows=size(c, "max_position_embeddings") + 2,
        first_norm="layernorm_embedding",
        last_norm="layer_norm",
    )
