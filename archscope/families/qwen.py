"""The Qwen lineage: biased queries, keys and values (2), norms on them (3), and routed experts."""

from __future__ import annotations

from collections.abc import Callable

from archscope.blocks.assembly import Architecture, Sublayer, pre_norm
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block
from archscope.blocks.factories import attention, kinds, mlp, moe, size
from archscope.blocks.leaves import rms_norm
from archscope.blocks.skeletons import decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("qwen2")
def qwen2(c: Config) -> Architecture:
    """Pre-norm decoder whose q, k and v projections always carry a bias.

    Source: transformers, models/qwen2/modeling_qwen2.py.
    """
    return _decoder(c, lambda kind: attention(c, bias=True, out_bias=False, window=_window(c, kind)))


@family("qwen3")
def qwen3(c: Config) -> Architecture:
    """Pre-norm decoder with an RMSNorm per head on queries and keys.

    Source: transformers, models/qwen3/modeling_qwen3.py.
    """
    return _decoder(c, lambda kind: attention(c, bias=c.attention_bias, qk_norm="head", window=_window(c, kind)))


@family("qwen3_moe")
def qwen3_moe(c: Config) -> Architecture:
    """Qwen3 with routed experts in every decoder_sparse_step-th layer that mlp_only_layers does not name.

    Source: transformers, models/qwen3_moe/modeling_qwen3_moe.py (Qwen3MoeDecoderLayer).
    """
    d = size(c, "hidden_size")
    sparse = _sparse_layers(c)

    def layer(kind: object) -> tuple[Sublayer, ...]:
        feed_forward: Block = mlp(c)
        if kind == "moe":
            feed_forward = moe(
                c,
                num_experts=c.num_experts,
                top_k=c.num_experts_per_tok,
                width=c.moe_intermediate_size,
                normalised=c.norm_topk_prob,
            )
        window = c.sliding_window if c.get("use_sliding_window") else None
        return pre_norm(
            (
                rms_norm("input_layernorm", d),
                attention(c, bias=c.attention_bias, qk_norm="head", window=window),
            ),
            (rms_norm("post_attention_layernorm", d), feed_forward),
        )

    return with_head(c, decoder(c, layer, kinds=sparse, final_norm=rms_norm("norm", d)))


def _decoder(c: Config, mixer: Callable[[object], Attention]) -> Architecture:
    d = size(c, "hidden_size")
    tower = decoder(
        c,
        lambda kind: pre_norm(
            (rms_norm("input_layernorm", d), mixer(kind)),
            (rms_norm("post_attention_layernorm", d), mlp(c)),
        ),
        kinds=kinds(c, "layer_types"),
        final_norm=rms_norm("norm", d),
    )
    return with_head(c, tower)


def _window(c: Config, kind: object) -> int | None:
    return c.sliding_window if kind == "sliding_attention" else None


def _sparse_layers(c: Config) -> list[str]:
    """ "moe" or "dense" for each layer."""
    step, only = c.decoder_sparse_step, set(c.mlp_only_layers or ())
    return [
        "moe" if i not in only and c.num_experts > 0 and (i + 1) % step == 0 else "dense"
        for i in range(c.num_hidden_layers)
    ]
