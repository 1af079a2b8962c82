"""Qwen's mixtures and hybrids: shared experts behind a gate, gated delta nets between gated attention layers."""

from __future__ import annotations

from collections.abc import Callable

from archscope.blocks.assembly import Architecture, Branch, Sublayer, pre_norm
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block
from archscope.blocks.delta import gated_delta_net
from archscope.blocks.factories import attention, kinds, mlp, moe, named_norm, size, sliding_window
from archscope.blocks.hyper_connection import gated_residual
from archscope.blocks.indexer import SparseIndexer
from archscope.blocks.leaves import linear, rms_norm
from archscope.blocks.moe import Moe
from archscope.blocks.ngram import ngram_layer
from archscope.blocks.plans import stepped_layers
from archscope.blocks.prediction import joined_prediction
from archscope.blocks.size import Size
from archscope.blocks.skeletons import QA_PREFIX, decoder, pre_norm_decoder, with_head
from archscope.blocks.ssm import StateMixer
from archscope.config import Config
from archscope.families.registry import family

DELTA_FIELDS = (
    "linear_num_key_heads",
    "linear_num_value_heads",
    "linear_key_head_dim",
    "linear_value_head_dim",
    "linear_conv_kernel_dim",
)


@family("qwen2_moe")
def qwen2_moe(c: Config) -> Architecture:
    """Qwen2 with routed experts and a gated shared one in every decoder_sparse_step-th layer.

    Source: transformers, models/qwen2_moe/modeling_qwen2_moe.py (Qwen2MoeDecoderLayer).
    """
    tower = pre_norm_decoder(
        c,
        lambda kind: attention(c, bias=c.qkv_bias, out_bias=False, window=sliding_window(c, kind[0])),
        lambda kind: _feed_forward(c, kind[1]),
        kinds=tuple(zip(c.layer_types, stepped_layers(c), strict=False)),
    )
    return with_head(c, tower)


@family("qwen3_next")
def qwen3_next(c: Config) -> Architecture:
    """Gated delta nets, and gated attention in every fourth layer; experts as in qwen2_moe.

    Source: transformers, models/qwen3_next/modeling_qwen3_next.py.
    """

    def mixer(kind: tuple[str, str]) -> Block:
        if kind[0] != "linear_attention":
            return _attention(c)
        keys, values = _delta_widths(c)
        d, heads = size(c, "hidden_size"), size(c, "linear_num_value_heads")
        projections = (
            linear("in_proj_qkvz", d, 2 * keys + 2 * values, role="in_proj"),
            linear("in_proj_ba", d, 2 * heads, role="decay"),
        )
        return _delta_net(c, projections)

    tower = pre_norm_decoder(
        c,
        mixer,
        lambda kind: _feed_forward(c, kind[1]),
        kinds=tuple(zip(c.layer_types, stepped_layers(c), strict=False)),
    )
    return with_head(c, tower, prefixes=QA_PREFIX)


@family("qwen3_5_text")
def qwen3_5_text(c: Config) -> Architecture:
    """The hybrid of qwen3_next with a dense MLP, and one matrix each for the parts of a delta net.

    Source: transformers, models/qwen3_5/modeling_qwen3_5.py (Qwen3_5DecoderLayer).
    """
    tower = pre_norm_decoder(c, lambda kind: _mixer(c, kind), lambda kind: mlp(c))
    return with_head(c, tower, extra=_prediction(c, lambda: mlp(c)))


@family("qwen3_5_moe_text")
def qwen3_5_moe_text(c: Config) -> Architecture:
    """qwen3_5_text with routed experts and a gated shared one in every layer.

    Source: transformers, models/qwen3_5_moe/modeling_qwen3_5_moe.py (Qwen3_5MoeDecoderLayer).
    """
    tower = pre_norm_decoder(c, lambda kind: _mixer(c, kind), lambda kind: _experts(c, True))
    return with_head(c, tower, extra=_prediction(c, lambda: _experts(c, True)))


@family("qwen4_exp_text")
def qwen4_exp_text(c: Config) -> Architecture:
    """Several residual streams, joined by gates; attention over indexed positions; n-gram embeddings in some layers.

    Source: transformers, models/qwen4_exp/modeling_qwen4_exp.py (Qwen4ExpTextDecoderLayer).
    """
    d, streams, rank = size(c, "hidden_size"), c.hc_count, c.hc_lowrank

    def layer(kind: tuple[str, int | None]) -> tuple[Sublayer, ...]:
        mixer = _delta_net(c) if kind[0] == "linear_attention" else _indexed_attention(c)
        attend = gated_residual("attn_hyper_connection", d, streams, rank)
        feed = gated_residual("mlp_hyper_connection", d, streams, rank)
        sublayers = (
            Sublayer(branches=(Branch(body=mixer),), shared=attend),
            Sublayer(branches=(Branch(body=_experts(c, c.norm_topk_prob)),), shared=feed),
        )
        if kind[1] is None:
            return sublayers
        return (Sublayer(branches=(Branch(body=_ngrams(c, kind[1])),)), *sublayers)

    positions = {number - 1: index for index, number in enumerate(c.ple_layer_ids)}
    tower = decoder(
        c,
        layer,
        kinds=tuple((layer_type, positions.get(i)) for i, layer_type in enumerate(kinds(c, "layer_types"))),
        after=(gated_residual("hyper_connection_mixer", d, streams, rank, writes=False),),
    )
    return with_head(c, tower)


def _ngrams(c: Config, index: int) -> Block:
    return ngram_layer(
        "ple",
        size(c, "hidden_size"),
        streams=c.hc_count,
        ngram=c.ngram_size,
        per_ngram=c.heads_per_ngram,
        dim=c.ple_embed_dim,
        base=c.ngram_vocab_size_base,
        index=index,
        multiple=c.make_ngram_vocab_size_divisible_by,
        shards=c.split_ngram_parts,
        kernel=c.ple_conv_kernel_size,
    )


def _indexed_attention(c: Config) -> Attention:
    """An indexer of small heads picks blocks of indexer_compress_ratio positions within the token budget."""
    heads, width = Size(c.indexer_n_heads, "h_idx"), Size(c.indexer_head_dim, "d_idx")
    indexer = SparseIndexer(
        name="indexer",
        role="indexer",
        num_heads=heads,
        head_dim=width,
        top_k=c.indexer_budget,
        pool=c.indexer_compress_ratio,
        parts=(
            linear("index_qk_proj", size(c, "hidden_size"), (heads + c.indexer_kv_heads) * width, role="q"),
            rms_norm("q_layernorm", width, role="q_norm"),
            rms_norm("k_layernorm", width, role="k_norm"),
        ),
        fields=("indexer_n_heads", "indexer_head_dim", "indexer_budget"),
    )
    return attention(c, bias=c.attention_bias, qk_norm="head", gated_queries=True, extras=(indexer,))


def _prediction(c: Config, feed_forward: Callable[[], Block]) -> tuple[Block, ...]:
    """mtp_num_hidden_layers layers of full attention for the tokens after the next."""
    norm, count = named_norm(c), c.get("mtp_num_hidden_layers")

    def layer(kind: object) -> tuple[Sublayer, ...]:
        return pre_norm((norm("input_layernorm"), _attention(c)), (norm("post_attention_layernorm"), feed_forward()))

    return joined_prediction(c, layer, ("",) * count if isinstance(count, int) else ())


def _mixer(c: Config, kind: object) -> Block:
    return _delta_net(c) if kind == "linear_attention" else _attention(c)


def _attention(c: Config) -> Attention:
    """The query matrix makes a sigmoid gate on the output as well."""
    return attention(c, bias=c.attention_bias, qk_norm="head", gated_queries=True)


def _delta_net(c: Config, projections: tuple[Block, ...] = ()) -> StateMixer:
    return gated_delta_net(
        "linear_attn",
        size(c, "hidden_size"),
        key_heads=c.linear_num_key_heads,
        value_heads=c.linear_num_value_heads,
        key_dim=c.linear_key_head_dim,
        value_dim=c.linear_value_head_dim,
        kernel=c.linear_conv_kernel_dim,
        projections=projections,
        fields=DELTA_FIELDS,
    )


def _delta_widths(c: Config) -> tuple[Size, Size]:
    keys = Size(c.linear_num_key_heads, "h_k") * Size(c.linear_key_head_dim, "d_k")
    return keys, Size(c.linear_num_value_heads, "h_v") * Size(c.linear_value_head_dim, "d_v")


def _feed_forward(c: Config, kind: str) -> Block:
    return _experts(c, c.norm_topk_prob) if kind == "moe" else mlp(c)


def _experts(c: Config, normalised: bool) -> Moe:
    """A sigmoid of one number a token weighs the shared expert."""
    return moe(
        c,
        num_experts=c.num_experts,
        top_k=c.num_experts_per_tok,
        width=c.moe_intermediate_size,
        normalised=normalised,
        shared=mlp(
            c,
            name="shared_expert",
            role="shared",
            width=Size(c.shared_expert_intermediate_size, "m_shared"),
            fields=("shared_expert_intermediate_size",),
        ),
        num_shared=1,
        shared_gate=linear("shared_expert_gate", size(c, "hidden_size"), 1, role="shared_gate"),
    )
