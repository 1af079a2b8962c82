"""The OLMo lineage: norms without weights at first, then norms after the sublayer, inside the residual branch."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, post_norm
from archscope.blocks.base import Block
from archscope.blocks.factories import attention, epsilon, mlp, moe, size, sliding_window
from archscope.blocks.leaves import Norm, rms_norm
from archscope.blocks.skeletons import decoder, pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("olmo")
def olmo(c: Config) -> Architecture:
    """Pre-norm decoder whose LayerNorms have neither scale nor bias.

    Source: transformers, models/olmo/modeling_olmo.py (OlmoLayerNorm).
    """
    d = size(c, "hidden_size")
    tower = pre_norm_decoder(
        c,
        lambda kind: attention(c, bias=c.attention_bias),
        lambda kind: mlp(c),
        norm=lambda name: Norm(name=name, size=d, kind="layer", affine=False, eps=1e-5),
    )
    return with_head(c, tower)


@family("olmo2")
def olmo2(c: Config) -> Architecture:
    """x + norm(sublayer(x)), with RMSNorms over all of the queries and keys.

    Source: transformers, models/olmo2/modeling_olmo2.py (Olmo2DecoderLayer).
    """
    return _after(c)


@family("olmo3")
def olmo3(c: Config) -> Architecture:
    """OLMo 2's layer, three of four sliding.

    Source: transformers, models/olmo3/modeling_olmo3.py (Olmo3Attention).
    """
    return _after(c)


@family("olmoe")
def olmoe(c: Config) -> Architecture:
    """Pre-norm decoder of softmax-routed experts, with RMSNorms as wide as the hidden size on queries and keys.

    Source: transformers, models/olmoe/modeling_olmoe.py.
    """
    tower = pre_norm_decoder(
        c,
        lambda kind: attention(c, bias=c.attention_bias, extras=_wide_norms(c)),
        lambda kind: moe(
            c,
            num_experts=c.num_experts,
            top_k=c.num_experts_per_tok,
            width=c.intermediate_size,
            normalised=c.norm_topk_prob,
            fields=("num_experts", "num_experts_per_tok", "intermediate_size"),
        ),
    )
    return with_head(c, tower)


def _after(c: Config) -> Architecture:
    d, eps = size(c, "hidden_size"), epsilon(c)
    tower = decoder(
        c,
        lambda kind: post_norm(
            (
                attention(
                    c, bias=c.attention_bias, qk_norm="full", layer_type=str(kind), window=sliding_window(c, kind)
                ),
                rms_norm("post_attention_layernorm", d, eps=eps),
            ),
            (mlp(c), rms_norm("post_feedforward_layernorm", d, eps=eps)),
        ),
        final_norm=rms_norm("norm", d, eps=eps),
    )
    return with_head(c, tower)


def _wide_norms(c: Config) -> tuple[Block, ...]:
    """Sized by the hidden size, whatever head_dim says."""
    d, heads, kv = size(c, "hidden_size"), size(c, "num_attention_heads"), size(c, "num_key_value_heads")
    eps = epsilon(c)
    return (rms_norm("q_norm", d, role="q_norm", eps=eps), rms_norm("k_norm", d // heads * kv, role="k_norm", eps=eps))
