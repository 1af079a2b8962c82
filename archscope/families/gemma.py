"""The Gemma lineage: norms before and after each sublayer, local and global layers, and a vision tower."""

from __future__ import annotations

from math import sqrt
from typing import Literal

from archscope.blocks.assembly import Architecture, Sublayer, sandwich_norm
from archscope.blocks.attention import Attention
from archscope.blocks.base import weight
from archscope.blocks.factories import attention, mlp, named_norm, size, sliding_window
from archscope.blocks.leaves import rms_norm
from archscope.blocks.projectors import Projector
from archscope.blocks.skeletons import composite, decoder, label_head, pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family, tower


@family("gemma")
def gemma(c: Config) -> Architecture:
    """Pre-norm decoder with scaled embeddings and GeGLU.

    Source: transformers, models/gemma/modeling_gemma.py.
    """
    base = pre_norm_decoder(
        c,
        lambda kind: attention(c, bias=c.attention_bias, causal=not c.get("use_bidirectional_attention")),
        lambda kind: mlp(c),
        kinds=("",) * c.num_hidden_layers,
        embed_scale=sqrt(c.hidden_size),
    )
    return with_head(c, base)


@family("gemma2")
def gemma2(c: Config) -> Architecture:
    """Four norms a layer, GeGLU, every second layer sliding, soft caps on scores and logits.

    Source: transformers, models/gemma2/modeling_gemma2.py.
    """
    return _sandwich(c, "", "")


@family("gemma3_text")
def gemma3_text(c: Config) -> Architecture:
    """Gemma 2's layer with norms on queries and keys, and another rotary base in sliding layers.

    Source: transformers, models/gemma3/modeling_gemma3.py (Gemma3DecoderLayer).
    """
    return _sandwich(c, "head", "layer")


@family("gemma3")
def gemma3(c: Config) -> Architecture:
    """Gemma 3's decoder with a vision tower, whose patches are pooled and projected into the text.

    Source: transformers, models/gemma3/modeling_gemma3.py (Gemma3MultiModalProjector); saved as it converts.
    """
    text, vision = c.sub("text_config"), c.sub("vision_config")
    d, d_v = size(text, "hidden_size"), vision.hidden_size
    projector = Projector(
        name="multi_modal_projector",
        parts=(
            rms_norm("mm_soft_emb_norm", d_v),
            weight("mm_input_projection_weight", d_v, d),
        ),
        source_width=d_v,
        target_width=d,
        note=f"pooled to {c.mm_tokens_per_image} tokens",
    )
    return composite(
        c,
        tower(text, "language_model.model"),
        tower(vision, "vision_tower", "vision"),
        projector,
        text_config=text,
        lm_head="language_model.lm_head",
        token_table="language_model.model.embed_tokens",
        heads={"sequence_classification": label_head(c, d)},
    )


def _sandwich(c: Config, qk_norm: Literal["", "head"], rope_by: Literal["", "layer"]) -> Architecture:
    norm = named_norm(c)

    def mixer(kind: object) -> Attention:
        return attention(
            c,
            bias=c.attention_bias,
            qk_norm=qk_norm,
            layer_type=str(kind) if rope_by else "",
            window=sliding_window(c, kind),
            causal=not c.get("use_bidirectional_attention"),
            scale=c.query_pre_attn_scalar**-0.5,
            softcap=c.attn_logit_softcapping,
        )

    def layer(kind: object) -> tuple[Sublayer, ...]:
        feed_forward = mlp(c, activation=c.hidden_activation)
        return sandwich_norm(
            (norm("input_layernorm"), mixer(kind), norm("post_attention_layernorm")),
            (norm("pre_feedforward_layernorm"), feed_forward, norm("post_feedforward_layernorm")),
        )

    return with_head(c, decoder(c, layer, final_norm=norm("norm"), embed_scale=sqrt(c.hidden_size)))
