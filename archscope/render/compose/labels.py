"""What blocks are called in a figure: title, the numbers under it, colour, and the word for the layer pattern."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import NamedTuple

from archscope.blocks.assembly import Head, Opaque
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, Group, Weight
from archscope.blocks.conformer import ConvolutionModule
from archscope.blocks.latent_attention import LatentAttention
from archscope.blocks.layer_scale import LayerScale
from archscope.blocks.leaves import Conv, Embedding, Linear, Norm, Regroup
from archscope.blocks.mlp import Mlp
from archscope.blocks.moe import Experts, Moe, Router
from archscope.blocks.patches import PatchEmbedding
from archscope.blocks.repeated import Repeated
from archscope.blocks.ssm import StateMixer
from archscope.render.compose.positions import position
from archscope.render.figure import Category, Kind, Words
from archscope.render.quantities import plural, real, whole


class Label(NamedTuple):
    """How one block is named.

    `line` has its numbers. `contrast` and `distinct` are its title and its line beside blocks of the same shape that
    see more or fewer positions; `short` is the word for it in a list of kinds of layers; `category` its cell in the
    layer pattern, None for what no pattern tells apart.
    """

    kind: Kind
    title: Words
    line: Words = ()
    contrast: Words = ()
    distinct: Words = ()
    short: str = ""
    category: Category | None = None
    mono: bool = False


def label(block: Block) -> Label:
    """The label of any block: of its class, of what it is a kind of, else by its class name or its parameter path."""
    for cls, describe in _DESCRIBERS:
        if isinstance(block, cls):
            return describe(block)
    return _unknown(block)


# Attention

_SHARING: dict[str, Words] = {
    "multi-head": ("Multi-head attention", "Attention", "MHA"),
    "grouped-query": ("Grouped-query attention", "GQA attention", "GQA"),
    "multi-query": ("Multi-query attention", "MQA attention", "MQA"),
}


def _attention(block: Attention) -> Label:
    return Label(
        kind="swa" if block.window or block.chunk else "attn",
        title=_attention_title(block),
        line=_head_counts(block),
        contrast=_attention_title(block) if block.is_cross or block.window or block.chunk else ("Full attention",),
        distinct=_reach(block),
        short=_attention_word(block),
        category=_attention_category(block),
    )


def _attention_title(block: Attention) -> Words:
    if type(block) is not Attention:
        return _unknown(block).title
    if block.is_cross:
        return ("Cross-attention",)
    if block.window:
        return ("Sliding-window attention", "Sliding attention", "Sliding")
    if block.chunk:
        return ("Chunked attention", "Chunked")
    gated = block.find("gate") or block.find("gq") or block.find("gqkv")
    return ("Gated attention",) if gated is not None else _SHARING[block.sharing]


def _attention_word(block: Attention) -> str:
    if block.is_cross:
        return "cross"
    return "sliding" if block.window else "chunked" if block.chunk else "full"


def _attention_category(block: Attention) -> Category:
    if block.is_cross:
        return Category("cross-attention", "attn", "open")
    bare = ", no RoPE" if block.position == "none" else ""
    if block.window:
        return Category(f"sliding window{bare}", "swa", "low")
    if block.chunk:
        return Category(f"chunked attention{bare}", "swa", "low")
    return Category(f"full attention{bare}", "attn", "full")


def _head_counts(block: Attention) -> Words:
    queries, shared, width = whole(block.num_heads), whole(block.num_kv_heads), whole(block.head_dim)
    if block.num_heads == block.num_kv_heads:
        said = [f"{queries} heads · d = {width}", f"{queries} heads"]
        full = [f"{said[0]} · bidirectional"] if not (block.causal or block.is_cross) else []
        return (*full, *said)
    heads = "head" if block.num_kv_heads == 1 else "heads"
    return (
        f"{queries} query heads · {shared} KV {heads} · d = {width}",
        f"{queries} query · {shared} KV {heads} · d = {width}",
        f"{queries} query · {shared} KV {heads}",
        f"{queries} Q · {shared} KV",
    )


def _reach(block: Attention) -> Words:
    """How far a layer sees, and how it knows positions."""
    if block.window:
        seen = [f"window {whole(block.window)}"]
    elif block.chunk:
        seen = [f"chunks of {whole(block.chunk)}"]
    else:
        seen = ["full causal" if block.causal else "full"]
    where = position(block)
    full = " · ".join((*seen, *where[:1]))
    return tuple(dict.fromkeys((full, " · ".join((*seen, *where[-1:])), seen[0])))


def _latent(block: LatentAttention) -> Label:
    heads, rank = whole(block.num_heads), whole(block.kv_rank)
    query = "" if block.q_rank is None else f" · q rank {whole(block.q_rank)}"
    where = position(block)
    seen = f"window {whole(block.window)}" if block.window else "full causal"
    return Label(
        kind="swa" if block.window else "attn",
        title=("Multi-head latent attention", "Latent attention", "MLA"),
        line=tuple(
            dict.fromkeys((f"{heads} heads · KV rank {rank}{query}", f"{heads} heads · KV rank {rank}", f"rank {rank}"))
        ),
        distinct=tuple(dict.fromkeys((" · ".join((seen, *where[:1])), seen))),
        short="sliding MLA" if block.window else "MLA",
        category=Category("sliding MLA", "swa", "low") if block.window else Category("MLA", "attn", "full"),
    )


# Feed-forward

_GATED = {"silu": "SwiGLU", "swish": "SwiGLU", "gelu": "GeGLU", "relu": "ReGLU", "sigmoid": "GLU"}
_NAMES = {"silu": "SiLU", "swish": "SiLU", "gelu": "GELU", "relu": "ReLU", "relu2": "ReLU²", "squared_relu": "ReLU²",
          "sigmoid": "sigmoid", "tanh": "tanh"}  # fmt: skip


def activation(name: str) -> str:
    """A name of an activation as papers spell it."""
    if name.startswith("gelu") and name != "gelu":
        return "GELU (tanh)" if "tanh" in name or name in ("gelu_new", "gelu_fast") else f"GELU ({name[5:21]})"
    return _NAMES.get(name, name[:24])


def feed_forward_name(gated: bool, name: str) -> str:
    """What a feed-forward block with this activation is called: "SwiGLU", "GELU", "gated"."""
    stem = "gelu" if name.startswith("gelu") else name
    if gated:
        if "swiglu" in stem:
            return "SwiGLU" if stem == "swiglu" else "Clamped SwiGLU" if "clamp" in stem else "SwiGLU"
        return _GATED.get(stem, "Gated")
    return "GELU" if stem == "gelu" else _NAMES.get(stem, "")


def _mlp(block: Mlp) -> Label:
    name = feed_forward_name(block.gated, block.activation)
    d, m = whole(block.hidden), whole(block.width)
    out = whole(block.out_width) if block.out_width is not None else d
    title: Words = (f"{name} feed-forward", f"{name} FFN", "FFN") if name else ("Feed-forward", "FFN")
    if type(block) is not Mlp:
        title = (*_unknown(block).title, "FFN")
    return Label(
        kind="ffn",
        title=title,
        line=(f"{d} → {m} → {out}", f"{d} → {m}"),
        short="dense",
        category=Category("dense FFN", "ffn", "low"),
    )


def _moe(block: Moe) -> Label:
    active, number = block.router.top_k, block.experts.count
    shared = f" + {whole(block.num_shared)} shared" if block.shared is not None and block.num_shared else ""
    shared = shared or (" + shared" if block.shared is not None else "")
    line = f"top-{whole(active)} of {whole(number)}"
    return Label(
        kind="moe",
        title=("Mixture of experts", "MoE"),
        line=(f"{line}{shared}", line),
        short="MoE",
        category=Category("MoE", "moe", "dots"),
    )


def _state(block: StateMixer) -> Label:
    parts = []
    if block.num_heads:
        parts.append(f"{whole(block.num_heads)} heads × {whole(block.head_dim)}" if block.head_dim else
                     plural(block.num_heads, "head"))  # fmt: skip
    elif block.inner:
        parts.append(f"inner {whole(block.inner)}")
    if block.state_size:
        parts.append(f"state {whole(block.state_size)}")
    if block.num_groups > 1:
        parts.append(f"{whole(block.num_groups)} groups")
    name = mechanism(block)
    line = tuple(", ".join(parts[:n]) for n in range(len(parts), 0, -1))
    return Label("ssm", (name,), line, short=name, category=Category(name, "ssm", "bars"))


def mechanism(block: StateMixer) -> str:
    """The mixer's mechanism as papers write it."""
    named = {"gated delta net": "Gated DeltaNet"}
    first, _, rest = block.mechanism.partition(" ")
    # "mLSTM" stays as it is.
    start = first[:1].upper() + first[1:] if first.islower() else first
    return named.get(block.mechanism, f"{start} {rest}" if rest else start)


# Leaves

_NORMS = {
    "rms": "RMSNorm",
    "layer": "LayerNorm",
    "group": "GroupNorm",
    "batch": "BatchNorm",
    "l2": "L2 norm",
    "none": "scale and shift",
}


def _norm(block: Norm) -> Label:
    name = _NORMS[block.kind]
    return Label("norm", (name,) if block.affine else (f"{name}, no weights", name))


def _embedding(block: Embedding) -> Label:
    name = f"{block.of[:1].upper()}{block.of[1:]} embedding"
    scaled = f"{name} × {scale(block.scale)}" if block.scale not in (None, 1, 1.0) else name
    return Label("emb", tuple(dict.fromkeys((scaled, name))), (f"{whole(block.num_embeddings)} × {whole(block.dim)}",))


def scale(factor: float | None) -> str:
    """A factor, as a root or one over a root where it is one: √5376, 1/√168."""
    if factor is None:
        return ""
    for value, sign in ((factor, "√"), (1 / factor if factor else 0.0, "1/√")):
        square = value * value
        if 1 < square < inf and value != int(value) and abs(square - round(square)) < 1e-6 * square:
            return f"{sign}{round(square)}"
    return real(factor)


def _linear(block: Linear) -> Label:
    if block.role == "pooler":
        return Label("other", ("Pooler",), (_widths(block),))
    return Label("other", (_path_name(block) or "Linear",), (_widths(block),), mono=bool(block.name))


def _conv(block: Conv) -> Label:
    kernel = " × ".join(map(whole, block.kernel))
    title = "Patch embedding" if block.role == "embedding" and len(block.kernel) > 1 else _path_name(block)
    named = f"{len(block.kernel)}-D convolution"
    line = (f"{whole(block.in_channels)} → {whole(block.out_channels)}, kernel {kernel}", f"kernel {kernel}")
    return Label("vis" if block.role == "embedding" else "ssm", (title or named,), line, mono=title == block.name != "")


def _widths(block: Block) -> str:
    if block.in_width is None or block.out_width is None:
        return ""
    return f"{whole(block.in_width)} → {whole(block.out_width)}"


def _head(block: Head) -> Label:
    return Label("emb", (HEADS.get(block.task, f"{block.task.replace('_', ' ').capitalize()} head"),))


HEADS = {
    "causal_lm": "LM head",
    "seq_to_seq_causal_lm": "LM head",
    "image_text_to_text": "LM head",
    "multimodal_lm": "LM head",
    "speech_seq_2_seq": "LM head",
    "masked_lm": "Masked-LM head",
    "pretraining": "Pre-training heads",
    "sequence_classification": "Classification head",
    "token_classification": "Token-classification head",
    "question_answering": "Span head",
    "next_sentence_prediction": "Next-sentence head",
    "multiple_choice": "Multiple-choice head",
    "image_classification": "Image-classification head",
}
"""What the head of a task is called."""


def _opaque(block: Opaque) -> Label:
    return Label("other", (block.model_type[:40] or block.name or "Unknown part",), ("tensors not known",))


def _router(block: Router) -> Label:
    return Label("moe", ("Router",), (f"{whole(block.hidden)} → {whole(block.num_experts)}",))


def _experts(block: Experts) -> Label:
    title = "Experts" if type(block) is Experts else _unknown(block).title[0]
    return Label("moe", (title,), (f"{whole(block.active)} of {whole(block.count)}",))


def _weight(block: Weight) -> Label:
    shape = " × ".join(map(whole, block.shape)) or "one number"
    return Label("other", (_path_name(block) or "Weight",), (shape,), mono=bool(block.name))


def _scale_of_layer(block: LayerScale) -> Label:
    return Label("norm", ("Layer scale",))


def _regroup(block: Regroup) -> Label:
    name = f"{block.what[:1].upper()}{block.what[1:40]}" or "Regroup"
    return Label("op", (name,), (f"{whole(block.inputs)} → {whole(block.outputs)}",))


def _patches(block: PatchEmbedding) -> Label:
    patch = " × ".join(map(whole, block.patch))
    line = f"patches {patch}, {plural(block.channels, 'channel')} → {whole(block.hidden)}"
    return Label("emb", ("Patch embedding",), (line, f"patches {patch} → {whole(block.hidden)}", f"patches {patch}"))


def _convolution(block: ConvolutionModule) -> Label:
    return Label("ssm", ("Convolution module", "Convolution"), (f"kernel {whole(block.kernel)}",), short="convolution")


def _repeated(block: Repeated) -> Label:
    inner = label(block.part)
    name = block.name or inner.title[-1]
    return Label(inner.kind, (f"{name[-60:]} × {whole(block.count)}",), inner.line, mono=bool(block.name))


def _group(block: Group) -> Label:
    """A module that only holds others: its name, and what is in it."""
    parts = [part.name.rpartition(".")[2] for part in block.parts if part.name]
    said = ", ".join(parts[:4]) + (", …" if len(parts) > 4 else "")
    line = (said, plural(len(block.parts), "module")) if said else ()
    return Label("other", (_path_name(block) or "Modules",), line, mono=bool(block.name))


def _unknown(block: Block) -> Label:
    """A class that has no label of its own: its name as words ("FourierMixer" is a Fourier mixer)."""
    words = "".join(f" {char.lower()}" if char.isupper() else char for char in type(block).__name__).strip()
    kind: Kind = _COMPONENT_KINDS.get(block.component, "other")
    return Label(kind, (words[:1].upper() + words[1:],), tuple(filter(None, (_widths(block),))), short=words)


_COMPONENT_KINDS: dict[str, Kind] = {
    "attention": "attn", "state": "ssm", "ffn": "ffn", "experts": "moe", "embedding": "emb", "norms": "norm",
    "head": "emb",
}  # fmt: skip


def _path_name(block: Block) -> str:
    """A parameter path as a title: all of it, as long as it is no monster."""
    return block.name if len(block.name) <= 60 else f"…{block.name[-59:]}"


_DESCRIBERS: tuple[tuple[type[Block], Callable[..., Label]], ...] = (
    (Attention, _attention),
    (LatentAttention, _latent),
    (Mlp, _mlp),
    (Moe, _moe),
    (StateMixer, _state),
    (Norm, _norm),
    (Embedding, _embedding),
    (Linear, _linear),
    (Conv, _conv),
    (Head, _head),
    (Opaque, _opaque),
    (Router, _router),
    (Experts, _experts),
    (Weight, _weight),
    (LayerScale, _scale_of_layer),
    (Regroup, _regroup),
    (PatchEmbedding, _patches),
    (ConvolutionModule, _convolution),
    (Group, _group),
    (Repeated, _repeated),
)
