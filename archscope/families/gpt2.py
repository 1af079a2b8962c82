"""GPT-2 and its kin: learned positions, LayerNorms with bias, plain MLPs of four times the width."""

from __future__ import annotations

from collections.abc import Callable

from archscope.blocks.assembly import Architecture, Sublayer, Tower, pre_norm
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block
from archscope.blocks.factories import attention, kinds, mlp, named_norm, num_labels, size
from archscope.blocks.leaves import embedding, linear
from archscope.blocks.size import Size
from archscope.blocks.skeletons import decoder, head, vocabulary_head, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("gpt2", "gpt-sw3")
def gpt2(c: Config) -> Architecture:
    """Pre-norm decoder with learned positions; cross-attention where add_cross_attention is true.

    Source: transformers, models/gpt2/modeling_gpt2.py (GPT2Block, Conv1D weights are (in, out)).
    """
    tower = _tower(c, lambda kind: _attention(c, transposed=True), c.n_inner, transposed=True)
    double = (vocabulary_head(c, tower.width, tied_to=_table(c)), *_summary(c))
    return with_head(
        c, tower, prefix="transformer", token_table="wte", heads={**_heads(c), "GPT2DoubleHeadsModel": double}
    )


@family("gpt_bigcode")
def gpt_bigcode(c: Config) -> Architecture:
    """GPT-2 with usual matrices, and one head of keys and values for all queries where multi_query is true.

    Source: transformers, models/gpt_bigcode/modeling_gpt_bigcode.py (GPTBigCodeAttention).
    """
    if c.add_cross_attention and c.multi_query:
        raise ValueError("multi_query and add_cross_attention exclude each other")
    kv = 1 if c.multi_query else c.num_attention_heads
    tower = _tower(c, lambda kind: _attention(c, num_kv_heads=kv), c.n_inner)
    return with_head(c, tower, prefix="transformer", token_table="wte", heads=_heads(c))


@family("gpt_neo")
def gpt_neo(c: Config) -> Architecture:
    """GPT-2 with separate projections, unscaled scores, and layers that see window_size positions between global ones.

    Source: transformers, models/gpt_neo/modeling_gpt_neo.py (GPTNeoSelfAttention).
    """

    def mixer(kind: object) -> Attention:
        return attention(
            c,
            name="attn.attention",
            names=("q_proj", "k_proj", "v_proj", "out_proj"),
            out_bias=True,
            num_kv_heads=c.num_attention_heads,
            head_dim=_head_dim(c),
            position="learned",
            window=c.window_size if kind == "local" else None,
            scale=1.0,
        )

    tower = _tower(c, mixer, c.intermediate_size, layer_kinds=kinds(c, "attention_layers"))
    return with_head(c, tower, prefix="transformer", token_table="wte", heads=_heads(c))


def _tower(
    c: Config,
    mixer: Callable[[object], Attention],
    inner: int | None,
    *,
    transposed: bool = False,
    layer_kinds: tuple[object, ...] | None = None,
) -> Tower:
    """Tokens and positions, layers h with ln_1 and ln_2 (and a memory between them), ln_f."""
    d, norm = size(c, "hidden_size"), named_norm(c, "layer")
    width = Size(4 * d if inner is None else inner, "m")

    def layer(kind: object) -> tuple[Sublayer, ...]:
        names = ("c_fc", "c_proj")
        feed_forward = mlp(c, kind="plain", names=names, bias=True, width=width, transposed=transposed)
        cross = ((norm("ln_cross_attn"), _cross(c, transposed)),) if c.get("add_cross_attention") else ()
        return pre_norm((norm("ln_1"), mixer(kind)), *cross, (norm("ln_2"), feed_forward))

    positions = embedding("wpe", size(c, "max_position_embeddings"), d, of="position", role="embedding")
    return decoder(
        c,
        layer,
        kinds=layer_kinds or ("",) * c.num_hidden_layers,
        embed="wte",
        layers="h",
        before=(positions,),
        final_norm=norm("ln_f"),
    )


def _head_dim(c: Config) -> int:
    """The width of a head. Raises: ValueError where the heads do not divide the hidden size."""
    width, rest = divmod(c.hidden_size, c.num_attention_heads)
    if rest:
        raise ValueError(f"{c.num_attention_heads} heads do not divide a hidden size of {c.hidden_size}")
    return int(width)


def _attention(c: Config, *, transposed: bool = False, num_kv_heads: int | None = None) -> Attention:
    return attention(
        c,
        name="attn",
        names=("", "", "", "c_proj"),
        fused="c_attn",
        bias=True,
        num_kv_heads=c.num_attention_heads if num_kv_heads is None else num_kv_heads,
        head_dim=_head_dim(c),
        position="learned",
        scale=None if c.scale_attn_weights else 1.0,
        transposed=transposed,
    )


def _cross(c: Config, transposed: bool) -> Attention:
    """Queries from the text, keys and values fused from the memory, which has the same width."""
    d, heads, width = size(c, "hidden_size"), Size(c.num_attention_heads, "h_q"), Size(_head_dim(c), "d_h")
    return Attention(
        name="crossattention",
        num_heads=heads,
        num_kv_heads=heads,
        head_dim=width,
        v_head_dim=width,
        causal=False,
        position="none",
        memory_width=d,
        parts=(
            linear("q_attn", d, d, True, role="q", transposed=transposed),
            linear("c_attn", d, 2 * d, True, role="kv", transposed=transposed),
            linear("c_proj", d, d, True, role="o", transposed=transposed),
        ),
    )


def _table(c: Config) -> str:
    return "transformer.wte.weight" if c.get("tie_word_embeddings") else ""


def _heads(c: Config) -> dict[str, tuple[Block, ...]]:
    labels = linear("classifier", size(c, "hidden_size"), num_labels(c), True, role="logits")
    return {"token_classification": (head("token_classification", labels),)}


def _summary(c: Config) -> tuple[Block, ...]:
    """The choice among answers of the class with two heads, which sets the labels to 1 (GPT2SequenceSummary)."""
    if not c.get("summary_use_proj"):
        return ()
    d = size(c, "hidden_size")
    outputs = 1 if c.get("summary_proj_to_labels") else d
    return (head("multiple_choice", linear("multiple_choice_head.summary", d, outputs, True, role="logits")),)
