"""The Phi lineage: parallel layers first, then fused matrices, then experts."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, parallel
from archscope.blocks.attention import head_norms
from archscope.blocks.factories import attention, epsilon, mlp, moe, named_norm, size
from archscope.blocks.leaves import layer_norm
from archscope.blocks.skeletons import decoder, pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("phi")
def phi(c: Config) -> Architecture:
    """Attention and a plain MLP in parallel behind one LayerNorm, biases everywhere, part of each head rotated.

    Source: transformers, models/phi/modeling_phi.py (PhiDecoderLayer).
    """
    norm = named_norm(c, "layer")
    width = size(c, "hidden_size") // c.num_attention_heads
    names = ("q_layernorm", "k_layernorm")
    norms = head_norms("layer", width, eps=epsilon(c), names=names, bias=True) if c.qk_layernorm else ()
    tower = decoder(
        c,
        lambda kind: parallel(
            attention(c, names=("q_proj", "k_proj", "v_proj", "dense"), bias=True, extras=norms),
            mlp(c, kind="plain", bias=True),
            norm=norm("input_layernorm"),
        ),
        final_norm=norm("final_layernorm"),
    )
    return with_head(c, tower, bias=True)


@family("phi3")
def phi3(c: Config) -> Architecture:
    """Pre-norm decoder with one matrix for q, k, v and one for gate and up.

    Source: transformers, models/phi3/modeling_phi3.py.
    """
    tower = pre_norm_decoder(
        c,
        lambda kind: attention(c, fused="qkv_proj", window=c.sliding_window),
        lambda kind: mlp(c, kind="fused"),
    )
    return with_head(c, tower)


@family("phimoe")
def phimoe(c: Config) -> Architecture:
    """LayerNorms with bias, and experts that two rounds of a sparse mixer pick.

    Source: transformers, models/phimoe/modeling_phimoe.py (PhimoeSparseMoeBlock).
    """
    tower = pre_norm_decoder(
        c,
        lambda kind: attention(c, bias=c.attention_bias, window=c.sliding_window),
        lambda kind: moe(
            c,
            name="block_sparse_moe",
            num_experts=c.num_local_experts,
            top_k=c.num_experts_per_tok,
            width=c.intermediate_size,
            names=("w1", "w3", "w2"),
            fields=("num_local_experts", "num_experts_per_tok", "intermediate_size"),
        ),
        norm=lambda name: layer_norm(name, size(c, "hidden_size"), eps=c.rms_norm_eps),
    )
    return with_head(c, tower, bias=c.lm_head_bias)
