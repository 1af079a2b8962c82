"""Gemma's own towers: a vision tower with Gemma's four norms a layer, and conformers over mel frames."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Branch, Layer, Sublayer, sandwich_norm, stack
from archscope.blocks.attention import Attention, head_norms
from archscope.blocks.base import Block, Group, group, weight
from archscope.blocks.conformer import ConvolutionModule
from archscope.blocks.factories import head_size, rope, size
from archscope.blocks.leaves import Norm, conv, layer_norm, linear, regroup, rms_norm
from archscope.blocks.mlp import Mlp
from archscope.blocks.patches import patch_embedding, position_weight, sides
from archscope.blocks.size import Size
from archscope.blocks.towers import tower_model
from archscope.config import Config
from archscope.families.registry import family

BOUNDS = ("input_min", "input_max", "output_min", "output_max")


@family("gemma4_vision")
def gemma4_vision(c: Config) -> Architecture:
    """Flat patches, a table of positions for rows and one for columns, norms on queries, keys and values.

    Source: transformers, models/gemma4/modeling_gemma4.py (Gemma4VisionModel).
    """
    d, positions = size(c, "hidden_size"), c.position_embedding_size
    patches = patch_embedding(
        "patch_embedder",
        3,
        d,
        sides(c.patch_size),
        projection="input_proj",
        bias=False,
        flat=True,
        positions=positions,
        position=position_weight("position_embedding_table", 2, positions, d),
    )
    layered = stack(
        "encoder.layers",
        ("",) * c.num_hidden_layers,
        lambda kind: sandwich_norm(
            (_norm(c, "input_layernorm"), _vision_attention(c), _norm(c, "post_attention_layernorm")),
            (_norm(c, "pre_feedforward_layernorm"), _vision_mlp(c), _norm(c, "post_feedforward_layernorm")),
        ),
        width=d,
    )
    shift = tuple(weight(name, d, parameter=False, role="side scale") for name in ("std_bias", "std_scale"))
    return tower_model(c, d, patches, layered, *(shift if c.standardize else ()))


@family("gemma4_audio")
def gemma4_audio(c: Config) -> Architecture:
    """A conformer whose attention sees chunks and what is near them, with relative positions.

    Source: transformers, models/gemma4/modeling_gemma4.py (Gemma4AudioModel).
    """
    d, channels, at = size(c, "hidden_size"), c.subsampling_conv_channels, "subsample_conv_projection"
    attend = _audio_attention(c, "self_attn", "self_attn.post", c.num_attention_heads, c.attention_chunk_size)
    layered = stack(
        "layers",
        ("",) * c.num_hidden_layers,
        lambda kind: _conformer(
            c,
            ("feed_forward1", "feed_forward2"),
            (_norm(c, "norm_pre_attn"), attend, _norm(c, "norm_post_attn")),
            c.conv_kernel_size,
            _norm(c, "norm_out"),
        ),
        width=d,
    )
    shortened = (
        _subsample(f"{at}.layer0", 1, channels[0], (3, 3), layer_norm("norm", channels[0], bias=False)),
        _subsample(f"{at}.layer1", channels[0], channels[1], (3, 3), layer_norm("norm", channels[1], bias=False)),
        regroup("frequencies to channels", channels[1], channels[0] // 4 * channels[1]),
        linear(f"{at}.input_proj_linear", channels[0] // 4 * channels[1], d),
    )
    out = linear("output_proj", d, c.output_proj_dims, True)
    return tower_model(c, d, *shortened, layered, out, tower="audio")


@family("gemma3n_audio")
def gemma3n_audio(c: Config) -> Architecture:
    """Gemma 4's conformer under other names, its norms over all frames so far.

    Source: transformers, models/gemma3n/modeling_gemma3n.py (Gemma3nAudioEncoder).
    """
    d, at = size(c, "hidden_size"), "subsample_conv_projection"
    channels, bins = c.sscp_conv_channel_size, c.input_feat_size
    for kernel, stride in zip(c.sscp_conv_kernel_size[:2], c.sscp_conv_stride_size[:2], strict=True):
        bins = (bins + 2 - kernel[1]) // stride[1] + 1
    attend = _audio_attention(
        c, "attention.attn", "attention.post", c.conf_num_attention_heads, c.conf_attention_chunk_size
    )
    layered = stack(
        "conformer",
        ("",) * c.conf_num_hidden_layers,
        lambda kind: _conformer(
            c,
            ("ffw_layer_start", "ffw_layer_end"),
            (_norm(c, "attention.pre_attn_norm"), attend, _norm(c, "attention.post_norm")),
            c.conf_conv_kernel_size,
            _norm(c, "norm"),
        ),
        width=d,
    )
    shortened = [
        _subsample(
            f"{at}.conv_{index}",
            channels[index - 1] if index else 1,
            channels[index],
            (c.sscp_conv_kernel_size[index][0], c.sscp_conv_kernel_size[index][1]),
            Norm(name="norm", size=channels[index], kind="group"),
        )
        for index in range(2)
    ]
    flat = channels[-1] * bins
    folded = regroup("frequencies to channels", channels[1], flat)
    return tower_model(c, d, *shortened, folded, linear(f"{at}.input_proj_linear", flat, d), layered, tower="audio")


def _norm(c: Config, name: str) -> Norm:
    return rms_norm(name, size(c, "hidden_size"), eps=c.rms_norm_eps)


def _matrix(c: Config, name: str, inputs: int, outputs: int, role: str) -> Block:
    """A matrix that may carry bounds of what goes in and out. Source: Gemma4ClippableLinear."""
    if c.model_type == "gemma3n_audio":
        return linear(name, inputs, outputs, role=role)
    bounds = tuple(weight(bound, parameter=False) for bound in BOUNDS) if c.use_clipped_linears else ()
    return group(name, linear("linear", inputs, outputs), *bounds, role=role)


def _vision_attention(c: Config) -> Attention:
    d, heads, kv, width = size(c, "hidden_size"), c.num_attention_heads, c.num_key_value_heads, head_size(c)
    q_norm, k_norm = head_norms("rms", width, eps=c.rms_norm_eps)
    return Attention(
        name="self_attn",
        num_heads=Size(heads, "h_q"),
        num_kv_heads=Size(kv, "h_kv"),
        head_dim=width,
        v_head_dim=width,
        parts=(
            _matrix(c, "q_proj", d, heads * width, "q"),
            _matrix(c, "k_proj", d, kv * width, "k"),
            _matrix(c, "v_proj", d, kv * width, "v"),
            q_norm,
            k_norm,
            Norm(name="v_norm", role="v_norm", size=width, affine=False, eps=c.rms_norm_eps),
            _matrix(c, "o_proj", heads * width, d, "o"),
        ),
        causal=False,
        cache=False,
        rope=rope(c, dim=int(width)),
        scale=1.0,
    )


def _vision_mlp(c: Config) -> Mlp:
    d, m = size(c, "hidden_size"), size(c, "intermediate_size")
    return Mlp(
        name="mlp",
        width=m,
        hidden=d,
        gated=True,
        activation=c.hidden_activation,
        parts=(
            _matrix(c, "gate_proj", d, m, "gate"),
            _matrix(c, "up_proj", d, m, "up"),
            _matrix(c, "down_proj", m, d, "down"),
        ),
    )


def _subsample(name: str, inputs: int, outputs: int, kernel: tuple[int, int], norm: Norm) -> Group:
    """A strided convolution over time and frequency, and a norm."""
    return group(name, conv("conv", inputs, outputs, *kernel, bias=False), norm, role="subsampling")


def _audio_attention(c: Config, name: str, out: str, heads: int, chunk: int) -> Attention:
    d = size(c, "hidden_size")
    width = Size(d // heads, "d_h")
    positions = "relative_position_embedding.pos_proj" if name != "self_attn" else "relative_k_proj"
    return Attention(
        name="",
        num_heads=heads,
        num_kv_heads=heads,
        head_dim=width,
        v_head_dim=width,
        parts=(
            _matrix(c, f"{name}.q_proj", d, heads * width, "q"),
            _matrix(c, f"{name}.k_proj", d, heads * width, "k"),
            _matrix(c, f"{name}.v_proj", d, heads * width, "v"),
            linear(f"{name}.{positions}", d, heads * width, role="bias"),
            weight(f"{name}.per_dim_scale", width),
            _matrix(c, out, d, d, "o"),
        ),
        causal=False,
        cache=False,
        chunk=chunk,
        position="relative",
        softcap=c.get("attention_logit_cap", c.get("conf_attention_logit_cap")),
    )


def _conformer(
    c: Config,
    feed_forward: tuple[str, str],
    attention: tuple[Block, Block, Block],
    kernel: int,
    last: Block,
) -> Layer:
    """Half a feed-forward block, attention, a convolution module, another half, a norm over all."""
    d = size(c, "hidden_size")
    scale = c.get("residual_weight", c.get("conf_residual_weight"))
    halves = [
        Branch(
            pre=_norm(c, f"{name}.pre_layer_norm"),
            body=_audio_mlp(c, name),
            post=_norm(c, f"{name}.post_layer_norm"),
            scale=scale,
        )
        for name in feed_forward
    ]
    pre, attend, post = attention
    return Layer(
        width=d,
        sublayers=(
            Sublayer(branches=(halves[0],)),
            Sublayer(branches=(Branch(pre=pre, body=attend, post=post),)),
            Sublayer(branches=(Branch(body=_convolution(c, kernel)),)),
            Sublayer(branches=(halves[1],), after=last),
        ),
    )


def _audio_mlp(c: Config, name: str) -> Mlp:
    d = size(c, "hidden_size")
    parts = (_matrix(c, "ffw_layer_1", d, 4 * d, "up"), _matrix(c, "ffw_layer_2", 4 * d, d, "down"))
    return Mlp(name=name, width=4 * d, hidden=d, gated=False, activation="silu", parts=parts, fields=("hidden_size",))


def _convolution(c: Config, kernel: int) -> ConvolutionModule:
    d = size(c, "hidden_size")
    return ConvolutionModule(
        name="lconv1d",
        hidden=d,
        kernel=kernel,
        causal=True,
        parts=(
            rms_norm("pre_layer_norm", d, role="norm_in", eps=c.rms_norm_eps),
            _matrix(c, "linear_start", d, 2 * d, "in_proj"),
            conv("depthwise_conv1d", d, d, kernel, groups=d, bias=False, role="conv"),
            rms_norm("conv_norm", d, role="norm", eps=c.rms_norm_eps),
            _matrix(c, "linear_end", d, d, "out_proj"),
        ),
    )
