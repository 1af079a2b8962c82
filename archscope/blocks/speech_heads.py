"""Heads over speech encoders: words, labels, speakers, quantised frames."""

from __future__ import annotations

from collections.abc import Callable

from archscope.blocks.assembly import Architecture, Tower
from archscope.blocks.base import Block, Group, group, weight
from archscope.blocks.factories import num_labels, size
from archscope.blocks.leaves import linear, regroup
from archscope.blocks.skeletons import head
from archscope.config import Config

Over = Callable[[Config], tuple[Block, ...]]
"""From the config, the parts of a head."""


def under_head(c: Config, prefix: str, parts: tuple[Block, ...], *, pretraining: Over | None = None) -> Architecture:
    """The encoder under the class that the config names; `pretraining` makes the head of that for pretraining."""
    d, bare = size(c, "hidden_size"), c.task == "model"
    made = Tower(
        name="" if bare else prefix, parts=parts, tower="audio", model_type=c.model_type, pointer=c.pointer, width=d
    )
    if bare:
        return Architecture(parts=(made,))
    heads: dict[str, Over | None] = {
        "ctc": ctc_head,
        "audio_classification": utterance_head,
        "audio_frame_classification": frame_head,
        "audio_xvector": speaker_head,
        "pretraining": pretraining,
    }
    over = heads.get(c.task)
    if over is None:
        return Architecture(parts=(made,), partial=f"the head of {c.model_class or 'this class'} is not known")
    return Architecture(parts=(made, head(c.task, *over(c))))


def _mixed(c: Config) -> tuple[Block, ...]:
    return (weight("layer_weights", c.num_hidden_layers + 1),) if c.use_weighted_layer_sum else ()


def ctc_head(c: Config) -> tuple[Block, ...]:
    """A word or a blank for every frame."""
    width = c.output_hidden_size if c.get("add_adapter") else c.hidden_size
    return (linear("lm_head", width, size(c, "vocab_size"), True, role="logits"),)


def utterance_head(c: Config) -> tuple[Block, ...]:
    """A label for the mean of all frames."""
    width = c.classifier_proj_size
    return (
        *_mixed(c),
        linear("projector", size(c, "hidden_size"), width, True),
        linear("classifier", width, num_labels(c), True, role="logits"),
    )


def frame_head(c: Config) -> tuple[Block, ...]:
    """A label for every frame."""
    return (*_mixed(c), linear("classifier", size(c, "hidden_size"), num_labels(c), True, role="logits"))


def speaker_head(c: Config) -> tuple[Block, ...]:
    """Dilated convolutions as matrices over stacked frames, their mean and deviation, a margin over speakers."""
    dims, out = c.tdnn_dim, c.xvector_output_dim
    stacked = [
        part
        for index, width in enumerate(dims)
        for inputs in (dims[max(index - 1, 0)],)
        for part in (
            regroup("stacked frames", inputs, inputs * c.tdnn_kernel[index]),
            linear(f"tdnn.{index}.kernel", inputs * c.tdnn_kernel[index], width, True),
        )
    ]
    return (
        *_mixed(c),
        linear("projector", size(c, "hidden_size"), dims[0], True),
        *stacked,
        regroup("mean and deviation", dims[-1], 2 * dims[-1]),
        linear("feature_extractor", 2 * dims[-1], out, True),
        linear("classifier", out, out, True),
        weight("objective.weight", out, num_labels(c)),
    )


def quantizer(c: Config, inputs: int) -> Group:
    """Entries of several codebooks side by side. Source: Wav2Vec2GumbelVectorQuantizer."""
    groups, entries, width = c.num_codevector_groups, c.num_codevectors_per_group, c.codevector_dim
    return group(
        "quantizer",
        weight("codevectors", 1, groups * entries, width // groups),
        linear("weight_proj", inputs, groups * entries, True),
        role="side quantizer",
    )


def quantised_head(c: Config) -> tuple[Block, ...]:
    """Frames against quantised ones, for pretraining."""
    width = c.codevector_dim
    return (
        quantizer(c, c.conv_dim[-1]),
        linear("project_hid", size(c, "hidden_size"), c.proj_codevector_dim, True),
        linear("project_q", width, c.proj_codevector_dim, True, role="side quantized"),
    )
