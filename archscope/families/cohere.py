"""The Cohere lineage: attention and MLP in parallel behind one bias-free LayerNorm."""

from __future__ import annotations

from collections.abc import Callable

from archscope.blocks.assembly import Architecture, parallel
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, group, weight
from archscope.blocks.factories import attention, head_size, kinds, mlp, moe, named_norm, size, sliding_window
from archscope.blocks.leaves import Norm
from archscope.blocks.moe import Moe
from archscope.blocks.size import Size
from archscope.blocks.skeletons import decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("cohere")
def cohere(c: Config) -> Architecture:
    """x + attention(norm(x)) + mlp(norm(x)), norms per head on queries and keys where use_qk_norm is true.

    Source: transformers, models/cohere/modeling_cohere.py (CohereDecoderLayer, CohereLayerNorm).
    """
    return _decoder(c, lambda kind: attention(c, bias=c.attention_bias, extras=_head_norms(c)), plan=("",))


@family("cohere2")
def cohere2(c: Config) -> Architecture:
    """Sliding layers with rotary positions, and global ones without any.

    Source: transformers, models/cohere2/modeling_cohere2.py (Cohere2Attention).
    """
    return _decoder(c, lambda kind: _windowed(c, kind, sliding_window(c, kind) is not None))


@family("cohere2_moe")
def cohere2_moe(c: Config) -> Architecture:
    """Cohere 2 with experts; an RMSNorm where rms_norm_eps is set; dense layers may turn in global attention too.

    Source: transformers, models/cohere2_moe/modeling_cohere2_moe.py (Cohere2MoeAttention, Cohere2MoeSparseMoeBlock).
    """

    def mixer(kind: tuple[str, str]) -> Attention:
        forced = kind[1] == "dense" and c.prefix_dense_sliding_window_pattern == 1
        return _windowed(c, kind[0], forced or sliding_window(c, kind[0]) is not None)

    def feed_forward(kind: tuple[str, str]) -> Block:
        return _experts(c) if kind[1] != "dense" else mlp(c, width=c.prefix_dense_intermediate_size)

    plan = kinds(c, "layer_types", "mlp_layer_types")
    norm = named_norm(c) if c.rms_norm_eps is not None else None
    return _decoder(c, mixer, feed_forward, plan, norm)


@family("cohere_compass_text")
def cohere_compass_text(c: Config) -> Architecture:
    """Cohere 2 whose rotary positions are given by type of layer; a type without parameters has none.

    Source: transformers, models/cohere_compass/modeling_cohere_compass.py (CohereCompassTextModel).
    """
    return _decoder(c, lambda kind: _windowed(c, kind, str(kind) in c.rope or "" in c.rope))


def _decoder(
    c: Config,
    mixer: Callable[..., Attention],
    feed_forward: Callable[..., Block] | None = None,
    plan: tuple[object, ...] | None = None,
    norm: Callable[[str], Norm] | None = None,
) -> Architecture:
    made = norm or named_norm(c, "layer", bias=False)
    tower = decoder(
        c,
        lambda kind: parallel(
            mixer(kind), mlp(c) if feed_forward is None else feed_forward(kind), norm=made("input_layernorm")
        ),
        kinds=plan * c.num_hidden_layers if plan == ("",) else plan,
        final_norm=made("norm"),
    )
    return with_head(c, tower)


def _windowed(c: Config, kind: object, turns: bool) -> Attention:
    return attention(
        c,
        bias=c.attention_bias,
        layer_type=str(kind),
        window=sliding_window(c, kind),
        position="rope" if turns else "none",
    )


def _head_norms(c: Config) -> tuple[Block, ...]:
    """A weight for each head: shape (heads, head_dim)."""
    if not c.use_qk_norm:
        return ()
    heads, kv, width = size(c, "num_attention_heads"), size(c, "num_key_value_heads"), head_size(c)
    return (
        group("q_norm", weight("weight", heads, width), role="q_norm"),
        group("k_norm", weight("weight", kv, width), role="k_norm"),
    )


def _experts(c: Config) -> Moe:
    """Experts of the width of an MLP; the shared ones are one block, added to them or averaged with them."""
    width, shared = size(c, "intermediate_size"), c.num_shared_experts
    return moe(
        c,
        num_experts=c.num_experts,
        top_k=c.num_experts_per_tok,
        width=width,
        scoring="sigmoid" if c.expert_selection_fn == "sigmoid" else "softmax",
        normalised=c.norm_topk_prob,
        shared=mlp(c, name="shared_experts", role="shared", width=Size(width * shared, "m·n_shared"))
        if shared > 0
        else None,
        num_shared=shared,
        fields=("num_experts", "num_experts_per_tok", "intermediate_size", "num_shared_experts"),
    )
