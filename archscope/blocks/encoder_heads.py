"""Heads over an encoder: words behind a mask, labels, spans, choices, pairs of sentences."""

from __future__ import annotations

from archscope.blocks.base import Block, Flow, Group, Port, Weight, group, present, weight
from archscope.blocks.factories import num_labels, size
from archscope.blocks.leaves import layer_norm, linear
from archscope.blocks.skeletons import head
from archscope.config import Config
from archscope.records import dataclass

Heads = dict[str, tuple[Block, ...]]


@dataclass(frozen=True, kw_only=True, slots=True)
class WidenedTable(Block):
    """A token table as output matrix, with further columns so that both are as wide as the hidden states.

    Source: MobileBERT (arXiv 2004.02984), section 3.
    """

    table: Block
    more: Block

    def children(self) -> tuple[Block, ...]:
        return (self.table, self.more)

    @property
    def in_width(self) -> int | None:
        return (self.table.in_width or 0) + (self.more.in_width or 0)

    @property
    def out_width(self) -> int | None:
        return self.table.out_width

    def flows(self) -> tuple[Flow, ...]:
        """Each matrix takes its share; the sum are the scores of all words."""
        flows = []
        for part in self.children():
            flows.append(Flow(Port("in"), Port(part.role, part.in_width)))
            flows.append(Flow(Port(part.role, part.out_width), Port("#sum", self.out_width)))
        return (*flows, Flow(Port("#sum", self.out_width), Port("out")))


def dense_classifier(
    c: Config, name: str = "classifier", *, inputs: int | None = None, labels: int | None = None
) -> Group:
    """Two matrices in a row: `dense`, then `out_proj` to the labels."""
    d = size(c, "hidden_size")
    return group(
        name,
        linear("dense", d if inputs is None else inputs, d, True),
        linear("out_proj", d, num_labels(c) if labels is None else labels, True, role="logits"),
    )


def label_heads(c: Config, *, dense: bool = False, span_labels: int | None = None, bias: bool = True) -> Heads:
    """One matrix per task: labels of a sequence (two where `dense`), of tokens, of choices, and ends of a span."""
    d, labels = size(c, "hidden_size"), num_labels(c)
    classifier = linear("classifier", d, labels, bias, role="logits")
    spans = labels if span_labels is None else span_labels
    parts: dict[str, Block] = {
        "sequence_classification": dense_classifier(c) if dense else classifier,
        "token_classification": classifier,
        "multiple_choice": linear("classifier", d, 1, bias, role="logits"),
        "question_answering": linear("qa_outputs", d, spans, bias, role="logits"),
    }
    return {task: (head(task, part),) for task, part in parts.items()}


def masked_head(
    c: Config,
    table: str,
    *,
    name: str = "cls.predictions",
    dense: str = "transform.dense",
    norm: str = "transform.LayerNorm",
    width: int | None = None,
    tied: bool | None = None,
    decoder_bias: bool = True,
) -> Group:
    """Hidden states to the width of the tables (dense, norm), then to the vocabulary with a bias.

    The last matrix is the `table` where tie_word_embeddings is true, and its bias the head's. `decoder_bias` is False
    where it has none of its own.
    """
    d, vocabulary = size(c, "hidden_size"), size(c, "vocab_size")
    inner = d if width is None else width
    shared = bool(c.get("tie_word_embeddings")) if tied is None else tied
    decoder = linear(
        "decoder",
        inner,
        vocabulary,
        decoder_bias and not shared,
        role="logits",
        tied_to=table if shared else "",
        fields=("tie_word_embeddings", "vocab_size"),
    )
    same_bias = Weight(name="decoder.bias", shape=(vocabulary,), tied_to=f"{name}.bias")
    return group(
        name,
        linear(dense, d, inner, True),
        layer_norm(norm, inner, eps=c.get("layer_norm_eps")),
        decoder,
        weight("bias", vocabulary, role="bias"),
        same_bias if shared and decoder_bias else None,
    )


def masked_lm_head(c: Config, table: str) -> Group:
    """The same head under the name of a language model's head."""
    return masked_head(c, table, name="lm_head", dense="dense", norm="layer_norm")


def language_heads(*parts: Block, tasks: tuple[str, ...] = ("causal_lm", "masked_lm")) -> Heads:
    """The same parts as the head of several tasks over words."""
    return {task: (head(task, *parts),) for task in tasks}


def pair_heads(c: Config, *predictions: Block) -> Heads:
    """Whether a sentence follows another, alone or beside the predictions of words."""
    pair = head(
        "next_sentence_prediction", linear("cls.seq_relationship", size(c, "hidden_size"), 2, True, role="pair logits")
    )
    return {"pretraining": (head("pretraining", *predictions), pair), "next_sentence_prediction": (pair,)}


def summary(c: Config, name: str = "sequence_summary") -> Group | None:
    """One vector per sequence: a matrix where summary_use_proj is true, to the labels where summary_proj_to_labels is.

    Raises: ValueError for an attention over the sequence.
    Source: transformers, SequenceSummary of the modeling files that have it.
    """
    if c.get("summary_type", "last") == "attn":
        raise ValueError("summary_type attn is not implemented by transformers")
    if not c.get("summary_use_proj"):
        return None
    d, labels = size(c, "hidden_size"), num_labels(c)
    return group(name, linear("summary", d, labels if c.get("summary_proj_to_labels") and labels > 0 else d, True))


def summarised_choice(c: Config) -> Heads:
    """Multiple choice over a summary of each choice."""
    classifier = linear("classifier", size(c, "hidden_size"), 1, True, role="logits")
    return {"multiple_choice": (head("multiple_choice", *present(summary(c), classifier)),)}


def stepped_choice(c: Config) -> Heads:
    """Multiple choice in two matrices."""
    d = size(c, "hidden_size")
    parts = (linear("pre_classifier", d, d, True), linear("classifier", d, 1, True, role="logits"))
    return {"multiple_choice": (head("multiple_choice", *parts),)}


def beam_spans(c: Config, prefix: str = "") -> tuple[Block, ...]:
    """Start of a span, end given the start, and whether there is an answer; names follow `prefix`.

    Source: transformers, XLNetPoolerStartLogits and its siblings.
    """
    d = size(c, "hidden_size")
    return (
        linear(f"{prefix}start_logits.dense", d, 1, True, role="logits"),
        group(
            f"{prefix}end_logits",
            linear("dense_0", 2 * d, d, True),
            layer_norm("LayerNorm", d, eps=c.layer_norm_eps),
            linear("dense_1", d, 1, True, role="logits"),
        ),
        group(f"{prefix}answer_class", linear("dense_0", 2 * d, d, True), linear("dense_1", d, 1, role="logits")),
    )
