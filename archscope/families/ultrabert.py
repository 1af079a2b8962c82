"""UltraBERT: a bidirectional encoder built like a Llama decoder, and the same with an eye."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block
from archscope.blocks.composites import assemble, nested
from archscope.blocks.encoder_heads import Heads, label_heads
from archscope.blocks.factories import attention, mlp, num_labels, size
from archscope.blocks.leaves import linear, regroup, rms_norm
from archscope.blocks.projectors import plain_bridge, projector
from archscope.blocks.skeletons import head, pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family, tower


@family("ultrabert")
def ultrabert(c: Config) -> Architecture:
    """Gated MLPs and rotary positions of two kinds; most layers see a window on both sides.

    Source: transformers, models/ultrabert/modeling_ultrabert.py; conversion_mapping.py.
    """
    made = pre_norm_decoder(
        c,
        lambda kind: _attention(c, kind),
        lambda kind: mlp(c, bias=c.mlp_bias),
        tower="encoder",
    )
    words = _words(c, "cls", "ultrabert.embed_tokens.weight" if c.tie_word_embeddings else "")
    return with_head(c, made, prefix="ultrabert", heads=label_heads(c) | {"masked_lm": words})


@family("ultravbert")
def ultravbert(c: Config) -> Architecture:
    """Patches folded into channels, one matrix and a norm into the width of the text.

    Source: transformers, models/ultravbert/modeling_ultravbert.py.
    """
    text, vision, at = c.sub("text_config"), c.sub("vision_config"), nested(c, text="text_model")
    d, d_v = size(text, "hidden_size"), vision.hidden_size
    folded = d_v * c.pixel_shuffle_factor**2
    connector = projector(
        at("connector"),
        d_v,
        d,
        regroup("pixel shuffle", d_v, folded),
        linear("modality_projection", folded, d),
        rms_norm("norm", d, eps=text.rms_norm_eps),
    )
    seeing, reading = tower(vision, at("vision_model"), "vision"), tower(text, at.text, "encoder")
    classifier = linear("classifier", d, num_labels(c), True, role="logits")
    heads: Heads = {task: (head(task, classifier),) for task in ("sequence_classification", "token_classification")}
    if c.task == "masked_lm":
        table = f"{at.text}.embed_tokens.weight" if c.tie_word_embeddings else ""
        heads["masked_lm"] = _words(text, "head.decoder", table)
    return assemble(c, at, reading, seeing, connector, text_config=text, heads=heads)


def _attention(c: Config, kind: str) -> Attention:
    """The window is what a layer sees on each side."""
    return attention(
        c,
        bias=c.attention_bias,
        layer_type=kind,
        window=2 * c.sliding_window + 1 if kind == "sliding_attention" else None,
        causal=False,
        cache=False,
    )


def _words(c: Config, name: str, table: str) -> tuple[Block, ...]:
    """Through a narrower width and back before the vocabulary."""
    d = size(c, "hidden_size")
    names = ("head.linear1", "head.linear2")
    middle = plain_bridge(d, c.prediction_head_size, d, bias=False, names=names, activation="gelu_pytorch_tanh")
    words = linear(name, d, size(c, "vocab_size"), role="logits", tied_to=table)
    return (head("masked_lm", middle, words),)
