"""Kimi K2.5: a DeepSeek-V3 text tower behind MoonViT."""

from __future__ import annotations

from dataclasses import replace

from archscope.blocks.assembly import Architecture
from archscope.blocks.base import Block, join
from archscope.blocks.composites import FLAT, Mount, assemble
from archscope.blocks.factories import size
from archscope.blocks.leaves import Linear, layer_norm, linear, regroup
from archscope.blocks.moe import Experts
from archscope.blocks.projectors import mlp_projector
from archscope.blocks.renaming import rebuilt, renamed, renaming
from archscope.config import Config
from archscope.families.registry import family, tower

PROJECTIONS = ("q_proj", "k_proj", "v_proj")
LATER_NAMES = {
    "encoder.patch_embed.proj": "patch_embed.proj",
    "patch_embed.pos_emb.weight": "patch_embed.pos_emb.position_embeddings",
    "encoder.blocks": "blocks",
    "encoder.final_layernorm": "final_layernorm",
    "norm0": "norm1",
    "norm1": "norm2",
    "fc0": "fc1",
    "fc1": "fc2",
    "wo": "attn.proj",
}
"""How the base class saves the vision tower: only some of the renamings of the first release apply to it."""


@family("kimi_k25")
def kimi_k25(c: Config) -> Architecture:
    """A norm over each patch, then merge_kernel_size of them side by side through two matrices.

    Source: transformers, models/kimi_k25/modeling_kimi_k25.py (Kimi_K25MultimodalProjection); conversion_mapping.py,
    which saves the text's layers as blocks too.
    """
    bare, text, vision = c.task == "model", c.sub("text_config"), c.sub("vision_config")
    at = Mount("", "language_model", "lm_head") if bare else FLAT
    rows, columns = vision.merge_kernel_size
    d_v, merged = vision.hidden_size, vision.hidden_size * rows * columns
    norm = "mm_projector.pre_norm" if bare else "model.mm_projector.pre_norm"
    inner = ("in_proj", "out_proj") if bare else ("proj.0", "proj.2")
    bridge = mlp_projector(
        "",
        d_v,
        size(text, "hidden_size"),
        inputs=merged,
        hidden=merged,
        names=(f"mm_projector.{inner[0]}", f"mm_projector.{inner[1]}"),
        before=(layer_norm(norm, c.projection_hidden_size), regroup("patch merge", d_v, merged)),
    )
    seeing: Block = tower(vision, "vision_tower", "vision")
    if bare:
        seeing = renamed(seeing, renaming(LATER_NAMES))
    reading = renamed(rebuilt(tower(text, at.text), _joined), lambda around, name: name.replace("layers", "blocks"))
    made = assemble(c, at, reading, seeing, bridge, text_config=text)
    if _has_stacked(reading):
        return replace(made, partial=f"how the experts of a {text.model_type} are saved in this model is not known")
    return made


def _joined(around: str, block: Block) -> Block:
    """The renaming that joins the projections of the vision tower meets those of the text as well, where it has any."""
    if block.name != "self_attn":
        return block
    own = [part for part in block.children() if isinstance(part, Linear) and part.name in PROJECTIONS]
    if not own:
        return block
    rows = sum(part.out_features for part in own)
    role = own[0].role if len(own) == 1 else "qkv"
    whole = linear("self_wqkv", own[0].in_features, rows, own[0].bias, role=role)
    others = (replace(part, name=join(block.name, part.name)) for part in block.children() if part not in own)
    return replace(block, name="", role=block.name, parts=(whole, *others))  # type: ignore[call-arg]


def _has_stacked(block: Block) -> bool:
    """Whether experts stand in one tensor: the renaming takes such apart, in ways that are not those of their own class."""
    return bool(isinstance(block, Experts) and block.stacked) or any(_has_stacked(part) for part in block.children())
