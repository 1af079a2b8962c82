"""T5: an encoder and a decoder with relative-position buckets in their first layers, and one table of tokens."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Sublayer, Tower, TowerRole, pre_norm, stack
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, group, weight
from archscope.blocks.factories import attention, mlp, num_labels, size
from archscope.blocks.leaves import embedding, linear, rms_norm
from archscope.blocks.size import Size
from archscope.blocks.skeletons import head, tied_names
from archscope.config import Config
from archscope.families.registry import family


@family("t5")
def t5(c: Config) -> Architecture:
    """Encoder-decoder; the encoder alone, or with a head over labels, by the class.

    Source: transformers, models/t5/modeling_t5.py.
    """
    d, labels = size(c, "hidden_size"), num_labels(c)
    table = embedding("shared", size(c, "vocab_size"), d, role="embedding", fields=("vocab_size", "hidden_size"))
    both = (table, t5_tower(c, "encoder", c.num_layers), t5_tower(c, "decoder", c.num_decoder_layers))
    logits = linear("lm_head", d, size(c, "vocab_size"), role="logits", tied_to="shared.weight")
    dense = group("classification_head", linear("dense", d, d, True), linear("out_proj", d, labels, True))
    by_task: dict[str, tuple[Block, ...]] = {
        "model": both,
        "seq_to_seq_causal_lm": (*both, head("seq_to_seq_causal_lm", logits)),
        "question_answering": (*both, head("question_answering", linear("qa_outputs", d, labels, True))),
        "sequence_classification": (
            group("transformer", *both),
            head("sequence_classification", dense),
        ),
        "token_classification": (
            group("transformer", *both[:2]),
            head("token_classification", linear("classifier", d, labels, True)),
        ),
    }
    if c.model_class.endswith("EncoderModel"):
        return _whole(both[:2])
    parts = by_task.get(c.task)
    return _whole(both, f"the head of {c.model_class} is not known") if parts is None else _whole(parts)


def t5_tower(c: Config, role: TowerRole, count: int) -> Tower:
    """One side: layers, then a norm; the token table is the shared one."""
    d = size(c, "hidden_size")
    decodes = role == "decoder"

    def layer(kind: object) -> tuple[Sublayer, ...]:
        own = (rms_norm("layer.0.layer_norm", d), _attention(c, 0, "SelfAttention", kind == "first", decodes))
        cross = (rms_norm("layer.1.layer_norm", d), _attention(c, 1, "EncDecAttention", False, decodes, d))
        last = 2 if decodes else 1
        ffn = (rms_norm(f"layer.{last}.layer_norm", d), _feed_forward(c, f"layer.{last}.DenseReluDense"))
        return pre_norm(own, cross, ffn) if decodes else pre_norm(own, ffn)

    kinds = ("first",) * min(count, 1) + ("",) * (count - 1)
    own_table = embedding("embed_tokens", size(c, "vocab_size"), d, role="embedding", tied_to="shared.weight")
    parts = (own_table, stack("block", kinds, layer, width=d), rms_norm("final_layer_norm", d))
    return Tower(name=role, parts=parts, tower=role, model_type=c.model_type, pointer=c.pointer, width=d)


def _attention(c: Config, index: int, name: str, first: bool, decodes: bool, memory: int | None = None) -> Attention:
    heads, buckets = size(c, "num_attention_heads"), c.relative_attention_num_buckets
    bias = weight("relative_attention_bias.weight", buckets, heads, role="bias")
    return attention(
        c,
        name=f"layer.{index}.{name}",
        names=("q", "k", "v", "o"),
        num_kv_heads=heads,
        extras=(bias,) if first else (),
        causal=decodes and memory is None,
        cache=decodes,
        position="none" if memory else "relative",
        memory=memory,
        scale=1.0,
    )


def _feed_forward(c: Config, name: str) -> Block:
    width = Size(c.d_ff, "m")
    if c.is_gated_act:
        return mlp(c, name=name, names=("wi_0", "wi_1", "wo"), width=width, activation=c.dense_act_fn)
    return mlp(c, name=name, kind="plain", names=("wi", "wo"), width=width, activation=c.dense_act_fn, bias=False)


def _whole(parts: tuple[Block, ...], partial: str = "") -> Architecture:
    return Architecture(parts=parts, partial=partial, tied=tuple(pair for part in parts for pair in tied_names(part, "")))
