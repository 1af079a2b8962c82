"""BERT with other ways to mix tokens than full attention: landmarks, hashes, resolutions, Fourier transforms."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from archscope.blocks.assembly import Architecture, Sublayer, post_add_norm
from archscope.blocks.base import Block, present, weight
from archscope.blocks.encoder_heads import (
    label_heads,
    language_heads,
    masked_head,
    pair_heads,
    stepped_choice,
)
from archscope.blocks.encoders import dense_attention, dense_layer, dense_mlp, encoder, pooler, summed_tables
from archscope.blocks.factories import size
from archscope.blocks.leaves import conv, layer_norm, linear
from archscope.blocks.mixed_attention import FourierMixer
from archscope.blocks.skeletons import with_head
from archscope.config import Config
from archscope.families.registry import family


@family("nystromformer")
def nystromformer(c: Config) -> Architecture:
    """Attention through num_landmarks means of the sequence, a convolution over positions beside it.

    Source: transformers, models/nystromformer/modeling_nystromformer.py.
    """
    return _approximated(c, "nystromformer", _head_conv(c, c.conv_kernel_size))


@family("yoso")
def yoso(c: Config) -> Architecture:
    """Attention sampled by hashing, a convolution over positions beside it where conv_window is set.

    Source: transformers, models/yoso/modeling_yoso.py.
    """
    return _approximated(c, "yoso", _head_conv(c, c.conv_window))


@family("mra")
def mra(c: Config) -> Architecture:
    """Attention at several resolutions: coarse over all blocks, fine over the ones that matter.

    Source: transformers, models/mra/modeling_mra.py.
    """
    count = size(c, "max_position_embeddings")
    return _approximated(
        c, "mra", None, weight("embeddings.position_ids", 1, count, parameter=False, role="side buffer")
    )


def _head_conv(c: Config, kernel: int | None) -> Block | None:
    """One filter over positions per head."""
    heads = c.num_attention_heads
    return None if kernel is None else conv("self.conv", heads, heads, kernel, 1, groups=heads, bias=False, role="conv")


def _approximated(c: Config, prefix: str, beside: Block | None, *buffers: Block) -> Architecture:
    """BERT without pooler; two rows more of positions, two outputs for spans whatever the labels."""
    attend = partial(dense_attention, extras=present(beside))
    tables = summed_tables(c, positions=size(c, "max_position_embeddings") + 2)
    tower = encoder(c, (*tables, *buffers), lambda kind: dense_layer(c, attend=attend, cross=False))
    words = masked_head(c, f"{prefix}.embeddings.word_embeddings.weight")
    heads = label_heads(c, dense=True, span_labels=2) | stepped_choice(c) | language_heads(words)
    return with_head(c, tower, prefix=prefix, heads=heads)


@family("fnet")
def fnet(c: Config) -> Architecture:
    """BERT with a Fourier transform where attention was, and a matrix after the tables; every class has the pooler.

    Source: transformers, models/fnet/modeling_fnet.py.
    """
    d = size(c, "hidden_size")
    projection = linear("embeddings.projection", d, d, True, role="projection")
    matrices = c.use_tpu_fourier_optimizations and c.max_position_embeddings <= 4096
    sizes = {"dft_mat_hidden": d, "dft_mat_seq": c.tpu_short_seq_length} if matrices else {}
    buffers = tuple(weight(f"self.{name}", n, n, parameter=False) for name, n in sizes.items())

    def layer(kind: object) -> tuple[Sublayer, ...]:
        return post_add_norm(
            (FourierMixer(name="fourier", hidden=d, parts=buffers), _norm(c, "fourier.output.LayerNorm")),
            (dense_mlp(c), _norm(c, "output.LayerNorm")),
        )

    tower = encoder(c, (*summed_tables(c), projection), layer, after=(pooler(c, without=()),))
    words = masked_head(c, "fnet.embeddings.word_embeddings.weight")
    heads = label_heads(c) | language_heads(words) | pair_heads(c, words)
    built = with_head(c, tower, prefix="fnet", heads=heads)
    reason = "the matrices of use_tpu_fourier_optimizations are saved only where SciPy is installed"
    return replace(built, partial=built.partial or reason) if matrices else built


def _norm(c: Config, name: str) -> Block:
    return layer_norm(name, size(c, "hidden_size"), eps=c.layer_norm_eps)
