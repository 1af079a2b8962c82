"""The vision towers of Janus and Ovis: SigLIP's and AIMv2's shapes under names of their own."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.attention import head_norms
from archscope.blocks.factories import size
from archscope.blocks.leaves import layer_norm, linear, regroup, rms_norm
from archscope.blocks.mlp import gated_mlp
from archscope.blocks.patches import patch_embedding, sides
from archscope.blocks.projectors import projector
from archscope.blocks.towers import feed_forward, layers, square_attention, tower_model
from archscope.config import Config
from archscope.families.registry import family


@family("janus_vision_model")
def janus_vision(c: Config) -> Architecture:
    """SigLIP's tower; norms over all heads of queries and keys where use_qk_norm is true.

    Source: transformers, models/janus/modeling_janus.py (JanusVisionModel).
    """
    d, heads, eps = size(c, "hidden_size"), c.num_attention_heads, c.layer_norm_eps
    attend = square_attention(
        d,
        heads,
        names=("q_proj", "k_proj", "v_proj", "projection_layer"),
        inner=d // heads * heads,
        bias=bool(c.attention_bias),
        out_bias=True,
        norms=head_norms("layer", d, bias=True) if c.use_qk_norm else (),
    )
    ffn = feed_forward(c, d, int(d * c.mlp_ratio))
    positions = (c.image_size // c.patch_size) ** 2
    return tower_model(
        c,
        d,
        patch_embedding("embeddings", c.num_channels, d, sides(c.patch_size), positions=positions),
        layers("encoder.layers", c.num_hidden_layers, d, attend, ffn, eps=eps),
        layer_norm("post_layernorm", d, eps=eps),
        classes=("JanusVisionModel",),
    )


@family("ovis2_vision")
def ovis2_vision(c: Config) -> Architecture:
    """AIMv2: RMSNorm and gated blocks; at the end squares of patches are scored over a vocabulary of visual tokens.

    Source: transformers, models/ovis2/modeling_ovis2.py (Ovis2VisionModel).
    """
    d, eps, bias = size(c, "hidden_size"), c.rms_norm_eps, bool(c.qkv_bias)
    joined, tokens = d * c.hidden_stride**2, c.vocab_size - c.num_visual_indicator_tokens
    positions = (c.image_size // c.patch_size) ** 2
    patches = patch_embedding(
        "transformer.embeddings",
        c.num_channels,
        d,
        sides(c.patch_size),
        positions=positions,
        norm=rms_norm("rms_norm", d, role="norm", eps=eps),
    )
    layered = layers(
        "transformer.encoder.layers",
        c.num_hidden_layers,
        d,
        square_attention(d, c.num_attention_heads, name="attention", bias=bias),
        gated_mlp(d, size(c, "intermediate_size"), c.hidden_act, name="ffn", bias=bool(c.mlp_bias)),
        norm=rms_norm,
        norms=("rms_norm1", "rms_norm2"),
        eps=eps,
    )
    scores = projector(
        "",
        d,
        tokens,
        regroup("patch merge", d, joined),
        linear("head_linear", joined, tokens),
        layer_norm("head_norm", tokens),
        note="a distribution over visual tokens",
    )
    return tower_model(
        c, d, patches, layered, rms_norm("transformer.rms_norm", d, eps=eps), scores, classes=("Ovis2VisionModel",)
    )
