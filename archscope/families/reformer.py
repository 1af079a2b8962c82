"""Reformer: hashed and local attention in reversible layers, positions along axes."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Sublayer, Tower, TowerRole, pre_norm, stack
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, group, weight
from archscope.blocks.factories import mlp, num_labels, size
from archscope.blocks.hashed_attention import HashedAttention
from archscope.blocks.leaves import embedding, layer_norm, linear, regroup
from archscope.blocks.size import Size
from archscope.blocks.skeletons import head, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("reformer")
def reformer(c: Config) -> Architecture:
    """Two residual streams, one for attention and one for the MLP, that stand side by side in the end; never tied.

    Source: transformers, models/reformer/modeling_reformer.py (ReformerLayer, ReformerAttention); arXiv 2001.04451.
    """
    d, eps = size(c, "hidden_size"), c.layer_norm_eps
    width = Size(c.feed_forward_size, "m")
    ffn = mlp(c, name="feed_forward", kind="plain", names=("dense.dense", "output.dense"), bias=True, width=width)

    def layer(kind: str) -> tuple[Sublayer, ...]:
        attend = _hashed(c) if kind == "lsh" else _local(c)
        return pre_norm(
            (layer_norm("attention.layer_norm", d, eps=eps), attend),
            (layer_norm("feed_forward.layer_norm", d, eps=eps), ffn),
        )

    parts = (
        embedding("embeddings.word_embeddings", size(c, "vocab_size"), d, role="embedding", fields=("vocab_size",)),
        _positions(c),
        stack("encoder.layers", _plan(c), layer, width=d),
        regroup("streams side by side", d, 2 * d),
        layer_norm("encoder.layer_norm", 2 * d, eps=eps),
    )
    role: TowerRole = "text" if c.is_decoder else "encoder"
    tower = Tower(parts=parts, tower=role, model_type=c.model_type, pointer=c.pointer, width=d)
    return with_head(c, tower, prefix="reformer", heads=_heads(c))


def _plan(c: Config) -> tuple[str, ...]:
    """attn_layers, as far as num_hidden_layers says where a file has it; one kind goes for any number of layers."""
    count: int = c.num_hidden_layers
    named = tuple(c.attn_layers)
    return named[:1] * count if len(set(named)) == 1 else named[:count]


def _positions(c: Config) -> Block:
    """A factor for each axis of a grid of positions, or one table."""
    d, at = size(c, "hidden_size"), "embeddings.position_embeddings"
    if not c.axial_pos_embds:
        return embedding(f"{at}.embedding", size(c, "max_position_embeddings"), d, of="position", role="embedding")
    shape = tuple(c.axial_pos_shape)
    factors = (
        weight(f"weights.{axis}", *(n if i == axis else 1 for i, n in enumerate(shape)), dim)
        for axis, dim in enumerate(c.axial_pos_embds_dim)
    )
    return group(at, *factors, role="embedding")


def _local(c: Config) -> Attention:
    """Each chunk sees itself and its neighbours."""
    d, heads, width = size(c, "hidden_size"), size(c, "num_attention_heads"), Size(c.attention_head_size, "d_h")
    names = (("query", "q"), ("key", "k"), ("value", "v"))
    return Attention(
        name="attention",
        num_heads=heads,
        num_kv_heads=heads,
        head_dim=width,
        v_head_dim=width,
        causal=c.is_decoder,
        cache=c.is_decoder,
        window=c.local_attn_chunk_length * (1 + c.local_num_chunks_before + c.local_num_chunks_after),
        position="learned",
        parts=(
            *(linear(f"self_attention.{name}", d, heads * width, role=role) for name, role in names),
            linear("output.dense", heads * width, d, role="o"),
        ),
        fields=("num_attention_heads", "attention_head_size"),
    )


def _hashed(c: Config) -> Attention:
    d, heads, width = size(c, "hidden_size"), size(c, "num_attention_heads"), Size(c.attention_head_size, "d_h")
    buckets = c.num_buckets if isinstance(c.num_buckets, int) else None
    return HashedAttention(
        name="attention",
        num_heads=heads,
        num_kv_heads=heads,
        head_dim=width,
        v_head_dim=width,
        causal=c.is_decoder,
        cache=c.is_decoder,
        position="learned",
        num_hashes=c.num_hashes,
        num_buckets=buckets,
        parts=(
            linear("self_attention.query_key", d, heads * width, role="q"),
            linear("self_attention.value", d, heads * width, role="v"),
            linear("output.dense", heads * width, d, role="o"),
        ),
        fields=("num_attention_heads", "attention_head_size", "num_hashes", "num_buckets"),
    )


def _heads(c: Config) -> dict[str, tuple[Block, ...]]:
    """Over both streams; the bias over the vocabulary is saved twice."""
    d, vocabulary, labels = size(c, "hidden_size"), size(c, "vocab_size"), num_labels(c)
    words = linear("lm_head.decoder", 2 * d, vocabulary, True, role="logits")
    dense, out = linear("dense", 2 * d, d, True), linear("out_proj", d, labels, True, role="logits")
    made: dict[str, tuple[Block, ...]] = {
        "sequence_classification": (group("classifier", dense, out),),
        "question_answering": (linear("qa_outputs", 2 * d, labels, True, role="logits"),),
    }
    for task in ("causal_lm", "masked_lm"):
        made[task] = (words, weight("lm_head.bias", vocabulary))
    return {task: (head(task, *parts),) for task, parts in made.items()}
