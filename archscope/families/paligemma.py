"""PaliGemma, and the robot policy and image classifier built on such models."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.base import group, weight
from archscope.blocks.composites import FLAT, Mount, assemble
from archscope.blocks.factories import size
from archscope.blocks.leaves import linear, regroup, rms_norm
from archscope.blocks.projectors import projector
from archscope.blocks.renaming import renamed, renaming
from archscope.blocks.skeletons import head
from archscope.config import Config
from archscope.families.registry import family, tower

EXPERT = "paligemma_with_expert.gemma_expert"


@family("paligemma")
def paligemma(c: Config) -> Architecture:
    """A Gemma text tower behind SigLIP, with one matrix between them.

    Source: transformers, models/paligemma/modeling_paligemma.py (PaliGemmaMultiModalProjector).
    """
    text, vision = c.sub("text_config"), c.sub("vision_config")
    d_v, d_p = vision.hidden_size, vision.projection_dim
    bridge = projector("multi_modal_projector", d_v, d_p, linear("linear", d_v, d_p, True))
    seeing = tower(vision, "vision_tower", "vision")
    return assemble(c, FLAT, tower(text, FLAT.text), seeing, bridge, text_config=text)


@family("shieldgemma2")
def shieldgemma2(c: Config) -> Architecture:
    """Gemma 3 read as a classifier by the logits of yes and no.

    Source: transformers, models/shieldgemma2/modeling_shieldgemma2.py (ShieldGemma2ForImageClassification).
    """
    text, vision = c.sub("text_config"), c.sub("vision_config")
    above = "model." if c.task == "image_classification" else ""
    at = Mount(f"{above}model.", f"{above}model.language_model.model", f"{above}lm_head")
    d, d_v = size(text, "hidden_size"), vision.hidden_size
    bridge = projector(
        at("multi_modal_projector"),
        d_v,
        d,
        rms_norm("mm_soft_emb_norm", d_v),
        weight("mm_input_projection_weight", d_v, d),
        note=f"pooled to {c.mm_tokens_per_image} tokens",
    )
    seeing = tower(vision, at("vision_tower"), "vision")
    tasks = ("image_classification",)
    return assemble(c, at, tower(text, at.text), seeing, bridge, text_config=text, generative=tasks)


@family("pi0")
def pi0(c: Config) -> Architecture:
    """A vision-language model, and a smaller Gemma that turns noise into actions while it attends to the first.

    Source: transformers, models/pi0/modeling_pi0.py; names as its conversion saves them.
    """
    vlm, acting = c.sub("vlm_config"), c.sub("dit_config")
    if c.task == "model":
        return Architecture(parts=(tower(acting, "dit", "other"), tower(vlm, "vlm", "vision")))
    known = c.model_class == "PI0ForConditionalGeneration"
    d = size(acting, "hidden_size")
    actions = group(
        "",
        linear("action_in_proj", c.max_action_dim, d, True),
        regroup("beside time", d, 2 * d),
        linear("action_time_mlp_in", 2 * d, d, True),
        linear("action_time_mlp_out", d, d, True),
        role="actions and time",
    )
    # The token table of the acting Gemma is never used; it is saved under the name of a head that is never built.
    table = renaming({"embed_tokens": "lm_head", "layers": "model.layers", "norm": "model.norm"}, inside=EXPERT)
    return Architecture(
        parts=(
            tower(vlm, "paligemma_with_expert.paligemma.model", "vision"),
            linear("state_proj", c.max_state_dim, d, True),
            actions,
            renamed(tower(acting, EXPERT, "other"), table),
            head("actions", linear("action_out_proj", d, c.max_action_dim, True)),
        ),
        partial="" if known else f"the head of {c.model_class or 'this class'} is not known",
    )
