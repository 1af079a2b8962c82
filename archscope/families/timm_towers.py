"""Vision towers that timm builds: MobileNetV5, FastViT and the Perception Encoder; timm alone knows the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from archscope.blocks.assembly import Architecture, Branch, Layer, Opaque, Stack, Sublayer, Tower, stack
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, Group, group, present
from archscope.blocks.batch_norm import BatchNorm
from archscope.blocks.layer_scale import layer_scale
from archscope.blocks.leaves import conv, layer_norm, linear, regroup, rms_norm
from archscope.blocks.mlp import Mlp, plain_mlp
from archscope.blocks.patches import class_token, patch_embedding, position_weight, sides
from archscope.blocks.size import Size
from archscope.blocks.towers import layers, square_attention
from archscope.config import Config
from archscope.families.registry import family

Arguments = Mapping[str, Any]


@family("timm_wrapper", "gemma3n_vision")
def timm_wrapper(c: Config) -> Architecture:
    """The architecture that the config names, with the arguments it gives to timm.

    Source: transformers, models/timm_wrapper/modeling_timm_wrapper.py (TimmWrapperModel); timm 1.0.31.
    """
    name = str(c.architecture).rsplit("/", 1)[-1].split(".")[0]
    arguments: Arguments = c.model_args or {}
    if name == "mobilenetv5_300m_enc" and not arguments:
        return _tower(c, FUSED, _mobilenet())
    if name in FAST_VITS and dict(arguments) == {"inference_mode": True}:
        dims, depths = FAST_VITS[name]
        return _tower(c, 2 * dims[-1], _fast_vit(dims, depths))
    if name in ENCODERS and not arguments.keys() - UNDERSTOOD:
        given = {**ENCODERS[name], **arguments}
        return _tower(c, given["embed_dim"], _encoder(given))
    reason = f"the tensors of timm's {name} with these arguments are not known"
    return Architecture(parts=(Opaque(name="timm_model", model_type=c.model_type, reason=reason),))


def _tower(c: Config, width: int, parts: tuple[Block, ...]) -> Architecture:
    inner = Tower(
        name="timm_model", parts=parts, tower="vision", model_type=c.model_type, pointer=c.pointer, width=width
    )
    reason = "" if c.task == "model" else f"the head of {c.model_class or 'this class'} is not known"
    return Architecture(parts=(inner,), partial=reason)


class _Inverted(NamedTuple):
    """A narrow-wide-narrow block: convolutions over space before and between its two matrices, 0 for none."""

    expansion: int
    start: int = 0
    middle: int = 0


class _Shared(NamedTuple):
    """Attention over the image with one head of keys and values, which may be made from a coarser image."""

    heads: int
    width: int
    coarser: int = 0


STEM, FUSED = 64, 2048
EDGES, EDGE_WIDTH = 3, 128
STAGES: tuple[tuple[int, tuple[_Inverted | _Shared, ...]], ...] = (
    (256, (_Inverted(6, 3, 5), *(_Inverted(4, 5), _Inverted(4, 3)) * 2)),
    (640, (_Inverted(6, 5, 5), *(_Inverted(4, 5),) * 7, _Inverted(1), *(_Shared(12, 64, 3), _Inverted(2)) * 14)),
    (1280, (_Inverted(6, 5, 5), *(_Shared(16, 96), _Inverted(2)) * 19)),
)
"""Width and blocks of each stage of MobileNetV5 after the first.

Source: timm, models/mobilenetv5.py (mobilenetv5_300m_enc).
"""


def _mobilenet() -> tuple[Block, ...]:
    """The last two stages side by side give the features."""
    stages: list[Block] = []
    inputs = EDGE_WIDTH
    for index, (width, blocks) in enumerate(STAGES, 1):
        stages.append(_mobile_stage(f"blocks.{index}", blocks, inputs, width))
        inputs = width
    joined = STAGES[-2][0] + STAGES[-1][0]
    stem = group("conv_stem", conv("conv", 3, STEM, 3, 3), rms_norm("bn", STEM))
    edges = stack("blocks.0", (STEM, *(EDGE_WIDTH,) * (EDGES - 1)), _edge, width=EDGE_WIDTH)
    mixed = group("msfa", _mixed("ffn", _Inverted(2), joined, FUSED), rms_norm("norm", FUSED))
    return (stem, edges, *stages, regroup("join scales", inputs, joined), mixed)


def _edge(inputs: int) -> Layer:
    wide = 4 * inputs
    body = group(
        "",
        conv("conv_exp", inputs, wide, 3, 3, bias=False),
        rms_norm("bn1", wide),
        conv("conv_pwl", wide, EDGE_WIDTH, 1, 1, bias=False),
        rms_norm("bn2", EDGE_WIDTH),
        role="convolutions",
    )
    sublayer = Sublayer(branches=(Branch(body=body),), residual=inputs == EDGE_WIDTH)
    return Layer(sublayers=(sublayer,), width=EDGE_WIDTH, enters=inputs)


def _mobile_stage(name: str, blocks: Sequence[_Inverted | _Shared], inputs: int, width: int) -> Stack:
    def layer(kind: tuple[int, _Inverted | _Shared]) -> Layer:
        enters, block = kind
        scale = layer_scale("layer_scale", width, tensor="gamma")
        if isinstance(block, _Shared):
            branch = Branch(pre=rms_norm("norm", width), body=_shared_keys(block, width), post=scale)
        else:
            branch = Branch(body=_mixed("", block, enters, width), post=scale)
        return Layer(sublayers=(Sublayer(branches=(branch,), residual=enters == width),), width=width, enters=enters)

    return stack(name, [(width if i else inputs, block) for i, block in enumerate(blocks)], layer, width=width)


def _mixed(name: str, block: _Inverted, inputs: int, outputs: int) -> Group:
    wide = block.expansion * inputs

    def over_space(name: str, width: int, kernel: int) -> Block | None:
        return _normed(name, width, width, kernel, groups=width) if kernel else None

    parts = (
        over_space("dw_start", inputs, block.start),
        _normed("pw_exp", inputs, wide, 1),
        over_space("dw_mid", wide, block.middle),
        _normed("pw_proj", wide, outputs, 1),
    )
    return Group(name=name, role="convolutions", parts=present(*parts))


def _normed(name: str, inputs: int, outputs: int, kernel: int, *, groups: int = 1) -> Group:
    matrix = conv("conv", inputs, outputs, kernel, kernel, groups=groups, bias=False)
    return group(name, matrix, rms_norm("bn", outputs))


def _shared_keys(block: _Shared, width: int) -> Attention:
    def made(name: str, role: str) -> Block:
        out = conv("proj", width, block.width, 1, 1, bias=False)
        if not block.coarser:
            return group(name, out, role=role)
        down = conv("down_conv", width, width, block.coarser, block.coarser, groups=width, bias=False)
        return group(name, down, rms_norm("norm", width), out, role=role)

    inner = block.heads * block.width
    return Attention(
        name="attn",
        num_heads=Size(block.heads, "h_q"),
        num_kv_heads=Size(1, "h_kv"),
        head_dim=Size(block.width, "d_h"),
        v_head_dim=Size(block.width, "d_h"),
        parts=(
            conv("query.proj", width, inner, 1, 1, bias=False, role="q"),
            made("key", "k"),
            made("value", "v"),
            conv("output.proj", inner, width, 1, 1, bias=False, role="o"),
        ),
        causal=False,
        cache=False,
        position="none",
    )


FAST_VITS = {
    "fastvit_mci3": ((96, 192, 384, 768, 1536), (2, 12, 24, 4, 2)),
    "fastvit_mci4": ((128, 256, 512, 1024, 2048), (2, 12, 24, 4, 4)),
}
"""Widths and depths of the stages. Source: timm, models/fastvit.py."""
ATTENDING = 3
"""The first stage that mixes by attention."""


def _fast_vit(dims: Sequence[int], depths: Sequence[int]) -> tuple[Block, ...]:
    """The branches of training are one convolution each."""
    first, last = dims[0], 2 * dims[-1]
    stem = group("stem", _merged("0", 3, first, 3), _merged("1", first, first, 3, first), _merged("2", first, first, 1))
    stages: list[Block] = []
    for index, (width, depth) in enumerate(zip(dims, depths, strict=True)):
        at, attends = f"stages.{index}", index >= ATTENDING
        if index:
            before = dims[index - 1]
            down = (_merged("0", before, width, 7, before), _merged("1", width, width, 1))
            stages.append(group(f"{at}.downsample.proj", *down))
        if attends:
            stages.append(_merged(f"{at}.pos_emb", width, width, 7, width))
        stages.append(stack(f"{at}.blocks", ((width, attends),) * depth, lambda kind: _fast_layer(*kind), width=width))
    squeezed = last // 16
    gate = group("se", conv("fc1", last, squeezed, 1, 1), conv("fc2", squeezed, last, 1, 1), role="side gate")
    out = conv("reparam_conv", dims[-1], last, 3, 3, groups=dims[-1])
    return (stem, *stages, group("final_conv", gate, out))


def _merged(name: str, inputs: int, outputs: int, kernel: int, groups: int = 1) -> Group:
    return group(name, conv("reparam_conv", inputs, outputs, kernel, kernel, groups=groups))


def _fast_layer(width: int, attends: bool) -> tuple[Sublayer, ...]:
    ffn = Branch(body=_fast_mlp(width), post=_image_scale("layer_scale_2" if attends else "layer_scale", width))
    if not attends:
        mixer = Sublayer(branches=(Branch(body=_merged("token_mixer", width, width, 3, width)),), residual=False)
        return (mixer, Sublayer(branches=(ffn,)))
    attend = square_attention(
        width, width // 32, name="token_mixer", names=("", "", "", "proj"), fused="qkv", bias=False, out_bias=True
    )
    branch = Branch(pre=layer_norm("norm", width), body=attend, post=_image_scale("layer_scale_1", width))
    return (Sublayer(branches=(branch,)), Sublayer(branches=(ffn,)))


def _image_scale(name: str, width: int) -> Block:
    return layer_scale(name, width, tensor="gamma", image=True)


def _fast_mlp(width: int) -> Group:
    m = Size(4 * width, "m")
    over_space = group(
        "conv", conv("conv", width, width, 7, 7, groups=width, bias=False), BatchNorm(name="bn", size=width)
    )
    matrices = (conv("fc1", width, m, 1, 1, role="up"), conv("fc2", m, width, 1, 1, role="down"))
    inner = Mlp(role="ffn", width=m, hidden=width, gated=False, activation="gelu", parts=matrices)
    return group("mlp", over_space, inner)


def _sized(width: int, depth: int, heads: int, patch: int, image: int, **more: Any) -> dict[str, Any]:
    sizes = {"embed_dim": width, "depth": depth, "num_heads": heads, "patch_size": patch, "img_size": image}
    return {"mlp_ratio": 4.0, "class_token": True, "use_pre_transformer_norm": True, "in_chans": 3} | sizes | more


GIANT = {"mlp_ratio": 8960 / 1536, "class_token": False}
CORE = {"global_pool": "map", "attn_pool_mlp_ratio": 4.0}
PLAIN = {"use_post_transformer_norm": False, "use_fc_norm": False}
ENCODERS: Mapping[str, dict[str, Any]] = {
    "vit_pe_core_tiny_patch16_384": _sized(192, 12, 3, 16, 384, **CORE),
    "vit_pe_core_small_patch16_384": _sized(384, 12, 6, 16, 384, **CORE),
    "vit_pe_core_base_patch16_224": _sized(768, 12, 12, 16, 224, **CORE),
    "vit_pe_core_large_patch14_336": _sized(1024, 24, 16, 14, 336, **CORE),
    "vit_pe_core_gigantic_patch14_448": _sized(1536, 50, 16, 14, 448, **CORE, **GIANT),
    "vit_pe_lang_large_patch14_448": _sized(1024, 23, 16, 14, 448, **PLAIN, init_values=0.1),
    "vit_pe_lang_gigantic_patch14_448": _sized(1536, 47, 16, 14, 448, **PLAIN, **GIANT, init_values=0.1),
    "vit_pe_spatial_tiny_patch16_512": _sized(192, 12, 3, 16, 512, **PLAIN),
    "vit_pe_spatial_small_patch16_512": _sized(384, 12, 6, 16, 512, **PLAIN),
    "vit_pe_spatial_base_patch16_512": _sized(768, 12, 12, 16, 512, **PLAIN),
    "vit_pe_spatial_large_patch14_448": _sized(1024, 24, 16, 14, 448, **PLAIN),
    "vit_pe_spatial_gigantic_patch14_448": _sized(1536, 50, 16, 14, 448, **PLAIN, **GIANT, init_values=0.1),
}
"""What each name stands for. Source: timm, models/eva.py; arXiv 2504.13181."""
UNDERSTOOD = {"ref_feat_shape", "global_pool", "init_values", "use_post_transformer_norm", "use_fc_norm"} | {
    key for sizes in ENCODERS.values() for key in sizes
}


def _encoder(given: Arguments) -> tuple[Block, ...]:
    """A vision transformer with rotary positions beside learned ones, a norm before its layers.

    Source: timm, models/eva.py (Eva).
    """
    d, pool = Size(given["embed_dim"], "d_v"), given.get("global_pool", "avg")
    tall, wide = (
        side // patch for side, patch in zip(sides(given["img_size"]), sides(given["patch_size"]), strict=True)
    )
    first, positions = bool(given["class_token"]), tall * wide + bool(given["class_token"])
    asked, last = given.get("use_fc_norm"), given.get("use_post_transformer_norm")
    pooled_norm = pool == "avg" if asked is None else asked
    scaled = given.get("init_values") is not None
    attend = square_attention(
        d, given["num_heads"], name="attn", names=("", "", "", "proj"), fused="qkv", position="rope"
    )
    patches = patch_embedding(
        "",
        given["in_chans"],
        d,
        sides(given["patch_size"]),
        projection="patch_embed.proj",
        bias=not given["use_pre_transformer_norm"],
        token=class_token("cls_token", 1, 1, d) if first else None,
        positions=positions,
        position=position_weight("pos_embed", 1, positions, d),
    )
    return present(
        patches,
        layer_norm("norm_pre", d, eps=1e-5) if given["use_pre_transformer_norm"] else None,
        layers(
            "blocks",
            given["depth"],
            d,
            attend,
            _matrices(d, given["mlp_ratio"]),
            norms=("norm1", "norm2"),
            eps=1e-5,
            scales=(layer_scale("gamma_1", d), layer_scale("gamma_2", d)) if scaled else (None, None),
        ),
        layer_norm("norm", d, eps=1e-5) if (not pooled_norm if last is None else last) else None,
        _pooling(d, given) if pool == "map" else None,
        layer_norm("fc_norm", d, eps=1e-5) if pooled_norm else None,
    )


def _matrices(width: int, ratio: float) -> Mlp:
    return plain_mlp(width, Size(int(int(width) * ratio), "m"), "gelu", name="mlp", names=("fc1", "fc2"), bias=True)


def _pooling(width: int, given: Arguments) -> Group:
    """One learned query over all patches."""
    query = class_token("latent", 1, 1, width)
    keys = linear("kv", width, 2 * width, True, role="kv")
    parts = (linear("q", width, width, True, role="q"), keys, linear("proj", width, width, True, role="o"))
    heads, each = Size(given.get("attn_pool_num_heads", 8), "h_q"), Size(width // 8, "d_h")
    attend = Attention(
        role="attention",
        num_heads=heads,
        num_kv_heads=heads,
        head_dim=each,
        v_head_dim=each,
        parts=parts,
        causal=False,
        cache=False,
        position="none",
        memory_width=width,
    )
    after = (layer_norm("norm", width, eps=1e-5), _matrices(width, given["attn_pool_mlp_ratio"]))
    return group("attn_pool", Group(role="side query", parts=(query,)), attend, *after, role="pooling")
