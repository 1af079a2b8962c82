"""Fun-ASR's encoder: self-attention with a memory of neighbouring values beside it."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Branch, Layer, Sublayer, stack
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, group
from archscope.blocks.factories import size
from archscope.blocks.leaves import conv, layer_norm, linear
from archscope.blocks.size import Size
from archscope.blocks.towers import feed_forward, tower_model
from archscope.config import Config
from archscope.families.registry import family


@family("fun_asr_nano_encoder")
def fun_asr_encoder(c: Config) -> Architecture:
    """The first layer takes stacked frames and has no residual; two layers end with a norm of their own.

    Source: SAN-M (arXiv 2006.01713); transformers, models/fun_asr_nano/modeling_fun_asr_nano.py (FunAsrNanoEncoder).
    """
    d, count = size(c, "hidden_size"), c.num_hidden_layers
    normed = (count - c.num_timestamp_prediction_layers - 1, count - 1)
    kinds = [(index == 0, index in normed) for index in range(count)]
    return tower_model(c, d, stack("layers", kinds, lambda kind: _layer(c, kind), width=d), tower="audio")


def _layer(c: Config, kind: object) -> Layer:
    assert isinstance(kind, tuple)
    first, normed = kind
    d, eps = size(c, "hidden_size"), c.layer_norm_eps
    inputs = Size(c.input_size, "d_in") if first else d
    ffn = feed_forward(c, d, size(c, "intermediate_size"))
    last: Block | None = layer_norm("final_layernorm", d, eps=eps) if normed else None
    own = Branch(pre=layer_norm("input_layernorm", inputs, eps=eps), body=_attention(c, inputs))
    return Layer(
        width=d,
        enters=inputs,
        label="first" if first else "normed" if normed else "",
        sublayers=(
            Sublayer(branches=(own,), residual=int(inputs) == int(d)),
            Sublayer(branches=(Branch(pre=layer_norm("post_attention_layernorm", d, eps=eps), body=ffn),), after=last),
        ),
    )


def _attention(c: Config, inputs: int) -> Attention:
    """A convolution over time of each channel of the values is added to what attention gives."""
    d, heads, kernel = size(c, "hidden_size"), c.num_attention_heads, c.fsmn_kernel_size
    width = Size(d // heads, "d_h")
    memory = group("fsmn", conv("conv", d, d, kernel, groups=d, bias=False), role="memory")
    return Attention(
        name="self_attn",
        num_heads=heads,
        num_kv_heads=heads,
        head_dim=width,
        v_head_dim=width,
        parts=(
            linear("q_proj", inputs, d, True, role="q"),
            linear("k_proj", inputs, d, True, role="k"),
            linear("v_proj", inputs, d, True, role="v"),
            memory,
            linear("o_proj", d, d, True, role="o"),
        ),
        causal=False,
        cache=False,
        position="sinusoidal",
        fields=("num_attention_heads", "hidden_size", "input_size"),
    )
