"""Remote code with mixtures of experts: DeepSeek's first, Ling, Hunyuan, MiniMax-M1, Grok-1."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from archscope.blocks.assembly import Architecture, Branch, Sublayer, pre_norm, sandwich_norm
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, Weight
from archscope.blocks.factories import attention, epsilon, head_size, mlp, moe, named_norm, size
from archscope.blocks.leaves import Norm
from archscope.blocks.lightning import lightning_attention
from archscope.blocks.moe import Moe
from archscope.blocks.prediction import prediction_layers
from archscope.blocks.routed import grouped_moe, scoring, sparse_layers
from archscope.blocks.size import Size
from archscope.blocks.skeletons import decoder, pre_norm_decoder, with_head
from archscope.blocks.undeclared import completed_decoder, first, flag
from archscope.config import Config
from archscope.families.registry import family

MIXTRAL_FIELDS = ("num_experts", "num_experts_per_tok", "intermediate_size")


@family("deepseek")
def deepseek(c: Config) -> Architecture:
    """Ordinary attention; dense layers first, then small experts beside shared ones, in every moe_layer_freq-th layer.

    Source: deepseek-ai/deepseek-moe-16b-base (modeling_deepseek.py); arXiv 2401.06066.
    """
    c = completed_decoder(c)
    count, bias = c.num_hidden_layers, flag(c, "attention_bias")
    dense = count if first(c, "n_routed_experts") is None else first(c, "first_k_dense_replace", default=0)
    step = first(c, "moe_layer_freq", default=1)
    kinds = tuple("moe" if i >= dense and i % step == 0 else "dense" for i in range(count))

    def experts() -> Moe:
        shared = first(c, "n_shared_experts", default=0)
        return grouped_moe(
            c,
            num_shared=shared,
            shared_name="shared_experts" if shared else "",
            correction="",
            scoring="softmax",
            normalised=flag(c, "norm_topk_prob"),
        )

    tower = pre_norm_decoder(
        c, lambda kind: attention(c, bias=bias), lambda kind: experts() if kind == "moe" else mlp(c), kinds=kinds
    )
    return with_head(c, tower)


@family("bailing_moe", "bailing_moe_v2")
def bailing_moe(c: Config) -> Architecture:
    """One matrix for queries, keys and values, with norms on the first two by use_qk_norm; a bias may steer the choice.

    Source: inclusionAI/Ling-lite, Ling-mini-2.0 (modeling_bailing_moe.py, modeling_bailing_moe_v2.py).
    """
    c = completed_decoder(c, partial=first(c, "partial_rotary_factor"))
    norm = named_norm(c)
    mixer = attention(
        c,
        name="attention",
        names=("", "", "", "dense"),
        fused="query_key_value",
        bias=flag(c, "use_qkv_bias"),
        out_bias=flag(c, "use_bias"),
        qk_norm="head" if flag(c, "use_qk_norm") else "",
        norm_names=("query_layernorm", "key_layernorm"),
    )
    experts = _ling_experts(c)

    def layer(kind: object) -> tuple[Sublayer, ...]:
        inner = experts if kind == "moe" else mlp(c, bias=flag(c, "use_bias"))
        return pre_norm((norm("input_layernorm"), mixer), (norm("post_attention_layernorm"), inner))

    kinds = sparse_layers(c, first(c, "first_k_dense_replace", default=0))
    tower = decoder(c, layer, kinds=kinds, embed="word_embeddings", final_norm=norm("norm"))
    extra = prediction_layers(c, layer, "moe", own_tables=False, norm="final_layernorm")
    return with_head(c, tower, token_table="word_embeddings", extra=extra)


def _ling_experts(c: Config) -> Moe:
    shared = first(c, "num_shared_experts", "n_shared_experts", default=0)
    return grouped_moe(
        c,
        num_experts=c.num_experts,
        num_shared=shared,
        shared_width=first(c, "moe_shared_expert_intermediate_size"),
        shared_name="shared_experts" if shared else "",
        correction="expert_bias" if flag(c, "moe_router_enable_expert_bias") else "",
        scoring=scoring(first(c, "score_function", default="softmax")),
        normalised=flag(c, "norm_topk_prob", default=True),
        bias=flag(c, "use_bias"),
    )


@family("hunyuan")
def hunyuan(c: Config) -> Architecture:
    """Experts beside a shared block; counts may be lists by layer; with use_cla, layers share keys and values in groups.

    Source: tencent/Tencent-Hunyuan-Large, Hunyuan-A13B-Instruct (modeling_hunyuan.py).
    """
    c = completed_decoder(c)
    group = first(c, "cla_share_factor", default=1) if flag(c, "use_cla") else 1
    names = ("moe_topk", "num_shared_expert", "moe_intermediate_size", "num_experts")
    layers = range(c.num_hidden_layers)
    kinds = tuple((i % group == 0, *(_of_layer(c, name, i) for name in names)) for i in layers)
    tower = pre_norm_decoder(
        c,
        lambda kind: _sharing_attention(c, kind[0], group),
        lambda kind: _hunyuan_experts(c, *kind[1:]),
        kinds=kinds,
    )
    return with_head(c, tower)


def _of_layer(c: Config, name: str, number: int) -> Any:
    found = c.get(name)
    return found[number] if isinstance(found, list | tuple) else found


def _sharing_attention(c: Config, makes: bool, group: int) -> Attention:
    width = first(c, "attention_head_dim", default=c.hidden_size // c.num_attention_heads)
    made = attention(
        c,
        bias=flag(c, "attention_bias"),
        head_dim=width,
        qk_norm="head" if flag(c, "use_qk_norm") else "",
        norm_names=("query_layernorm", "key_layernorm"),
        late_norm=True,
    )
    if makes:
        return made
    parts = tuple(part for part in made.parts if part.role not in ("k", "v"))
    return replace(made, parts=parts, cache=False, reuses=f"the first of its {group} layers")


def _hunyuan_experts(c: Config, top_k: int | None, shared: int | None, width: int | None, experts: int | None) -> Block:
    inner = Size(c.intermediate_size if width is None else width, "m_e")
    if not experts or experts < 2:
        return mlp(c, bias=flag(c, "mlp_bias"))
    mixed = flag(c, "use_mixed_mlp_moe") and shared
    return moe(
        c,
        num_experts=experts,
        top_k=1 if top_k is None else top_k,
        width=inner,
        scores="wg",
        normalised=flag(c, "norm_topk_prob", default=True),
        scale=first(c, "routed_scaling_factor", default=1.0),
        shared=mlp(c, name="shared_mlp", role="shared", width=inner * (shared or 1)) if mixed else None,
        num_shared=shared or 0 if mixed else 0,
        fields=("num_experts", "moe_topk", "moe_intermediate_size"),
    )


@family("minimax_m1", "minimax_text_01")
def minimax_m1(c: Config) -> Architecture:
    """Lightning attention where attn_type_list has 0, softmax attention where it has 1; Mixtral's experts in every layer.

    Source: MiniMaxAI/MiniMax-M1-80k (modeling_minimax_m1.py, index of the weights); arXiv 2501.08313.
    """
    c = completed_decoder(c, partial=_rotated_share(c))
    norm = named_norm(c)
    experts = moe(
        c,
        name="block_sparse_moe",
        num_experts=c.num_experts,
        top_k=c.num_experts_per_tok,
        width=c.intermediate_size,
        names=("w1", "w3", "w2"),
        normalised=True,
        fields=MIXTRAL_FIELDS,
    )

    def layer(kind: object) -> tuple[Sublayer, ...]:
        linear_kind = kind == 0
        which = "linear" if linear_kind else "full"
        mixer = _lightning(c) if linear_kind else attention(c)
        scales = ((mixer, f"layernorm_{which}_attention", "input_layernorm"),
                  (experts, "layernorm_mlp", "post_attention_layernorm"))  # fmt: skip
        return tuple(
            Sublayer(
                branches=(Branch(pre=norm(name), body=body, scale=first(c, f"{field}_beta", default=1.0)),),
                residual_scale=first(c, f"{field}_alpha", default=1.0),
            )
            for body, field, name in scales
        )

    kinds = tuple(c.attn_type_list)[: c.num_hidden_layers]
    return with_head(c, decoder(c, layer, kinds=kinds, final_norm=norm("norm")))


def _rotated_share(c: Config) -> float:
    turned = first(c, "rotary_dim")
    return 1.0 if turned is None else float(turned) / head_size(c)


def _lightning(c: Config) -> Block:
    """Without the decays that transformers' own class saves: the published one computes them."""
    d, heads = size(c, "hidden_size"), c.num_attention_heads
    made = lightning_attention("self_attn", d, num_heads=heads, head_dim=head_size(c), block=256, eps=epsilon(c))
    return replace(made, parts=tuple(part for part in made.parts if not isinstance(part, Weight)))


@family("grok-1")
def grok(c: Config) -> Architecture:
    """Norms before and after both halves of a layer; eight GeGLU experts, of which a token uses two.

    Source: hpcai-tech/grok-1 (modeling_grok1.py).
    """
    c = completed_decoder(c, hidden_act="gelu", tie_word_embeddings=True)
    d, eps = size(c, "hidden_size"), epsilon(c)

    def norm(name: str) -> Norm:
        return Norm(name=name, size=d, eps=eps, names=("scale", "bias"))

    experts = moe(
        c,
        name="moe_block",
        num_experts=c.num_experts,
        top_k=c.num_experts_per_tok,
        width=c.intermediate_size,
        names=("linear", "linear_v", "linear_1"),
        fields=MIXTRAL_FIELDS,
    )
    tower = decoder(
        c,
        lambda kind: sandwich_norm(
            (norm("pre_attn_norm"), attention(c, name="attn"), norm("post_attn_norm")),
            (norm("pre_moe_norm"), experts, norm("post_moe_norm")),
        ),
        final_norm=norm("norm"),
        embed_scale=first(c, "embedding_multiplier_scale"),
    )
    return with_head(c, tower)
