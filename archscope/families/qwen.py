"""The Qwen lineage: biased queries, keys and values (2), norms on them (3), and routed experts."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.factories import attention, mlp, moe, sliding_window
from archscope.blocks.plans import stepped_layers
from archscope.blocks.skeletons import QA_PREFIX, pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("qwen2")
def qwen2(c: Config) -> Architecture:
    """Pre-norm decoder whose q, k and v projections always carry a bias.

    Source: transformers, models/qwen2/modeling_qwen2.py.
    """
    tower = pre_norm_decoder(
        c,
        lambda kind: attention(c, bias=True, out_bias=False, window=sliding_window(c, kind)),
        lambda kind: mlp(c),
    )
    return with_head(c, tower, prefixes=QA_PREFIX)


@family("qwen3")
def qwen3(c: Config) -> Architecture:
    """Pre-norm decoder with an RMSNorm per head on queries and keys.

    Source: transformers, models/qwen3/modeling_qwen3.py.
    """
    tower = pre_norm_decoder(
        c,
        lambda kind: attention(c, bias=c.attention_bias, qk_norm="head", window=sliding_window(c, kind)),
        lambda kind: mlp(c),
    )
    return with_head(c, tower, prefixes=QA_PREFIX)


@family("qwen3_moe")
def qwen3_moe(c: Config) -> Architecture:
    """Qwen3 with routed experts in every decoder_sparse_step-th layer that mlp_only_layers does not name.

    Source: transformers, models/qwen3_moe/modeling_qwen3_moe.py (Qwen3MoeDecoderLayer).
    """
    tower = pre_norm_decoder(
        c,
        lambda kind: attention(c, bias=c.attention_bias, qk_norm="head", window=c.sliding_window),
        lambda kind: (
            moe(
                c,
                num_experts=c.num_experts,
                top_k=c.num_experts_per_tok,
                width=c.moe_intermediate_size,
                normalised=c.norm_topk_prob,
            )
            if kind == "moe"
            else mlp(c)
        ),
        kinds=stepped_layers(c),
    )
    return with_head(c, tower, prefixes=QA_PREFIX)
