"""DeepSeek-V4: hyper-connected residual streams, compressed attention, experts chosen by hash or by score."""

from __future__ import annotations

from dataclasses import replace

from archscope.blocks.assembly import Architecture, Branch, Layer, Sublayer
from archscope.blocks.base import Block, weight
from archscope.blocks.compressed_attention import CompressedAttention, compressor
from archscope.blocks.factories import kinds, mlp, moe, named_norm, rope, size
from archscope.blocks.hyper_connection import HyperConnection, mapped_hyper_connection
from archscope.blocks.indexer import SparseIndexer
from archscope.blocks.leaves import linear, rms_norm
from archscope.blocks.moe import Moe
from archscope.blocks.prediction import PredictionLayer, PredictionLayers
from archscope.blocks.routed import scoring
from archscope.blocks.size import Size
from archscope.blocks.skeletons import decoder, with_head
from archscope.config import Config
from archscope.families.registry import family

NAMES = ("w1", "w3", "w2")


@family("deepseek_v4")
def deepseek_v4(c: Config) -> Architecture:
    """Sliding layers, and layers that also see a memory compressed by their rate; experts in every layer.

    Source: transformers, models/deepseek_v4/modeling_deepseek_v4.py; names as its conversion saves them.
    """
    bare = c.task == "model"
    last = _mix(c, "hc_head_" if bare else "hc_head.hc_", c.hc_mult, 1)
    tower = decoder(
        c,
        lambda kind: _layer(c, *kind),
        kinds=kinds(c, "layer_types", "mlp_layer_types"),
        embed="embed" if bare else "embed_tokens",
        after=(last, named_norm(c)("norm")),
    )
    return with_head(c, tower, lm_head="head", extra=_prediction(c))


def _layer(c: Config, layer_type: str, mlp_type: str) -> Layer:
    norm, streams = named_norm(c), c.hc_mult
    bodies = (("attn", _attention(c, layer_type)), ("ffn", _experts(c, mlp_type == "hash_moe")))
    sublayers = tuple(
        Sublayer(
            shared=_mix(c, f"hc_{name}_", (2 + streams) * streams, 3),
            branches=(Branch(pre=norm(f"{name}_norm"), body=body),),
        )
        for name, body in bodies
    )
    label = f"{layer_type} · {mlp_type}".replace("_", " ")
    return Layer(sublayers=sublayers, width=size(c, "hidden_size"), label=label)


def _mix(c: Config, at: str, maps: int, scales: int) -> HyperConnection:
    """Hyper-connection of hc_mult streams, whose three tensors are named with `at` before them."""
    names = (f"{at}fn", f"{at}base", f"{at}scale")
    made = mapped_hyper_connection("", size(c, "hidden_size"), c.hc_mult, maps=maps, scales=scales, names=names)
    return replace(made, role=at.strip("_."))


def _attention(c: Config, kind: str) -> CompressedAttention:
    d, heads, width = size(c, "hidden_size"), size(c, "num_attention_heads"), size(c, "head_dim")
    rank, groups = size(c, "q_lora_rank"), Size(c.o_groups, "g_o")
    rate = None if kind == "sliding_attention" else c.compress_rates[kind]
    sparse = kind == "compressed_sparse_attention"
    out = groups * Size(c.o_lora_rank, "r_o")
    memory: tuple[Block, ...] = ()
    if rate is not None:
        memory = (compressor(d, width, rate, overlap=sparse), *((_indexer(c, rate),) if sparse else ()))
    return CompressedAttention(
        name="attn",
        num_heads=heads,
        num_kv_heads=1,
        head_dim=width,
        v_head_dim=width,
        window=c.sliding_window if rate is None else None,
        local=None if rate is None else c.sliding_window,
        rope=rope(c, "main" if rate is None else "compress", width=int(width)),
        q_rank=rank,
        groups=groups,
        rate=rate,
        top_k=c.index_topk if sparse else None,
        index_width=c.index_head_dim if sparse else 0,
        parts=(
            linear("wq_a", d, rank, role="q_a"),
            rms_norm("q_norm", rank, role="q_a_norm"),
            linear("wq_b", rank, heads * width, role="q_b"),
            linear("wkv", d, width, role="kv"),
            rms_norm("norm", width, role="k_norm"),
            *memory,
            weight("attn_sink", heads, role="sinks"),
            linear("wo_a", heads * width // groups, out, role="o_a"),
            linear("wo_b", out, d, role="o"),
        ),
        fields=("num_attention_heads", "head_dim", "q_lora_rank", "o_groups", "o_lora_rank", "sliding_window"),
    )


def _indexer(c: Config, rate: int) -> Block:
    """Scores compressed entries with heads of its own over a compressor of its own."""
    d, heads, width = size(c, "hidden_size"), Size(c.index_n_heads, "h_idx"), c.index_head_dim
    return SparseIndexer(
        name="indexer",
        role="indexer",
        num_heads=heads,
        head_dim=width,
        top_k=c.index_topk,
        pool=rate,
        parts=(
            linear("wq_b", size(c, "q_lora_rank"), heads * width, role="q"),
            linear("weights_proj", d, heads, role="weights"),
            compressor(d, width, rate, overlap=True),
        ),
        fields=("index_n_heads", "index_head_dim", "index_topk"),
    )


def _experts(c: Config, hashed: bool) -> Moe:
    """By the token's id where `hashed`, else by score and a saved bias; one block of the same width is shared."""
    e, act = Size(c.n_routed_experts, "E"), "clamped swiglu"
    table = weight("tid2eid", size(c, "vocab_size"), c.num_experts_per_tok, parameter=False)
    made = moe(
        c,
        name="ffn",
        num_experts=e,
        top_k=c.num_experts_per_tok,
        width=c.moe_intermediate_size,
        names=NAMES,
        activation=act,
        correction=table if hashed else weight("bias", e, parameter=False),
        scoring=scoring(c.scoring_func),
        normalised=True,
        scale=c.routed_scaling_factor,
        shared=mlp(
            c,
            name="shared_experts",
            role="shared",
            names=NAMES,
            bias=c.mlp_bias,
            width=size(c, "moe_intermediate_size"),
            activation=act,
        ),
        num_shared=1,
        fields=("n_routed_experts", "num_experts_per_tok", "moe_intermediate_size"),
    )
    return replace(made, router=replace(made.router, bias_corrected=not hashed, by_token=hashed))


def _prediction(c: Config) -> tuple[Block, ...]:
    """Next-token-prediction layers mtp.0, ...: two matrices in place of one that joins, and streams of their own."""
    count, d, norm = c.num_nextn_predict_layers, size(c, "hidden_size"), named_norm(c)
    if not isinstance(count, int) or count < 1:
        return ()
    parts = (
        replace(norm("enorm"), role="embed_norm"),
        linear("e_proj", d, d, role="embed_proj"),
        replace(norm("hnorm"), role="hidden_norm"),
        linear("h_proj", d, d, role="hidden_proj"),
        replace(_layer(c, "sliding_attention", "moe"), role="layer"),
        _mix(c, "hc_head_", c.hc_mult, 1),
        replace(norm("norm"), role="norm"),
    )
    return (
        PredictionLayers(
            name="mtp", role="prediction", first=0, count=count, layer=PredictionLayer(width=d, parts=parts)
        ),
    )
