"""Qwen-VL's vision towers and their kin: patches of frames, axial rotary positions, neighbours merged at the end."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace

from archscope.blocks.assembly import Architecture
from archscope.blocks.attention import Attention, Rope
from archscope.blocks.base import Block
from archscope.blocks.factories import attention, rope, size
from archscope.blocks.leaves import Norm, embedding, layer_norm, linear, regroup, rms_norm
from archscope.blocks.mlp import Mlp, gated_mlp
from archscope.blocks.patches import PatchEmbedding, patch_embedding, sides
from archscope.blocks.projectors import Projector, projector
from archscope.blocks.repeated import repeated
from archscope.blocks.size import Size
from archscope.blocks.towers import feed_forward, layers, square_attention, tower_model
from archscope.config import Config
from archscope.families.registry import family

GELU_MLP = ("mlp.0", "mlp.2")
LINEARS = ("linear_fc1", "linear_fc2")


@family("qwen2_vl_vision")
def qwen2_vl_vision(c: Config) -> Architecture:
    """LayerNorm and a plain feed-forward block; hidden_size is the width of the text here, embed_dim that of the tower.

    Source: transformers, models/qwen2_vl/modeling_qwen2_vl.py (Qwen2VisionTransformerPretrainedModel).
    """
    d, out = Size(c.embed_dim, "d_v"), size(c, "hidden_size")
    return tower_model(
        c,
        d,
        _patches(c, d, bias=False),
        _blocks(c, d, _fused(c, d), feed_forward(c, d, int(d * c.mlp_ratio))),
        _merger(c, "merger", d, out, layer_norm, "ln_q", GELU_MLP),
        classes=("Qwen2VisionTransformerPretrainedModel",),
    )


@family("qwen2_5_vl_vision")
def qwen2_5_vl_vision(c: Config) -> Architecture:
    """RMSNorm, a gated feed-forward block, and windows in all layers but those of fullatt_block_indexes.

    Source: transformers, models/qwen2_5_vl/modeling_qwen2_5_vl.py (Qwen2_5_VisionTransformerPretrainedModel).
    """
    d = size(c, "hidden_size")
    return _windowed(c, lambda kind: _fused(c, d, chunk=_chunk(c, kind)))


@family("qwen2_5_omni_vision_encoder")
def qwen2_5_omni_vision(c: Config) -> Architecture:
    """Qwen2.5-VL's tower with queries, keys and values in matrices of their own.

    Source: transformers, models/qwen2_5_omni/modeling_qwen2_5_omni.py (Qwen2_5OmniVisionEncoder).
    """
    d, names = size(c, "hidden_size"), ("q", "k", "v", "proj")
    return _windowed(
        c,
        lambda kind: square_attention(
            d, c.num_heads, name="attn", names=names, position="rope", rotary=_rotary(c, d), chunk=_chunk(c, kind)
        ),
    )


@family("exaone4_5_vision")
def exaone4_5_vision(c: Config) -> Architecture:
    """Qwen2.5-VL's tower with grouped keys and values.

    Source: transformers, models/exaone4_5/modeling_exaone4_5.py (Exaone4_5_VisionModel).
    """
    d, width = size(c, "hidden_size"), c.hidden_size // c.num_heads

    def attend(kind: Hashable) -> Attention:
        made = attention(
            c,
            name="attn",
            fused="qkv",
            names=("", "", "", "proj"),
            bias=True,
            num_heads=c.num_heads,
            num_kv_heads=c.num_key_value_heads,
            head_dim=width,
            causal=False,
            cache=False,
            rotary=_rotary(c, d),
            chunk=_chunk(c, kind),
        )
        # The output matrix is hidden by hidden, whatever the heads add up to.
        return replace(made, parts=(*made.parts[:-1], linear("proj", d, d, True, role="o", fields=made.fields)))

    return _windowed(c, attend)


@family("qwen3_vl_vision", "qwen3_vl_moe_vision", "cohere_compass_vision")
def qwen3_vl_vision(c: Config) -> Architecture:
    """LayerNorm, learned positions beside the rotary ones, and a merger for each of deepstack_visual_indexes.

    Source: transformers, models/qwen3_vl/modeling_qwen3_vl.py (Qwen3VLVisionModel).
    """
    return _with_positions(c, *_deepstack(c, "deepstack_merger_list", "norm", LINEARS))


@family("qwen3_5_vision", "qwen3_5_moe_vision", "qwen4_exp_vision")
def qwen3_5_vision(c: Config) -> Architecture:
    """Qwen3-VL's tower with one merger.

    Source: transformers, models/qwen3_5/modeling_qwen3_5.py (Qwen3_5VisionModel).
    """
    return _with_positions(c)


@family("qwen3_omni_moe_vision_encoder")
def qwen3_omni_vision(c: Config) -> Architecture:
    """Qwen3-VL's tower with Qwen2-VL's names in the mergers.

    Source: transformers, models/qwen3_omni_moe/modeling_qwen3_omni_moe.py (Qwen3OmniMoeVisionEncoder).
    """
    side = _deepstack(c, "merger_list", "ln_q", GELU_MLP)
    return _with_positions(c, *side, norm="ln_q", names=GELU_MLP, classes=("Qwen3OmniMoeVisionEncoder",))


@family("ernie4_5_vl_moe_vision")
def ernie_vision(c: Config) -> Architecture:
    """Qwen2-VL's layers over flat patches; a norm at the end, the merger is part of the whole model.

    Source: transformers, models/ernie4_5_vl_moe/modeling_ernie4_5_vl_moe.py.
    """
    d = size(c, "hidden_size")
    patches = patch_embedding(
        "patch_embed", c.in_channels, d, sides(c.patch_size), projection="proj", bias=False, flat=True
    )
    ffn = feed_forward(c, d, c.intermediate_size)
    names = ("Ernie4_5_VLMoeVisionTransformerPretrainedModel", "Ernie4_5_VL_MoeVisionTransformerPretrainedModel")
    return tower_model(c, d, patches, _blocks(c, d, _fused(c, d), ffn), layer_norm("ln", d), classes=names)


def _windowed(c: Config, attend: Callable[[Hashable], Attention]) -> Architecture:
    """Qwen2.5-VL's tower around an attention."""
    d, m = size(c, "hidden_size"), size(c, "intermediate_size")
    whole = set(c.fullatt_block_indexes)
    kinds = ["full" if index in whole else "window" for index in range(c.depth)]
    ffn = gated_mlp(d, m, c.hidden_act, bias=True)
    return tower_model(
        c,
        d,
        _patches(c, d, bias=False),
        _blocks(c, d, attend, ffn, rms_norm, kinds),
        _merger(c, "merger", d, c.out_hidden_size, rms_norm, "ln_q", GELU_MLP),
        classes=("Qwen2_5OmniVisionEncoder",),
    )


def _with_positions(
    c: Config,
    *side: Block,
    norm: str = "norm",
    names: tuple[str, str] = LINEARS,
    classes: tuple[str, ...] = (),
) -> Architecture:
    """Qwen3-VL's tower with further mergers beside the last one."""
    d, positions = size(c, "hidden_size"), size(c, "num_position_embeddings")
    ffn = feed_forward(c, d, size(c, "intermediate_size"), names=LINEARS)
    return tower_model(
        c,
        d,
        _patches(c, d, bias=True),
        embedding("pos_embed", positions, d, of="position", role="side positions"),
        _blocks(c, d, _fused(c, d), ffn),
        _merger(c, "merger", d, c.out_hidden_size, layer_norm, norm, names),
        *side,
        classes=classes,
    )


def _patches(c: Config, d: int, bias: bool) -> PatchEmbedding:
    patch = (c.temporal_patch_size, *sides(c.patch_size))
    return patch_embedding("patch_embed", c.in_channels, d, patch, projection="proj", bias=bias)


def _blocks(
    c: Config,
    d: int,
    attend: Callable[[Hashable], Attention] | Attention,
    ffn: Mlp,
    norm: Callable[..., Norm] = layer_norm,
    kinds: Sequence[Hashable] | None = None,
) -> Block:
    return layers("blocks", c.depth, d, attend, ffn, norm=norm, norms=("norm1", "norm2"), eps=1e-6, kinds=kinds)


def _fused(c: Config, d: int, chunk: int | None = None) -> Attention:
    return square_attention(
        d,
        c.num_heads,
        name="attn",
        names=("", "", "", "proj"),
        fused="qkv",
        position="rope",
        rotary=_rotary(c, d),
        chunk=chunk,
    )


def _rotary(c: Config, d: int) -> Rope | None:
    """Rows turn one half of a head, columns the other."""
    return rope(c, dim=int(d // c.num_heads))


def _chunk(c: Config, kind: Hashable) -> int | None:
    """Patches that see each other in a layer with windows: whole merged patches; window_size is in pixels."""
    side = c.window_size // c.spatial_merge_size // c.patch_size
    return (side * c.spatial_merge_size) ** 2 if kind == "window" else None


def _merger(
    c: Config,
    name: str,
    d: int,
    out: int,
    norm: Callable[..., Norm],
    norm_name: str,
    names: tuple[str, str],
    *,
    late: bool = False,
) -> Projector:
    """Squares of patches side by side through two matrices; the norm comes before they are joined, or `late`."""
    joined = d * c.spatial_merge_size**2
    together = regroup("patch merge", d, joined)
    before = (together, norm(norm_name, joined)) if late else (norm(norm_name, d), together)
    up, down = linear(names[0], joined, joined, True), linear(names[1], joined, Size(out, "d_text"), True)
    return projector(name, d, out, *before, up, down)


def _deepstack(c: Config, name: str, norm: str, names: tuple[str, str]) -> tuple[Block, ...]:
    """A merger for each layer whose features go into the text's first layers (DeepStack, arXiv 2406.04334)."""
    part = _merger(c, "", c.hidden_size, c.out_hidden_size, layer_norm, norm, names, late=True)
    return (repeated(name, len(c.deepstack_visual_indexes), part, role="side mergers"),)
