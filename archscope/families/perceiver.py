"""Perceiver IO: a few latents read inputs of any kind, think, and are read by queries for the outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from archscope.blocks.assembly import Architecture, Branch, Head, Layer, Sublayer, Tower, stack
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, Group, group, present, weight
from archscope.blocks.batch_norm import BatchNorm
from archscope.blocks.factories import num_labels, size
from archscope.blocks.leaves import conv, embedding, layer_norm, linear
from archscope.blocks.mlp import plain_mlp
from archscope.blocks.size import Size
from archscope.blocks.skeletons import head
from archscope.config import Config
from archscope.families.registry import family

PARTS = "input_preprocessor"


class Ends(NamedTuple):
    """What a class puts before the latents and after them: a preprocessor and the width of what it gives, outputs."""

    before: Block | None
    width: int
    after: tuple[Block, ...]


@family("perceiver")
def perceiver(c: Config) -> Architecture:
    """The latents with the inputs and outputs of the class: bytes of text, images, flow, or several kinds at once.

    Source: transformers, models/perceiver/modeling_perceiver.py.
    """
    ends = ENDS.get(c.model_class)
    if c.task == "model" or ends is None:
        known = c.task == "model"
        return Architecture(
            parts=(_tower(c, "", None, size(c, "d_model")),),
            partial="" if known else f"the head of {c.model_class or 'this class'} is not known",
        )
    made = ends(c)
    return Architecture(parts=(_tower(c, "perceiver", made.before, made.width), *made.after))


def _tower(c: Config, name: str, before: Block | None, width: int) -> Tower:
    """Latents, one attention from them to the inputs, then layers that are passed num_blocks times."""
    d = size(c, "d_latents")
    if d % c.num_self_attention_heads or d % c.num_cross_attention_heads:
        raise ValueError(f"d_latents {d} is no multiple of the numbers of heads")
    cross = _layer(
        c,
        "encoder.cross_attention",
        d,
        width,
        qk=c.qk_channels,
        v=c.v_channels,
        heads=c.num_cross_attention_heads,
        widening=c.cross_attention_widening_factor,
        residual=c.use_query_residual,
    )
    own = _layer(
        c,
        "",
        d,
        None,
        qk=c.qk_channels,
        v=c.v_channels,
        heads=c.num_self_attention_heads,
        widening=c.self_attention_widening_factor,
        passes=c.num_blocks,
    )
    kinds = ("",) * c.num_self_attends_per_block
    parts = present(
        before,
        weight("embeddings.latents", c.num_latents, d, role="embedding"),
        cross,
        stack("encoder.self_attends", kinds, lambda kind: own, width=d),
    )
    return Tower(name=name, parts=parts, tower="encoder", model_type=c.model_type, pointer=c.pointer, width=d)


def _layer(
    c: Config,
    name: str,
    width: int,
    memory: int | None,
    *,
    qk: int | None = None,
    v: int | None = None,
    heads: int = 1,
    widening: int = 1,
    residual: bool = True,
    passes: int = 1,
) -> Layer:
    """Attention of `width` wide queries to themselves or to a memory, and a feed-forward block, norms before each.

    Queries and keys are as wide as the config says, else as the side named by cross_attention_shape_for_attention.
    """
    source = width if memory is None else memory
    if qk is None:
        qk = memory if memory is not None and c.cross_attention_shape_for_attention == "kv" else width
    v = qk if v is None else v
    if qk % heads or v % heads:
        raise ValueError(f"widths {qk} and {v} of attention are no multiples of {heads} heads")
    attention = Attention(
        name="attention",
        num_heads=heads,
        num_kv_heads=heads,
        head_dim=qk // heads,
        v_head_dim=v // heads,
        causal=False,
        cache=False,
        position="none",
        memory_width=memory,
        parts=present(
            linear("self.query", width, qk, True, role="q"),
            None if memory is None else layer_norm("self.layernorm2", memory, role="memory norm"),
            linear("self.key", source, qk, True, role="k"),
            linear("self.value", source, v, True, role="v"),
            linear("output.dense", v, v if memory is None else width, True, role="o"),
        ),
        fields=("qk_channels", "v_channels", "d_latents"),
    )
    ffn = plain_mlp(width, Size(widening * width, "m"), c.hidden_act, names=("dense1", "dense2"), fields=("d_latents",))
    first = Branch(pre=layer_norm("attention.self.layernorm1", width), body=attention)
    sublayers = (
        Sublayer(branches=(first,), residual=residual),
        Sublayer(branches=(Branch(pre=layer_norm("layernorm", width), body=ffn),)),
    )
    return Layer(name=name, role="cross layer" if name else "", sublayers=sublayers, width=width, passes=passes)


def _fourier(bands: int, dimensions: int) -> int:
    """Width of a position given by sines and cosines and by itself."""
    return 2 * bands * dimensions + dimensions


def _text(c: Config) -> Group:
    d = size(c, "d_model")
    words = embedding("embeddings", size(c, "vocab_size"), d, fields=("vocab_size", "d_model"))
    places = embedding("position_embeddings", size(c, "max_position_embeddings"), d, of="position")
    return group(PARTS, words, places, role="side input")


def _decoder(c: Config, at: str, width: int, outputs: int, rows: int, *, residual: bool, task: str) -> Head:
    """Queries, as many as `rows` learned ones, that read the latents; then a matrix to the outputs."""
    queries = weight("output_position_encodings.position_embeddings", rows, width, role="queries") if rows else None
    read = _layer(c, "decoding_cross_attention", width, size(c, "d_latents"), residual=residual)
    last = linear("final_layer", width, outputs, True, role="logits")
    return head(task, group(f"perceiver.{at}", *present(queries, read, last)))


def _classifier(c: Config, before: Block | None, width: int) -> Ends:
    d = size(c, "d_latents")
    return Ends(before, width, (_decoder(c, "decoder.decoder", d, num_labels(c), 1, residual=True, task="labels"),))


def _masked(c: Config) -> Ends:
    """Queries of the text's own width for every place; the table of the inputs gives the words."""
    d, rows = size(c, "d_model"), size(c, "max_position_embeddings")
    queries = weight("output_position_encodings.position_embeddings", rows, d, role="queries")
    read = _layer(c, "decoding_cross_attention", d, size(c, "d_latents"), qk=256, v=d, heads=8, residual=False)
    table = f"perceiver.{PARTS}.embeddings.weight"
    words = linear("", d, size(c, "vocab_size"), role="logits", tied_to=table)
    bias = weight("bias", size(c, "vocab_size"), role="bias")
    decoder = group("perceiver.decoder", queries, read)
    return Ends(_text(c), d, (head("masked_lm", decoder, group("embedding_decoder", words, bias)),))


def _learned_pixels(c: Config) -> Ends:
    rows = c.image_size**2
    parts = (
        conv("convnet_1x1", 3, 256, 1, 1),
        weight("position_embeddings.position_embeddings", rows, 256, role="position"),
        linear("positions_projection", 256, 256, True),
    )
    return _classifier(c, group(PARTS, *parts, role="side input"), 512)


def _convolved_pixels(c: Config) -> Ends:
    parts = (conv("convnet.conv", 3, 64, 7, 7, bias=False), BatchNorm(name="convnet.batchnorm", size=64))
    return _classifier(c, group(PARTS, *parts, role="side input"), 64 + _fourier(64, 2))


def _flow(c: Config) -> Ends:
    width = 64 + _fourier(64, len(c.train_size))
    before = group(PARTS, linear("conv_after_patches", 54, 64, True), role="side input")
    return Ends(before, width, (_decoder(c, "decoder.decoder", width, 2, 0, residual=False, task="optical_flow"),))


def _several(c: Config) -> Ends:
    """Sound, frames and a label, each filled up to one width, as inputs and as outputs."""
    places = {"audio": _fourier(192, 1), "image": _fourier(32, 3)}
    inputs = {
        "audio": places["audio"] + c.samples_per_patch,
        "image": places["image"] + 48,
        "label": int(num_labels(c)),
    }
    queries = {**places, "label": c.get("_label_trainable_num_channels", 1024)}
    width, asked, out = max(inputs.values()) + 4, max(queries.values()) + 2, c.output_num_channels
    fill = [weight(f"padding.{name}", 1, width - n) for name, n in inputs.items()]
    masks = [weight(f"mask.{name}", 1, width) for name in inputs]
    rows = weight("modalities.label.decoder.output_position_encodings.position_embeddings", 1, queries["label"])
    beside = [weight(f"padding.{name}", 1, asked - n) for name, n in queries.items()]
    results = {"audio": c.samples_per_patch, "image": 3, "label": num_labels(c)}
    after = (
        head("queries", group("perceiver.decoder", rows, *beside)),
        _decoder(c, "decoder.decoder", asked, out, 0, residual=False, task="autoencoding"),
        *(
            head(name, linear(f"perceiver.output_postprocessor.modalities.{name}.classifier", out, n, True))
            for name, n in results.items()
        ),
    )
    return Ends(group(PARTS, *fill, *masks, role="side input"), width, after)


ENDS: dict[str, Callable[[Config], Ends]] = {
    "PerceiverForMaskedLM": _masked,
    "PerceiverForSequenceClassification": lambda c: _classifier(c, _text(c), size(c, "d_model")),
    "PerceiverForImageClassificationLearned": _learned_pixels,
    "PerceiverForImageClassificationFourier": lambda c: _classifier(c, None, 3 + _fourier(64, 2)),
    "PerceiverForImageClassificationConvProcessing": _convolved_pixels,
    "PerceiverForOpticalFlow": _flow,
    "PerceiverForMultimodalAutoencoding": _several,
}
