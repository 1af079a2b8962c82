"""Gemma models that see and hear: optional towers, each with a small embedder into the width of the text."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, TowerRole
from archscope.blocks.base import Block, weight
from archscope.blocks.composites import Mount, assemble, nested
from archscope.blocks.factories import size
from archscope.blocks.leaves import embedding, layer_norm, linear, rms_norm
from archscope.blocks.projectors import Projector, projector
from archscope.config import Config
from archscope.families.registry import family, tower


@family("gemma4")
def gemma4(c: Config) -> Architecture:
    """A vision and an audio tower where the config has them; a norm without weights and one matrix each.

    Source: transformers, models/gemma4/modeling_gemma4.py (Gemma4Model, Gemma4MultimodalEmbedder).
    """
    at, text = nested(c), c.sub("text_config")
    parts: list[Block] = []
    senses: tuple[TowerRole, ...] = ("vision", "audio")
    for sense in senses:
        found = c.subs.get(f"{sense}_config")
        if found is not None:
            width = found.get("output_proj_dims", found.get("hidden_size"))
            parts.append(tower(found, at(f"{sense}_tower"), sense))
            parts.append(_embedder(at(f"embed_{sense}"), width, size(text, "hidden_size")))
    return assemble(c, at, tower(text, at.text), *parts, text_config=text)


@family("gemma4_unified")
def gemma4_unified(c: Config) -> Architecture:
    """No towers: patches of pixels and frames of sound straight into the text's width.

    Source: transformers, models/gemma4_unified/modeling_gemma4_unified.py; names as its conversion saves them.
    """
    at, text = nested(c), c.sub("text_config")
    vision, audio, d = c.subs.get("vision_config"), c.subs.get("audio_config"), size(text, "hidden_size")
    parts: list[Block] = []
    if vision is not None:
        parts += [_patches(vision, at), _embedder(at("embed_vision"), vision.output_proj_dims, d)]
    if audio is not None:
        parts.append(_embedder(at("embed_audio"), audio.output_proj_dims, d))
    return assemble(c, at, tower(text, at.text), *parts, text_config=text)


@family("gemma3n")
def gemma3n(c: Config) -> Architecture:
    """A tower that timm builds and an audio tower; embedders that also know hard tokens of their own vocabularies.

    Source: transformers, models/gemma3n/modeling_gemma3n.py (Gemma3nModel, Gemma3nMultimodalEmbedder).
    """
    at, text = nested(c), c.sub("text_config")
    vision, audio, d = c.sub("vision_config"), c.sub("audio_config"), size(text, "hidden_size")
    parts = (
        tower(vision, at("vision_tower"), "vision"),
        tower(audio, at("audio_tower"), "audio"),
        _hard_and_soft(vision, at("embed_vision"), d),
        _hard_and_soft(audio, at("embed_audio"), d),
    )
    return assemble(c, at, tower(text, at.text), *parts, text_config=text)


def _embedder(name: str, source: int, target: int) -> Projector:
    return projector(
        name,
        source,
        target,
        rms_norm("embedding_pre_projection_norm", source, affine=False),
        linear("embedding_projection", source, target),
    )


def _patches(c: Config, at: Mount) -> Projector:
    """Norm, matrix, norm over the pixels of a patch, learned positions for rows and columns, norm."""
    pixels, width = c.model_patch_size**2 * 3, c.mm_embed_dim
    return projector(
        at("vision_embedder"),
        pixels,
        width,
        layer_norm("patch_ln1", pixels),
        linear("patch_dense", pixels, width, True),
        layer_norm("patch_ln2", width),
        weight("pos_embedding", c.mm_posemb_size, 2, width, role="positions"),
        layer_norm("pos_norm", width),
    )


def _hard_and_soft(c: Config, name: str, target: int) -> Projector:
    """Features pass the soft norm, tokens of the modality's own vocabulary its table and the hard norm."""
    source = c.hidden_size
    return projector(
        name,
        source,
        target,
        embedding("embedding", c.vocab_size, source, of="modality token"),
        rms_norm("hard_embedding_norm", source),
        rms_norm("soft_embedding_norm", source),
        linear("embedding_projection", source, target),
        rms_norm("embedding_post_projection_norm", target, affine=False),
    )
