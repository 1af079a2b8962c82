"""Idefics 2 and 3 and SmolVLM: a text tower behind SigLIP, the patches resampled or folded into channels."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Branch, Layer, Sublayer, Tower, stack
from archscope.blocks.base import weight
from archscope.blocks.composites import assemble, nested
from archscope.blocks.factories import attention, mlp, size
from archscope.blocks.leaves import linear, regroup, rms_norm
from archscope.blocks.projectors import gated_bridge, projector
from archscope.config import Config
from archscope.families.registry import family, tower


@family("idefics2")
def idefics2(c: Config) -> Architecture:
    """A gated projection, then a few learned latents that attend to the patches of an image.

    Source: transformers, models/idefics2/modeling_idefics2.py (Idefics2Connector).
    """
    at, text, vision = nested(c, text="text_model"), c.sub("text_config"), c.sub("vision_config")
    d, d_v = size(text, "hidden_size"), vision.hidden_size
    projection = gated_bridge(
        d_v, text.intermediate_size, d, name="modality_projection", activation=text.get("hidden_act", "")
    )
    seeing = tower(vision, at("vision_model"), "vision")
    connector = projector(at("connector"), d_v, d, projection, _resampler(c.sub("perceiver_config")))
    return assemble(c, at, tower(text, at.text), seeing, connector, text_config=text)


@family("idefics3", "smolvlm")
def idefics3(c: Config) -> Architecture:
    """Pixel shuffle and one matrix.

    Source: transformers, models/idefics3/modeling_idefics3.py (Idefics3Connector), models/smolvlm/modeling_smolvlm.py.
    """
    at, text, vision = nested(c, text="text_model"), c.sub("text_config"), c.sub("vision_config")
    d, d_v = size(text, "hidden_size"), vision.hidden_size
    folded = d_v * c.scale_factor**2
    connector = projector(
        at("connector"),
        d_v,
        d,
        regroup("pixel shuffle", d_v, folded),
        linear("modality_projection.proj", folded, d),
        note=f"{c.scale_factor} x {c.scale_factor} patches to one token",
    )
    seeing = tower(vision, at("vision_model"), "vision")
    return assemble(c, at, tower(text, at.text), seeing, connector, text_config=text)


def _resampler(c: Config) -> Tower:
    """Latents that read the context and themselves, layer by layer.

    Source: Flamingo (arXiv 2204.14198) section 2.1; transformers, models/idefics2/modeling_idefics2.py.
    """
    d = size(c, "hidden_size")
    layers = stack("layers", ("",) * c.resampler_depth, lambda kind: _reading_layer(c), width=d)
    parts = (weight("latents", c.resampler_n_latents, d, role="embedding"), layers, rms_norm("norm", d))
    return Tower(
        name="perceiver_resampler",
        parts=parts,
        tower="other",
        model_type=c.model_type,
        pointer=c.pointer,
        width=d,
    )


def _reading_layer(c: Config) -> Layer:
    d = size(c, "hidden_size")
    reading = attention(
        c,
        num_heads=c.resampler_n_heads,
        head_dim=c.resampler_head_dim,
        memory=d,
        causal=False,
        cache=False,
        position="none",
        fields=("resampler_n_heads", "resampler_head_dim", "num_key_value_heads"),
    )
    feed_forward = mlp(c, width=4 * d, fields=("hidden_size",))
    return Layer(
        sublayers=(
            Sublayer(branches=(Branch(pre=rms_norm("input_latents_norm", d), body=reading),)),
            Sublayer(branches=(Branch(pre=rms_norm("post_attention_layernorm", d), body=feed_forward),)),
        ),
        width=d,
        extras=(rms_norm("input_context_norm", d),),
    )
