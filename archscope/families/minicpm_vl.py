"""MiniCPM-V: a SigLIP tower that merges patches inside, more merging steps after it, a Qwen 3.5 text tower."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.composites import assemble, nested
from archscope.blocks.factories import size
from archscope.blocks.leaves import layer_norm, regroup
from archscope.blocks.projectors import Projector, plain_bridge, projector
from archscope.blocks.repeated import repeated
from archscope.config import Config
from archscope.families.registry import family, tower

JOINED = 4
"""Patches that one step makes one, whatever merge_kernel_size says."""


@family("minicpm_ocr", "minicpmv4_6", "minicpmv4_7")
def minicpm_vl(c: Config) -> Architecture:
    """merger_times steps of four patches into one, the last one into the text's width.

    Source: transformers, models/minicpmv4_6/modeling_minicpmv4_6.py (MiniCPMV4_6Merger), minicpmv4_7, minicpm_ocr.
    """
    at, text, vision = nested(c), c.sub("text_config"), c.sub("vision_config")
    d, d_v = size(text, "hidden_size"), vision.hidden_size
    before = max(c.merger_times - 1, 0)
    steps = (repeated("mlp", before, _step("", d_v, d_v)),) if before else ()
    bridge = projector(at("merger"), d_v, d, *steps, _step(f"mlp.{before}", d_v, d))
    seeing = tower(vision, at("vision_tower"), "vision")
    return assemble(c, at, tower(text, at.text), seeing, bridge, text_config=text)


def _step(name: str, source: int, target: int) -> Projector:
    joined = source * JOINED
    return projector(
        name,
        source,
        target,
        regroup("patch merge", source, joined),
        layer_norm("pre_norm", joined),
        plain_bridge(joined, joined, target),
    )
