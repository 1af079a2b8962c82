"""Llama 4: chunked attention with rotation, full attention without, routed experts beside a shared one."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.attention import Attention, head_norms
from archscope.blocks.base import Block, weight
from archscope.blocks.factories import attention, epsilon, head_size, kinds, mlp, moe, size
from archscope.blocks.size import Size
from archscope.blocks.skeletons import pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("llama4_text")
def llama4_text(c: Config) -> Architecture:
    """no_rope_layers says which layers rotate, layer_types which see chunks, moe_layers which have experts.

    Source: transformers, models/llama4/modeling_llama4.py (Llama4TextAttention, Llama4TextDecoderLayer).
    """
    sparse = frozenset(c.moe_layers)
    plan = zip(kinds(c, "layer_types"), kinds(c, "no_rope_layers"), strict=False)
    by_layer = tuple((kind, bool(rotates), i in sparse) for i, (kind, rotates) in enumerate(plan))
    tower = pre_norm_decoder(
        c,
        lambda kind: _attention(c, kind[0] == "chunked_attention", kind[1]),
        lambda kind: _feed_forward(c, kind[2]),
        kinds=by_layer,
    )
    return with_head(c, tower)


def _attention(c: Config, chunked: bool, rotates: bool) -> Attention:
    """Rotated queries and keys are normed without weights; the others grow with the position."""
    norms = head_norms("l2", head_size(c), eps=epsilon(c), names=("", ""), affine=False)
    return attention(
        c,
        bias=c.attention_bias,
        chunk=c.attention_chunk_size if chunked else None,
        position="rope" if rotates else "none",
        extras=norms if c.use_qk_norm and rotates else (),
        late_norm=True,
    )


def _feed_forward(c: Config, sparse: bool) -> Block:
    if not sparse:
        return mlp(c, name="feed_forward", width=Size(c.intermediate_size_mlp, "m"))
    d, e, m = size(c, "hidden_size"), Size(c.num_local_experts, "E"), Size(c.intermediate_size, "m_e")
    return moe(
        c,
        name="feed_forward",
        num_experts=e,
        top_k=c.num_experts_per_tok,
        width=m,
        router="router",
        stacked=(weight("gate_up_proj", e, d, 2 * m), weight("down_proj", e, m, d)),
        scoring="sigmoid",
        shared=mlp(c, name="shared_expert", role="shared"),
        num_shared=1,
        fields=("num_local_experts", "num_experts_per_tok", "intermediate_size"),
    )
