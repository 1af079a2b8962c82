"""wav2vec 2.0 with conformer layers: over the waveform, or over stacked mel frames (w2v-BERT 2.0)."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Branch, Layer, Stack, Sublayer, stack
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, Group, group, present, weight
from archscope.blocks.batch_norm import BatchNorm
from archscope.blocks.conformer_layers import (
    conformer_attention,
    conformer_layer,
    conformer_mlp,
    gated_convolution,
    saved_frequencies,
    shortening_layers,
)
from archscope.blocks.factories import size
from archscope.blocks.leaves import conv, layer_norm, linear, regroup
from archscope.blocks.speech_heads import quantised_head, under_head
from archscope.blocks.waveform import convolved_positions, first_or_all, waveform_convolutions
from archscope.config import Config
from archscope.families.registry import family


@family("wav2vec2-conformer")
def wav2vec2_conformer(c: Config) -> Architecture:
    """Positions by a convolution, and those of position_embeddings_type in every layer.

    Source: fairseq S2T (arXiv 2010.05171); transformers, models/wav2vec2_conformer/modeling_wav2vec2_conformer.py.
    """
    d, eps = size(c, "hidden_size"), c.layer_norm_eps
    groups = c.num_conv_pos_embedding_groups
    parts = present(
        _mask(c),
        *waveform_convolutions(
            "feature_extractor.conv_layers",
            c.conv_dim,
            c.conv_kernel,
            first_or_all(c.feat_extract_norm, c.num_feat_extract_layers),
            bool(c.conv_bias),
        ),
        layer_norm("feature_projection.layer_norm", c.conv_dim[-1], eps=eps),
        linear("feature_projection.projection", c.conv_dim[-1], d, True),
        convolved_positions("encoder.pos_conv_embed.conv", d, c.num_conv_pos_embeddings, groups),
        saved_frequencies(d, c.num_attention_heads) if c.position_embeddings_type == "rotary" else None,
        _layers(c, _attention(c, ("relative", "rotary")), BatchNorm(name="batch_norm", role="norm", size=d)),
        layer_norm("encoder.layer_norm", d, eps=eps),
        _strided_adapter(c) if c.add_adapter else None,
    )
    return under_head(c, "wav2vec2_conformer", parts, pretraining=quantised_head)


@family("wav2vec2-bert")
def wav2vec2_bert(c: Config) -> Architecture:
    """Causal convolutions, no norm after the layers; attention in the adapter.

    Source: Seamless (arXiv 2312.05187); transformers, models/wav2vec2_bert/modeling_wav2vec2_bert.py.
    """
    d, bins = size(c, "hidden_size"), c.feature_projection_input_dim
    norm = layer_norm("depthwise_layer_norm", d, eps=c.layer_norm_eps, role="norm")
    between = None
    if c.use_intermediate_ffn_before_adapter:
        half = Branch(body=_mlp(c, "intermediate_ffn", d, "relu"), scale=0.5)
        between = Layer(sublayers=(Sublayer(branches=(half,)),), width=d, role="intermediate")
    parts = present(
        _mask(c),
        layer_norm("feature_projection.layer_norm", bins, eps=c.layer_norm_eps),
        linear("feature_projection.projection", bins, d, True),
        _layers(c, _attention(c, ("relative", "rotary", "relative_key")), norm, causal=True),
        between,
        _attending_adapter(c) if c.add_adapter else None,
    )
    return under_head(c, "wav2vec2_bert", parts)


def _mask(c: Config) -> Block | None:
    masks = c.mask_time_prob > 0 or c.mask_feature_prob > 0
    return weight("masked_spec_embed", size(c, "hidden_size"), role="side mask") if masks else None


def _layers(c: Config, attention: Attention, norm: Block, *, causal: bool = False) -> Stack:
    d = size(c, "hidden_size")
    halves = (_mlp(c, "ffn1", d, c.hidden_act), _mlp(c, "ffn2", d, c.hidden_act))
    convolution = gated_convolution(d, c.conv_depthwise_kernel_size, norm, causal=causal)
    layer = conformer_layer(d, halves, attention, convolution, c.layer_norm_eps)
    return stack("encoder.layers", ("",) * c.num_hidden_layers, lambda kind: layer, width=d)


def _attention(c: Config, kinds: tuple[str, ...]) -> Attention:
    """Attention with positions of position_embeddings_type, where it is one of these kinds."""
    kind = c.position_embeddings_type if c.position_embeddings_type in kinds else None
    reach = c.left_max_position_embeddings + c.right_max_position_embeddings + 1 if kind == "relative_key" else 0
    heads = c.num_attention_heads
    return conformer_attention(size(c, "hidden_size"), heads, kind, theta=c.rotary_embedding_base, reach=reach)


def _mlp(c: Config, name: str, width: int, activation: str) -> Block:
    return conformer_mlp(width, size(c, "intermediate_size"), activation, name)


def _widened(c: Config) -> tuple[Block, ...]:
    d, out = size(c, "hidden_size"), c.output_hidden_size
    return (linear("adapter.proj", d, out, True), layer_norm("adapter.proj_layer_norm", out)) if out != d else ()


def _strided_adapter(c: Config) -> Group:
    """Strided gated convolutions for a decoder that wants fewer frames."""
    out = c.output_hidden_size
    shorter = [
        part
        for index in range(c.num_adapter_layers)
        for part in (
            conv(f"adapter.layers.{index}.conv", out, 2 * out, c.adapter_kernel_size),
            regroup("gate", 2 * out, out),
        )
    ]
    return group("", *_widened(c), *shorter, role="adapter")


def _attending_adapter(c: Config) -> Group:
    """The same with attention and a feed-forward block in each layer."""
    out, eps = c.output_hidden_size, c.layer_norm_eps
    layers = shortening_layers(
        "adapter.layers",
        c.num_adapter_layers,
        out,
        c.adapter_kernel_size,
        conformer_attention(out, c.num_attention_heads, None),
        _mlp(c, "ffn", out, c.adapter_act),
        eps,
    )
    return group("", *_widened(c), layers, role="adapter")
