"""MiniMax-M3: an indexed decoder that sees by CLIP's layers, saved under the names of its first release."""

from __future__ import annotations

from dataclasses import replace

from archscope.blocks.assembly import Architecture
from archscope.blocks.base import Block
from archscope.blocks.composites import FLAT, Mount, assemble
from archscope.blocks.factories import size
from archscope.blocks.indexer import SparseIndexer
from archscope.blocks.leaves import regroup
from archscope.blocks.mlp import Mlp, gated_mlp
from archscope.blocks.moe import Moe, Router
from archscope.blocks.projectors import plain_bridge, projector
from archscope.blocks.renaming import rebuilt
from archscope.config import Config
from archscope.families.registry import family, tower

EXPERT_NAMES = ("w1", "w3", "w2")


@family("minimax_m3_vl")
def minimax_m3_vl(c: Config) -> Architecture:
    """Each patch into the width of the text, then neighbours joined and brought to that width again.

    Source: transformers, models/minimax_m3_vl/modeling_minimax_m3_vl.py; conversion_mapping.py.
    """
    bare, text, vision = c.task == "model", c.sub("text_config"), c.sub("vision_config")
    at, home = (Mount("", "language_model"), "multi_modal_projector") if bare else (FLAT, "")
    d, d_v, inner, joined = size(text, "hidden_size"), vision.hidden_size, c.projector_hidden_size, c.merged_hidden_size
    first, second = ("linear_1", "linear_2"), ("merge_linear_1", "merge_linear_2")
    one, two = home or "multi_modal_projector", home or "patch_merge_mlp"
    bridge = projector(
        "",
        d_v,
        d,
        replace(plain_bridge(d_v, inner, d, name=one, names=first), role="patches"),
        regroup("merge patches", d, joined),
        replace(plain_bridge(joined, inner, d, name=two, names=second if bare else first), role="merge"),
    )
    seeing = tower(vision, "vision_tower", "vision", native=bare)
    reading = rebuilt(tower(text, at.text), _first_release)
    return assemble(c, at, reading, seeing, bridge, text_config=text)


def _first_release(around: str, block: Block) -> Block:
    """Experts one by one, gate and up apart, the correction beside the router, the indexer in the attention."""
    if isinstance(block, Mlp) and block.find("gate_up") is not None:
        made = gated_mlp(block.hidden, block.width, block.activation, name=block.name, role=block.role)
        return replace(made, fields=block.fields)
    if isinstance(block, SparseIndexer):
        return replace(block, name="", parts=tuple(replace(part, name=f"index_{part.name}") for part in block.parts))
    if isinstance(block, Router):
        scores, *others = block.parts
        return replace(block, name="", parts=(replace(scores, name=block.name), *others))
    if isinstance(block, Moe):
        all_of = block.experts
        expert = gated_mlp(all_of.hidden, all_of.width, all_of.activation, name="", names=EXPERT_NAMES)
        return replace(block, name="block_sparse_moe", experts=replace(all_of, stacked=(), expert=expert))
    return block
