"""CLAP: a Swin transformer over spectrograms and RoBERTa over captions, projected into one space."""

from __future__ import annotations

from dataclasses import replace

from archscope.blocks.assembly import Architecture, Stack, Tower, pre_norm, stack
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, Group, group, present, weight
from archscope.blocks.batch_norm import BatchNorm
from archscope.blocks.encoders import dense_layer, encoder, summed_tables
from archscope.blocks.factories import size
from archscope.blocks.leaves import conv, layer_norm, linear, regroup
from archscope.blocks.mlp import plain_mlp
from archscope.blocks.patches import sides
from archscope.blocks.towers import square_attention, tower_model
from archscope.config import Config
from archscope.families.registry import family, tower


@family("clap_audio_model")
def clap_audio(c: Config) -> Architecture:
    """Windows of patches in four stages, each half as fine and twice as wide; long clips are fused at the patches.

    Source: HTS-AT (arXiv 2202.00874); transformers, models/clap/modeling_clap.py (ClapAudioModel).
    """
    if c.model_class == "ClapAudioModelWithProjection":
        made = tower_model(c, _last(c), *_audio_parts(c, "audio_model.audio_encoder."), tower="audio")
        return replace(made, parts=(*made.parts, _projection(c, "audio_projection")), partial="")
    return tower_model(c, _last(c), *_audio_parts(c, "audio_encoder."), tower="audio")


@family("clap_text_model")
def clap_text(c: Config) -> Architecture:
    """RoBERTa with a pooler; its index buffers are saved.

    Source: transformers, models/clap/modeling_clap.py (ClapTextModel).
    """
    if c.model_class == "ClapTextModelWithProjection":
        return Architecture(parts=(_text_tower(c, "text_model"), _projection(c, "text_projection")))
    partial = "" if c.task == "model" else f"what {c.model_class} builds is not known"
    return Architecture(parts=(_text_tower(c, ""),), partial=partial)


@family("clap")
def clap(c: Config) -> Architecture:
    """Both towers, two matrices behind each, and a temperature for each direction.

    Source: CLAP (arXiv 2211.06687); transformers, models/clap/modeling_clap.py (ClapModel).
    """
    text, audio = c.sub("text_config"), c.sub("audio_config")
    parts = (
        tower(text, "text_model"),
        tower(audio, "audio_model", "audio"),
        _projection(text, "text_projection"),
        _projection(audio, "audio_projection"),
        weight("logit_scale_a"),
        weight("logit_scale_t"),
    )
    return Architecture(parts=parts, partial="" if c.task == "model" else f"what {c.model_class} builds is not known")


def _projection(c: Config, name: str) -> Group:
    d, out = c.hidden_size, c.projection_dim
    return group(name, linear("linear1", d, out, True), linear("linear2", out, out, True), role="projector")


def _text_tower(c: Config, name: str) -> Tower:
    d, positions = size(c, "hidden_size"), c.max_position_embeddings
    indexes = group(
        "embeddings",
        weight("position_ids", 1, positions, parameter=False),
        weight("token_type_ids", 1, positions, parameter=False),
        role="side indexes",
    )
    made = encoder(
        c,
        summed_tables(c),
        lambda kind: dense_layer(c),
        after=(linear("pooler.dense", d, d, True, role="pooler"), indexes),
    )
    return replace(made, name=name)


def _last(c: Config) -> int:
    return int(c.patch_embeds_hidden_size * 2 ** (len(c.depths) - 1))


def _audio_parts(c: Config, at: str) -> tuple[Block, ...]:
    first = c.patch_embeds_hidden_size
    stages = [part for index in range(len(c.depths)) for part in _stage(c, at, index)]
    return present(
        BatchNorm(name=f"{at}batch_norm", size=c.num_mel_bins, role="side norm"),
        _patches(c, f"{at}patch_embed"),
        *stages,
        layer_norm(f"{at}norm", first * 2 ** (len(c.depths) - 1)),
    )


def _patches(c: Config, name: str) -> Group:
    """A convolution, with a second one for the whole of a long clip and weights that fuse the two."""
    d, inputs, (rows, columns) = c.patch_embeds_hidden_size, c.patch_embed_input_channels, sides(c.patch_size)
    fused = bool(c.enable_fusion)
    wide = inputs * 4 if fused and c.fusion_type == "channel_map" else inputs
    inner = int(d // c.aff_block_r)
    fusion = (
        group("fusion_model", _gate("local_att", d, inner, 0), _gate("global_att", d, inner, 1), role="side fusion"),
        conv("mel_conv2d", inputs, d, rows, columns * 3, role="side whole clip"),
    )
    return group(
        name,
        conv("proj", wide, d, rows, columns),
        layer_norm("norm", d) if c.enable_patch_layer_norm else None,
        *(fusion if fused else ()),
        role="patch embedding",
    )


def _gate(name: str, channels: int, inner: int, first: int) -> Group:
    """Two convolutions of 1 by 1 with norms; `first` counts a pooling before them. Source: ClapAudioAFFBlock."""
    return group(
        name,
        conv(f"{first}", channels, inner, 1, 1),
        BatchNorm(name=f"{first + 1}", size=inner),
        conv(f"{first + 3}", inner, channels, 1, 1),
        BatchNorm(name=f"{first + 4}", size=channels),
    )


def _stage(c: Config, at: str, index: int) -> tuple[Block, ...]:
    d = c.patch_embeds_hidden_size * 2**index
    stride, grid = sides(c.patch_stride), sides(c.spec_size)
    resolution = min(side // step // 2**index for side, step in zip(grid, stride, strict=True))
    blocks = _blocks(c, f"{at}layers.{index}.blocks", d, index, min(c.window_size, resolution))
    if index == len(c.depths) - 1:
        return (blocks,)
    halved = group(
        f"{at}layers.{index}.downsample",
        regroup("patch merge", d, 4 * d),
        layer_norm("norm", 4 * d),
        linear("reduction", 4 * d, 2 * d),
    )
    return (blocks, halved)


def _blocks(c: Config, name: str, d: int, index: int, window: int) -> Stack:
    """Windows, every second layer shifted by half of one."""
    kinds = tuple("shifted" if layer % 2 else "" for layer in range(c.depths[index]))
    ffn = plain_mlp(d, int(c.mlp_ratio * d), c.hidden_act, name="", names=("intermediate.dense", "output.dense"))
    eps = c.layer_norm_eps
    return stack(
        name,
        kinds,
        lambda kind: pre_norm(
            (layer_norm("layernorm_before", d, eps=eps), _attention(c, d, index, window)),
            (layer_norm("layernorm_after", d, eps=eps), ffn),
        ),
        width=d,
    )


def _attention(c: Config, d: int, index: int, window: int) -> Attention:
    heads, reach = c.num_attention_heads[index], 2 * c.window_size - 1
    return square_attention(
        d,
        heads,
        name="attention",
        names=("self.query", "self.key", "self.value", "output.dense"),
        inner=d // heads * heads,
        bias=bool(c.qkv_bias),
        out_bias=True,
        extras=(
            weight("self.relative_position_bias_table", reach * reach, heads, role="bias"),
            weight("self.relative_position_index", c.window_size**2, c.window_size**2, parameter=False),
        ),
        position="relative",
        chunk=window**2,
        fields=("num_attention_heads", "patch_embeds_hidden_size", "window_size"),
    )
