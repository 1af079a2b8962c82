"""GLM models that see: a vision tower with its own merger beside a GLM text tower with rotary sections."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Sublayer, sandwich_norm
from archscope.blocks.attention import Attention
from archscope.blocks.composites import assemble, nested
from archscope.blocks.factories import attention, mlp, named_norm, size
from archscope.blocks.routed import grouped_moe, sparse_layers
from archscope.blocks.skeletons import decoder, pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family, tower


@family("glm4v_text")
def glm4v_text(c: Config) -> Architecture:
    """GLM-4's layer: norms on both sides of each sublayer, biased q, k and v; the heads fill the hidden size.

    Source: transformers, models/glm4v/modeling_glm4v.py (Glm4vTextDecoderLayer).
    """
    width = size(c, "hidden_size") // c.num_attention_heads
    return _sandwich(c, attention(c, head_dim=width, bias=True, out_bias=False))


@family("glm_ocr_text")
def glm_ocr_text(c: Config) -> Architecture:
    """GLM-4V's layer without biases.

    Source: transformers, models/glm_ocr/modeling_glm_ocr.py (GlmOcrTextDecoderLayer).
    """
    return _sandwich(c, attention(c))


@family("glm4v_moe_text")
def glm4v_moe_text(c: Config) -> Architecture:
    """GLM-4.5's layer: dense ones first, then sigmoid-routed experts with shared ones.

    Source: transformers, models/glm4v_moe/modeling_glm4v_moe.py (Glm4vMoeTextDecoderLayer). conversion_mapping.py takes
    the experts apart on saving for the whole model only: by itself the text model keeps them together.
    """
    alone = not c.pointer
    text = pre_norm_decoder(
        c,
        lambda kind: attention(c, bias=c.attention_bias, out_bias=False),
        lambda kind: grouped_moe(c, num_experts=c.num_local_experts, together=alone) if kind == "moe" else mlp(c),
        kinds=sparse_layers(c, c.first_k_dense_replace),
    )
    return with_head(c, text)


@family("glm4v", "glm46v", "glm4v_moe", "glm_ocr", "glmga")
def glm4v(c: Config) -> Architecture:
    """Vision tower and text tower below `model`.

    Source: transformers, models/glm4v/modeling_glm4v.py (Glm4vModel), models/glm46v, glm4v_moe, glm_ocr.
    """
    at, text = nested(c), c.sub("text_config")
    seeing = tower(c.sub("vision_config"), at("visual"), "vision")
    return assemble(c, at, tower(text, at.text), seeing, text_config=text)


def _sandwich(c: Config, mixer: Attention) -> Architecture:
    norm = named_norm(c)

    def layer(kind: object) -> tuple[Sublayer, ...]:
        return sandwich_norm(
            (norm("input_layernorm"), mixer, norm("post_self_attn_layernorm")),
            (norm("post_attention_layernorm"), mlp(c, kind="fused"), norm("post_mlp_layernorm")),
        )

    return with_head(c, decoder(c, layer, kinds=("",) * c.num_hidden_layers, final_norm=norm("norm")))
