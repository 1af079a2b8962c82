"""XLNet: two-stream attention with relative positions, over the memory of the segments before."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, post_add_norm
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, Weight, present, weight
from archscope.blocks.encoder_heads import Heads, beam_spans, label_heads, summary
from archscope.blocks.factories import mlp, num_labels, size
from archscope.blocks.head_tensors import head_tensor
from archscope.blocks.leaves import layer_norm, linear
from archscope.blocks.size import Size
from archscope.blocks.skeletons import decoder, head, vocabulary_head, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("xlnet")
def xlnet(c: Config) -> Architecture:
    """Post-norm layers whose matrices keep a dimension for the heads; the memory holds mem_len hidden states.

    Source: transformers, models/xlnet/modeling_xlnet.py (XLNetRelativeAttention); arXiv 1906.08237.
    """
    d, eps = size(c, "hidden_size"), c.layer_norm_eps
    names, width = ("layer_1", "layer_2"), Size(c.d_inner, "m")
    ffn = mlp(c, name="ff", kind="plain", names=names, bias=True, width=width, activation=c.ff_activation)
    attend = _attention(c)
    tower = decoder(
        c,
        lambda kind: post_add_norm(
            (attend, layer_norm("rel_attn.layer_norm", d, eps=eps)), (ffn, layer_norm("ff.layer_norm", d, eps=eps))
        ),
        kinds=("",) * c.num_hidden_layers,
        embed="word_embedding",
        layers="layer",
        after=(Weight(name="mask_emb", role="side mask", shape=(1, 1, d)),),
    )
    return with_head(c, tower, prefix="transformer", heads=_heads(c))


def _attention(c: Config) -> Attention:
    """Biases for content, position and segment in place of absolute positions."""
    d, heads, width = size(c, "hidden_size"), size(c, "num_attention_heads"), Size(c.d_head, "d_h")
    return Attention(
        name="rel_attn",
        num_heads=heads,
        num_kv_heads=heads,
        head_dim=width,
        v_head_dim=width,
        causal=c.attn_type == "uni",
        position="relative",
        parts=(
            *(head_tensor(role, d, heads, width, role=role) for role in ("q", "k", "v")),
            head_tensor("r", d, heads, width, role="relative"),
            *(weight(f"r_{which}_bias", heads, width) for which in ("r", "s", "w")),
            weight("seg_embed", 2, heads, width),
            head_tensor("o", d, heads, width, role="o", outwards=True),
        ),
        fields=("n_head", "d_head", "d_model"),
    )


def _heads(c: Config) -> Heads:
    d, labels = size(c, "hidden_size"), num_labels(c)
    table = "transformer.word_embedding.weight" if c.tie_word_embeddings else ""
    found: Heads = {
        **label_heads(c),
        "causal_lm": (vocabulary_head(c, d, "lm_loss", bias=True, tied_to=table),),
        "sequence_classification": (_summarised(c, "sequence_classification", labels),),
        "multiple_choice": (_summarised(c, "multiple_choice", 1),),
    }
    spans = tuple(head("question_answering", part) for part in beam_spans(c))
    return {**found, "XLNetForQuestionAnswering": spans}


def _summarised(c: Config, task: str, outputs: int) -> Block:
    logits = linear("logits_proj", size(c, "hidden_size"), outputs, True, role="logits")
    return head(task, *present(summary(c), logits))
