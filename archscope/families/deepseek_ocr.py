"""DeepSeek-OCR 2 and Unlimited-OCR: SAM and a second encoder before a small decoder with routed experts."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.base import Block, weight
from archscope.blocks.composites import Mount, assemble
from archscope.blocks.factories import attention, mlp, moe, size
from archscope.blocks.leaves import linear
from archscope.blocks.moe import Moe
from archscope.blocks.projectors import projector
from archscope.blocks.size import Size
from archscope.blocks.skeletons import pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family, tower


@family("deepseek_ocr2_text", "unlimited_ocr_text")
def deepseek_ocr_text(c: Config) -> Architecture:
    """Llama's attention, dense and sparse layers by mlp_layer_types; in Unlimited-OCR all tokens see the whole prompt.

    Source: transformers, models/deepseek_ocr2/modeling_deepseek_ocr2.py (DeepseekOcr2TextDecoderLayer), unlimited_ocr.
    """
    text = pre_norm_decoder(
        c,
        lambda kind: attention(c, bias=c.attention_bias),
        lambda kind: _experts(c) if kind == "sparse" else mlp(c, bias=c.mlp_bias),
        kinds=tuple(c.mlp_layer_types)[: c.num_hidden_layers],
    )
    return with_head(c, text)


@family("deepseek_ocr2")
def deepseek_ocr2(c: Config) -> Architecture:
    """One matrix from the second encoder's width; one vector between views of a page.

    Source: transformers, models/deepseek_ocr2/modeling_deepseek_ocr2.py (DeepseekOcr2Model); conversion_mapping.py.
    """
    source = c.sub("vision_config").sub("encoder_config").hidden_size
    return _pages(c, source, "view_seperator")


@family("unlimited_ocr")
def unlimited_ocr(c: Config) -> Architecture:
    """SAM's features beside CLIP's through one matrix; one vector between views and one at the end of a row.

    Source: transformers, models/unlimited_ocr/modeling_unlimited_ocr.py (UnlimitedOcrModel); conversion_mapping.py.
    """
    vision = c.sub("vision_config")
    source = vision.sub("sam_config").downsample_channels[-1] + vision.sub("encoder_config").hidden_size
    return _pages(c, source, "view_seperator", "image_newline")


def _pages(c: Config, source: int, *vectors: str) -> Architecture:
    text, above = c.sub("text_config"), "" if c.task == "model" else "model"
    at, d = Mount(f"{above}." if above else "", above), size(text, "hidden_size")
    bridge = projector(at("projector.layers"), source, d, linear("", source, d, True, role="projection"))
    marks: tuple[Block, ...] = tuple(weight(at(name), d) for name in vectors)
    seeing = tower(c.sub("vision_config"), above, "vision")
    return assemble(c, at, tower(text, at.text), seeing, bridge, *marks, text_config=text)


def _experts(c: Config) -> Moe:
    limited = c.topk_method == "group_limited_greedy"
    shared = Size(c.moe_intermediate_size * c.n_shared_experts, "m_e·n_shared")
    return moe(
        c,
        num_experts=c.num_experts,
        top_k=c.num_experts_per_tok,
        width=c.moe_intermediate_size,
        scale=c.routed_scaling_factor,
        groups=c.n_group if limited and c.n_group else 1,
        top_groups=c.topk_group if limited and c.topk_group else 1,
        shared=mlp(c, name="shared_experts", role="shared", width=shared, bias=c.mlp_bias),
        num_shared=c.n_shared_experts,
    )
