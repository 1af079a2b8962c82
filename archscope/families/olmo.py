"""The OLMo lineage: norms without weights at first, then norms after the sublayer, inside the residual branch."""

from __future__ import annotations

from collections.abc import Mapping

from archscope.blocks.assembly import Architecture, Sublayer, post_norm, pre_norm
from archscope.blocks.attention import Position
from archscope.blocks.base import Block
from archscope.blocks.delta import gated_delta_net
from archscope.blocks.factories import attention, epsilon, mlp, moe, named_norm, size, sliding_window
from archscope.blocks.leaves import Norm, conv, linear, rms_norm
from archscope.blocks.size import chunked
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
    """Layers of x + norm(sublayer(x)), with RMSNorms over all of the queries and keys.

    Source: transformers, models/olmo2/modeling_olmo2.py (Olmo2DecoderLayer).
    """
    return _after(c)


@family("olmo3")
def olmo3(c: Config) -> Architecture:
    """OLMo 2's layer, three of four sliding.

    Source: transformers, models/olmo3/modeling_olmo3.py (Olmo3Attention).
    """
    return _after(c)


@family("olmo_hybrid")
def olmo_hybrid(c: Config) -> Architecture:
    """Gated delta nets behind norms, full attention with norms after it.

    Source: transformers, models/olmo_hybrid/modeling_olmo_hybrid.py; names as its conversion saves them.
    """
    norm = named_norm(c)
    rotates = isinstance(c.get("rope_parameters"), Mapping) and c.rope_parameters.get("rope_theta") is not None

    def layer(kind: str) -> tuple[Sublayer, ...]:
        if kind == "linear_attention":
            mixer = _delta_net(c)
            return pre_norm((norm("attention_layer_norm"), mixer), (norm("feedforward_layer_norm"), mlp(c)))
        position: Position = "rope" if rotates else "none"
        mixer = attention(c, bias=c.attention_bias, qk_norm="full", position=position)
        return post_norm((mixer, norm("feedforward_layer_norm")), (mlp(c), norm("post_feedforward_layernorm")))

    return with_head(c, decoder(c, layer, final_norm=norm("norm")))


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


def _delta_net(c: Config) -> Block:
    """One matrix for each stream; the convolution over all channels is saved in three equal pieces."""
    d, heads = size(c, "hidden_size"), size(c, "linear_num_value_heads")
    keys = size(c, "linear_num_key_heads") * size(c, "linear_key_head_dim")
    values = heads * size(c, "linear_value_head_dim")
    kernel = c.linear_conv_kernel_dim
    pieces = zip("qkv", chunked(2 * keys + values, 3), strict=False)
    return gated_delta_net(
        "linear_attn",
        d,
        key_heads=c.linear_num_key_heads,
        value_heads=heads,
        key_dim=c.linear_key_head_dim,
        value_dim=c.linear_value_head_dim,
        kernel=kernel,
        projections=(
            linear("q_proj", d, keys, role="q"),
            linear("k_proj", d, keys, role="k"),
            linear("v_proj", d, values, role="v"),
            linear("a_proj", d, heads, role="decay"),
            linear("b_proj", d, heads, role="beta"),
            linear("g_proj", d, values, role="gate"),
        ),
        convs=tuple(conv(f"{s}_conv1d", n, n, kernel, groups=n, bias=False, role=f"{s}_conv") for s, n in pieces),
        norm="o_norm",
        out="o_proj",
        fields=("linear_num_key_heads", "linear_num_value_heads", "linear_key_head_dim", "linear_value_head_dim"),
    )


def _wide_norms(c: Config) -> tuple[Block, ...]:
    """Sized by the hidden size, whatever head_dim says."""
    d, heads, kv = size(c, "hidden_size"), size(c, "num_attention_heads"), size(c, "num_key_value_heads")
    eps = epsilon(c)
    return (rms_norm("q_norm", d, role="q_norm", eps=eps), rms_norm("k_norm", d // heads * kv, role="k_norm", eps=eps))
