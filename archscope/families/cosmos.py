"""Cosmos 3 Edge: a plain-MLP decoder behind SigLIP, saved without prefixes under diffusers' names."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.composites import Mount, assemble, nested
from archscope.blocks.factories import attention, mlp, size
from archscope.blocks.leaves import layer_norm, regroup
from archscope.blocks.projectors import mlp_projector
from archscope.blocks.renaming import renamed, renaming
from archscope.blocks.skeletons import pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family, tower

SAVED_NAMES = {
    "q_proj": "to_q",
    "k_proj": "to_k",
    "v_proj": "to_v",
    "o_proj": "to_out",
    "fc1": "up_proj",
    "fc2": "down_proj",
}


@family("cosmos3_edge_text")
def cosmos3_edge_text(c: Config) -> Architecture:
    """Llama's attention and an MLP of two matrices.

    Source: transformers, models/cosmos3_edge/modeling_cosmos3_edge.py (Cosmos3EdgeTextDecoderLayer).
    """
    text = pre_norm_decoder(
        c,
        lambda kind: attention(c, bias=c.attention_bias),
        lambda kind: mlp(c, kind="plain", bias=c.mlp_bias),
    )
    return with_head(c, text)


@family("cosmos3_edge")
def cosmos3_edge(c: Config) -> Architecture:
    """A norm over each patch, then spatial_merge_size squared of them side by side; the head is never tied.

    Source: transformers, models/cosmos3_edge/modeling_cosmos3_edge.py (Cosmos3EdgePatchMerger); conversion_mapping.py.
    """
    beside, text, vision = nested(c), c.sub("text_config"), c.sub("vision_config")
    at = beside if c.task == "model" else Mount("", "", "lm_head")
    d_v = vision.hidden_size
    merged = d_v * vision.spatial_merge_size**2
    bridge = mlp_projector(
        beside("projector"),
        d_v,
        size(text, "hidden_size"),
        inputs=merged,
        hidden=c.projector_hidden_size,
        names=("linear_fc1", "linear_fc2"),
        before=(layer_norm("norm", d_v), regroup("patch merge", d_v, merged)),
    )
    reading = renamed(tower(text, at.text), renaming(SAVED_NAMES))
    seeing = tower(vision, beside("visual"), "vision")
    return assemble(c, at, reading, seeing, bridge, text_config=text, tie=False)
