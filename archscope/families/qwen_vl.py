"""Qwen models that see: a vision tower with its own merger beside a Qwen text tower with rotary sections."""

from __future__ import annotations

from dataclasses import replace

from archscope.blocks.assembly import Architecture
from archscope.blocks.base import Block
from archscope.blocks.composites import Mount, assemble, nested
from archscope.blocks.factories import attention, mlp, moe, size, sliding_window, stacked_experts
from archscope.blocks.leaves import linear
from archscope.blocks.moe import Moe
from archscope.blocks.projectors import projector
from archscope.blocks.renaming import renamed, renaming
from archscope.blocks.skeletons import pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import ahead, family, tower

UNPREFIXED = ("embed_tokens", "layers", "norm")
DIFFUSERS_NAMES = {
    "q_proj": "to_q",
    "k_proj": "to_k",
    "v_proj": "to_v",
    "o_proj": "to_out",
    "q_norm": "norm_q",
    "k_norm": "norm_k",
}


@family("qwen2_vl_text", "qwen2_5_vl_text")
def qwen2_vl_text(c: Config) -> Architecture:
    """Qwen2's layer; the heads always fill the hidden size.

    Source: transformers, models/qwen2_vl/modeling_qwen2_vl.py (Qwen2VLDecoderLayer), models/qwen2_5_vl.
    """
    width = size(c, "hidden_size") // c.num_attention_heads
    text = pre_norm_decoder(
        c,
        lambda kind: attention(c, head_dim=width, bias=True, out_bias=False, window=sliding_window(c, kind)),
        lambda kind: mlp(c),
    )
    return with_head(c, text)


@family("qwen3_vl_text")
def qwen3_vl_text(c: Config) -> Architecture:
    """Qwen3's layer; the first layers add features of early vision layers to the image tokens.

    Source: transformers, models/qwen3_vl/modeling_qwen3_vl.py (Qwen3VLTextDecoderLayer).
    """
    return with_head(c, pre_norm_decoder(c, lambda kind: _normed_attention(c), lambda kind: mlp(c), kinds=_plain(c)))


@family("qwen3_vl_moe_text")
def qwen3_vl_moe_text(c: Config) -> Architecture:
    """Qwen3-VL with stacked experts in every decoder_sparse_step-th layer that mlp_only_layers does not name.

    Source: transformers, models/qwen3_vl_moe/modeling_qwen3_vl_moe.py (Qwen3VLMoeTextDecoderLayer).
    """
    only = set(c.mlp_only_layers or ())
    sparse = [
        "moe" if i not in only and c.num_experts > 0 and (i + 1) % c.decoder_sparse_step == 0 else "dense"
        for i in range(c.num_hidden_layers)
    ]
    text = pre_norm_decoder(
        c,
        lambda kind: _normed_attention(c),
        lambda kind: _stacked_experts(c) if kind == "moe" else mlp(c),
        kinds=sparse,
    )
    return with_head(c, text)


@family("qwen2_vl", "qwen2_5_vl")
def qwen2_vl(c: Config) -> Architecture:
    """Vision tower and text tower under the names of the first Qwen2-VL checkpoints.

    Source: transformers, models/qwen2_vl/modeling_qwen2_vl.py, models/qwen2_5_vl; conversion_mapping.py.
    """
    at = Mount("", "language_model" if c.task == "model" else "model", "lm_head")
    return _behind(c, at, at("visual"))


@family("qwen3_vl", "qwen3_vl_moe", "qwen3_5", "qwen3_5_moe", "qwen4_exp", "exaone4_5")
def qwen3_vl(c: Config) -> Architecture:
    """Vision tower and text tower of their own types below `model`.

    Source: transformers, models/qwen3_vl/modeling_qwen3_vl.py (Qwen3VLModel), and those of the other types.
    """
    at, text = nested(c), c.sub("text_config")
    return _behind(c, at, at("visual"), extra=ahead(text) if text.get("mtp_num_hidden_layers") else ())


@family("cosmos3_omni")
def cosmos3_omni(c: Config) -> Architecture:
    """Qwen3-VL as the reasoning part of a world model; saved without prefixes, attention under diffusers' names.

    Source: transformers, models/cosmos3_omni/modeling_cosmos3_omni.py; conversion_mapping.py.
    """
    at = nested(c) if c.task == "model" else Mount("", "", "lm_head")
    text = c.sub("text_config")
    reading = renamed(tower(text, at.text), renaming(DIFFUSERS_NAMES, inside="self_attn"))
    seeing = tower(c.sub("vision_config"), at("visual") if c.task == "model" else "", "vision")
    made = assemble(c, at, reading, seeing, text_config=text)
    foreign = at.text == "" and any(part.name not in UNPREFIXED for part in reading.children() if part.name)
    return replace(made, partial=f"where {text.model_type} is saved is not known") if foreign else made


@family("hyperclovax_vision_v2")
def hyperclovax_vision_v2(c: Config) -> Architecture:
    """HyperCLOVA X behind the vision tower of Qwen2.5-VL, with one matrix between them.

    Source: transformers, models/hyperclovax_vision_v2/modeling_hyperclovax_vision_v2.py; conversion_mapping.py.
    """
    at = nested(c, head="model.language_model.lm_head")
    d, d_v = size(c.sub("text_config"), "hidden_size"), c.sub("vision_config").out_hidden_size
    name = "projector" if c.task == "model" else "model.vision_projector"
    bridge = projector(name, d_v, d, linear("", d_v, d, True, role="projection"))
    return _behind(c, at, at("vision_model"), bridge)


def _behind(c: Config, at: Mount, vision: str, *beside: Block, extra: tuple[Block, ...] = ()) -> Architecture:
    text = c.sub("text_config")
    seeing = tower(c.sub("vision_config"), vision, "vision")
    labels = ("sequence_classification", "token_classification")
    return assemble(c, at, tower(text, at.text), seeing, *beside, text_config=text, label_tasks=labels, extra=extra)


def _normed_attention(c: Config) -> Block:
    return attention(c, bias=c.attention_bias, qk_norm="head")


def _stacked_experts(c: Config) -> Moe:
    d, m, count = size(c, "hidden_size"), size(c, "moe_intermediate_size"), c.num_experts
    return moe(
        c,
        num_experts=count,
        top_k=c.num_experts_per_tok,
        width=m,
        stacked=stacked_experts(count, d, m),
        normalised=True,
    )


def _plain(c: Config) -> tuple[str, ...]:
    return ("",) * int(c.num_hidden_layers)
