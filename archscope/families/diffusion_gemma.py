"""DiffusionGemma: blocks of text denoised by a decoder over what an encoder with the same weights has read."""

from __future__ import annotations

from dataclasses import replace

from archscope.blocks.assembly import Architecture, Head, Tower
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, Group
from archscope.blocks.composites import assemble, nested
from archscope.blocks.factories import mlp, named_norm, size
from archscope.blocks.leaves import linear, rms_norm
from archscope.blocks.projectors import projector
from archscope.blocks.renaming import mirrored, mirrored_pairs, rebuilt
from archscope.config import Config
from archscope.families.registry import family, tower


@family("diffusion_gemma")
def diffusion_gemma(c: Config) -> Architecture:
    """The encoder sees images and is causal; the decoder sees both ways, and its own last guess.

    Source: transformers, models/diffusion_gemma/modeling_diffusion_gemma.py (DiffusionGemmaModel, its tied weights).
    """
    at, text, vision = nested(c, text="decoder"), c.sub("text_config"), c.sub("vision_config")
    home, tied = at("encoder.language_model"), bool(c.tie_word_embeddings)
    reading = tower(text, home, "encoder")
    writing = _decoder(text, reading, at.text)
    if tied:
        reading = mirrored(reading, at.text)
    seeing = tower(vision, at("encoder.vision_tower"), "vision")
    bridge = _embedder(vision, at("encoder.embed_vision"), size(text, "hidden_size"))
    made = assemble(c, at, writing, seeing, bridge, reading, text_config=text, tie=tied)
    cap = text.get("final_logit_softcapping", 30.0)
    parts = tuple(replace(part, softcap=cap) if isinstance(part, Head) else part for part in made.parts)
    return replace(made, parts=parts, tied=(*mirrored_pairs(reading, home), *made.tied))


def _decoder(c: Config, encoder: Block, name: str) -> Block:
    """The encoder's layers over the block that is denoised; their keys and values are not kept."""

    def change(around: str, block: Block) -> Block:
        return replace(block, causal=False, cache=False) if isinstance(block, Attention) else block

    made = rebuilt(encoder, change)
    if not isinstance(made, Tower):
        return replace(made, name=name)
    return replace(made, name=name, tower="decoder", parts=(*made.parts, _self_conditioning(c)))


def _self_conditioning(c: Config) -> Group:
    """A gated MLP over the embeddings that the last step predicts, added to those of the block."""
    d = size(c, "hidden_size")
    inner = mlp(c, name="", role="conditioning", activation=c.hidden_activation)
    after = rms_norm("post_norm", d, eps=c.rms_norm_eps, affine=False)
    return Group(name="self_conditioning", role="side conditioning", parts=(named_norm(c)("pre_norm"), inner, after))


def _embedder(c: Config, name: str, target: int) -> Block:
    source = c.get("output_proj_dims", c.get("hidden_size"))
    norm = rms_norm("embedding_pre_projection_norm", source, eps=c.rms_norm_eps, affine=False)
    return projector(name, source, target, norm, linear("embedding_projection", source, target))
