"""Layers of conformers over speech: halves of a feed-forward block around attention and a gated convolution."""

from __future__ import annotations

from archscope.blocks.assembly import Branch, Layer, Stack, Sublayer, stack
from archscope.blocks.attention import Attention, Position, Rope
from archscope.blocks.base import Block, Group, Weight, group, weight
from archscope.blocks.conformer import ConvolutionModule
from archscope.blocks.leaves import conv, embedding, layer_norm, linear, regroup
from archscope.blocks.mlp import Mlp, plain_mlp
from archscope.blocks.towers import square_attention

MATRICES = ("linear_q", "linear_k", "linear_v", "linear_out")


def conformer_attention(
    hidden: int,
    num_heads: int,
    kind: str | None,
    *,
    theta: float | None = None,
    reach: int = 0,
    chunk: int | None = None,
    fields: tuple[str, ...] = ("num_attention_heads", "hidden_size"),
) -> Attention:
    """Attention both ways, with positions of a kind.

    Args:
        hidden: width of the stream.
        num_heads: heads.
        kind: "relative" (keys for distances and two biases on the queries, Transformer-XL), "relative_key" (a vector
            for each of `reach` distances), "rotary" (with the base `theta`); any other has no positions.
        theta: base of the rotation.
        reach: number of distances.
        chunk: how many positions one sees.
        fields: that it depends on.

    Source: arXiv 1901.02860 section 3.3; arXiv 1803.02155; arXiv 2104.09864.
    """
    width = hidden // num_heads
    extras: tuple[Block, ...] = ()
    position: Position = "none"
    if kind == "relative":
        biases = (weight(name, num_heads, width) for name in ("pos_bias_u", "pos_bias_v"))
        extras, position = (linear("linear_pos", hidden, hidden, role="bias"), *biases), "relative"
    elif kind == "relative_key":
        extras = (embedding("distance_embedding", reach, width, of="relative position", role="bias"),)
        position = "relative"
    elif kind == "rotary":
        position = "rope"
    return square_attention(
        hidden,
        num_heads,
        names=MATRICES,
        extras=extras,
        position=position,
        rotary=Rope(theta=theta, dim=width) if kind == "rotary" else None,
        chunk=chunk,
        fields=fields,
    )


def saved_frequencies(hidden: int, num_heads: int) -> Weight:
    """The frequencies of the rotation, which the encoder saves: one for two elements of a head."""
    angles = (hidden // num_heads + 1) // 2
    return weight("encoder.embed_positions.inv_freq", angles, parameter=False, role="side angles")


def conformer_mlp(
    hidden: int, width: int, activation: str, name: str, fields: tuple[str, ...] = ("intermediate_size", "hidden_size")
) -> Mlp:
    """The plain feed-forward block."""
    names = ("intermediate_dense", "output_dense")
    return plain_mlp(hidden, width, activation, name=name, names=names, fields=fields)


def gated_convolution(hidden: int, kernel: int, norm: Block, *, causal: bool) -> ConvolutionModule:
    """The convolution module without biases, with a norm of its own before it; `norm` has the role "norm"."""
    return ConvolutionModule(
        name="conv_module",
        hidden=hidden,
        kernel=kernel,
        causal=causal,
        parts=(
            layer_norm("layer_norm", hidden, role="norm_in"),
            conv("pointwise_conv1", hidden, 2 * hidden, 1, bias=False, role="in_proj"),
            conv("depthwise_conv", hidden, hidden, kernel, groups=hidden, bias=False, role="conv"),
            norm,
            conv("pointwise_conv2", hidden, hidden, 1, bias=False, role="out_proj"),
        ),
    )


def conformer_layer(
    hidden: int, halves: tuple[Block, Block], attention: Block, convolution: Block, eps: float | None = None
) -> Layer:
    """Half a feed-forward block, attention, convolution, the other half; a norm at the end.

    Source: Conformer (arXiv 2005.08100), section 2.4.
    """
    first, second = (
        Branch(pre=layer_norm(f"ffn{number}_layer_norm", hidden, eps=eps), body=half, scale=0.5)
        for number, half in enumerate(halves, 1)
    )
    attend = Branch(pre=layer_norm("self_attn_layer_norm", hidden, eps=eps), body=attention)
    return Layer(
        width=hidden,
        sublayers=(
            Sublayer(branches=(first,)),
            Sublayer(branches=(attend,)),
            Sublayer(branches=(Branch(body=convolution),)),
            Sublayer(branches=(second,), after=layer_norm("final_layer_norm", hidden, eps=eps)),
        ),
    )


def shortening_layers(
    name: str, count: int, hidden: int, kernel: int, attention: Block, ffn: Block, eps: float | None = None
) -> Stack:
    """Layers with a strided gated convolution before their attention and beside it, which leave fewer frames."""

    def shorter(part: str) -> Group:
        wide = conv(f"{part}_conv", hidden, 2 * hidden, kernel)
        norm = layer_norm(f"{part}_layer_norm", hidden, eps=eps)
        return group("", norm, wide, regroup("gate", 2 * hidden, hidden), role=f"{part} convolution")

    def layer(kind: object) -> tuple[Sublayer, ...]:
        attend, beside = Branch(pre=shorter("self_attn"), body=attention), Branch(body=shorter("residual"))
        last = Branch(pre=layer_norm("ffn_layer_norm", hidden, eps=eps), body=ffn)
        return (Sublayer(branches=(attend, beside), residual=False), Sublayer(branches=(last,)))

    return stack(name, ("",) * count, layer, width=hidden)
