"""Inkling models that see and hear: towers with their own way into the text, under the names of the first release."""

from __future__ import annotations

from dataclasses import replace

from archscope.blocks.assembly import Architecture
from archscope.blocks.base import Block, Weight
from archscope.blocks.composites import Mount, assemble
from archscope.blocks.factories import size
from archscope.blocks.leaves import Linear, linear
from archscope.blocks.mlp import Mlp
from archscope.blocks.padded import PaddedLinear
from archscope.blocks.renaming import rebuilt
from archscope.blocks.skeletons import GENERATIVE_TASKS, head
from archscope.config import Config
from archscope.families.registry import family, tower

FIRST_NAMES = {
    "self_attn": "attn",
    "q_proj": "wq_du",
    "k_proj": "wk_dv",
    "v_proj": "wv_dv",
    "r_proj": "wr_du",
    "o_proj": "wo_ud",
    "k_sconv.conv1d": "k_sconv",
    "v_sconv.conv1d": "v_sconv",
    "attn_sconv.conv1d": "attn_sconv",
    "mlp_sconv.conv1d": "mlp_sconv",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "mlp_norm",
    "e_score_correction_bias": "bias",
}
EXPERT_NAMES = {"gate_up_proj": "w13_weight", "down_proj": "w2_weight"}
TABLE_NAMES = {"embed_tokens": "embed", "embed_tokens.embed_norm": "embed_norm"}


@family("inkling_mm_model")
def inkling(c: Config) -> Architecture:
    """Audio codes through one table, images through ever coarser patches; the head is never tied.

    Source: transformers, models/inkling/modeling_inkling.py (InklingModel); conversion_mapping.py.
    """
    bare, text = c.task == "model", c.sub("text_config")
    at = Mount("" if bare else "model.", "language_model" if bare else "model.llm", "model.llm.unembed")

    def change(around: str, block: Block) -> Block:
        if isinstance(block, Mlp):
            return _joined(block)
        names = EXPERT_NAMES if around == "experts" else FIRST_NAMES
        # The base class keeps the names of the tables.
        name = names.get(block.name, block.name if bare else TABLE_NAMES.get(block.name, block.name))
        return block if name == block.name else replace(block, name=name)

    parts = (
        tower(c.sub("audio_config"), at("audio_tower" if bare else "audio"), "audio"),
        tower(c.sub("vision_config"), at("vision_tower" if bare else "visual"), "vision"),
    )
    return assemble(c, at, rebuilt(tower(text, at.text), change), *parts, text_config=text, tie=False)


@family("inkling2", "inkling2_loop")
def inkling2(c: Config) -> Architecture:
    """A vision tower with its own merger; the head is saved with as many rows as the token table has.

    Source: transformers, models/inkling2/modeling_inkling2.py, models/inkling2_loop; conversion_mapping.py.
    """
    bare, text = c.task == "model", c.sub("text_config")
    seeing = tower(c.sub("vision_config"), "vision_tower" if bare else "model.visual", "vision")
    reading = tower(text, "language_model" if bare else "model.llm")
    if bare:
        return Architecture(parts=(seeing, reading))
    if c.task not in GENERATIVE_TASKS:
        return Architecture(parts=(seeing, reading), partial=f"the head of {c.model_class} is not known")
    matrix = PaddedLinear(
        name="model.llm.unembed",
        role="logits",
        in_features=size(text, "hidden_size"),
        out_features=size(text, "unpadded_vocab_size"),
        saved_features=size(text, "vocab_size"),
        fields=("vocab_size", "unpadded_vocab_size"),
    )
    logits = replace(head("causal_lm", matrix), softcap=text.final_logit_softcapping)
    return Architecture(parts=(seeing, reading, logits))


def _joined(block: Mlp) -> Mlp:
    """Gate and up saved as one tensor, their rows in turn."""
    gate, down = block.find("gate"), block.find("down")
    others = tuple(part for part in block.parts if part.role not in ("gate", "up", "down"))
    if isinstance(gate, Weight) and isinstance(down, Weight):
        count, width, hidden = gate.shape
        fused: Block = Weight(name="shared_w13_weight", role="gate_up", shape=(count, 2 * width, hidden))
        return replace(block, parts=(fused, replace(down, name="shared_w2_weight"), *others))
    if isinstance(gate, Linear) and isinstance(down, Linear):
        fused = linear("w13_dn", gate.in_features, 2 * gate.out_features, role="gate_up")
        return replace(block, parts=(fused, replace(down, name="w2_md"), *others))
    return block
