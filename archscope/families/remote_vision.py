"""Remote code that reads images: MiniCPM-V, Phi-3-vision, Molmo."""

from __future__ import annotations

from dataclasses import replace

from archscope.blocks.assembly import Architecture, Tower, pre_norm
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, Group, join, weight
from archscope.blocks.factories import attention, mlp, named_norm, size
from archscope.blocks.leaves import layer_norm, linear, regroup
from archscope.blocks.patches import class_token, patch_embedding, position_weight
from archscope.blocks.projectors import Projector, gated_bridge, mlp_projector, projector
from archscope.blocks.renaming import rooted
from archscope.blocks.resampler import resampler
from archscope.blocks.size import Size
from archscope.blocks.skeletons import decoder, vocabulary_head
from archscope.blocks.towers import feed_forward, layers, square_attention
from archscope.blocks.undeclared import completed_decoder, first, flag, part_of
from archscope.config import Config, read_as, resolve
from archscope.families.registry import build_as, family, tower

TIMM = {"vit_so400m_patch14_siglip_384.webli": (1152, 27, 16, 4304, 14, 27)}
"""Width, layers, heads, width inside, patch and patches a side of the towers that MiniCPM-V 2 names."""
TEXT_TYPES = {2.6: "qwen2", 4.5: "qwen3"}
"""What the text part of a version of MiniCPM-V is; that of others has Llama's names."""
CLIP_WIDTH = 1024
CLIP_LARGE = {
    "model_type": "clip_vision_model",
    "hidden_size": CLIP_WIDTH,
    "intermediate_size": 4096,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "image_size": 336,
    "patch_size": 14,
}
MOLMO_LAYERS, MOLMO_PATCHES, MOLMO_JOINED = 23, 577, 2
"""Layers of Molmo's tower that are kept, its positions, and how many layers' outputs are put side by side."""


@family("minicpmv")
def minicpmv(c: Config) -> Architecture:
    """A SigLIP tower, a resampler with a bare matrix after it, and a language model of the version's own.

    Source: openbmb/MiniCPM-V-2, MiniCPM-V-2_6, MiniCPM-V-4 (modeling_minicpmv.py, resampler.py, index of the weights).
    """
    text = build_as(c.as_task("causal_lm"), TEXT_TYPES.get(first(c, "version", default=0), "llama"))
    looking, width = _siglip(c)
    d, queries = size(c, "hidden_size"), first(c, "query_num", default=64)
    after = (layer_norm("ln_post", d), weight("proj", d, d, role="proj"))
    early = part_of(c, "vision_config") is None
    pooled = resampler("resampler", width, d, queries=queries, num_heads=max(1, d // 128), after=after, positions=early)
    answering = tuple(replace(rooted(one, "llm"), name=join("llm", one.name)) for one in text.parts)
    tied = tuple((f"llm.{name}", f"llm.{saved}") for name, saved in text.tied)
    return Architecture(parts=(looking, pooled, *answering), tied=tied)


def _siglip(c: Config) -> tuple[Block, int]:
    """The tower and its width: described in vision_config, or known by a name of timm's."""
    fewer = int(flag(c, "drop_vision_last_layer"))
    seeing = part_of(c, "vision_config")
    if seeing is None:
        return _timm(c, fewer)
    count = seeing.raw.get("num_hidden_layers", 12) - fewer
    v = read_as(seeing, "siglip_vision_model", vision_use_head=False, num_hidden_layers=count)
    return tower(v, "vpm", "vision"), size(v, "hidden_size")


def _timm(c: Config, fewer: int) -> tuple[Block, int]:
    width, count, heads, inner, patch, side = TIMM[str(c.get("vision_encoder"))]
    d = Size(width, "d_vision")
    mixer = square_attention(d, heads, name="attn", names=("", "", "", "proj"), fused="qkv")
    stem = patch_embedding(
        "",
        3,
        d,
        (patch, patch),
        projection="patch_embed.proj",
        positions=side**2,
        position=position_weight("pos_embed", 1, side**2, d),
    )
    blocks = layers("blocks", count - fewer, d, mixer, feed_forward(c, d, inner), norms=("norm1", "norm2"))
    return Tower(name="vpm", parts=(stem, blocks, layer_norm("norm", d)), tower="vision", model_type="siglip"), d


@family("phi3_v")
def phi3_v(c: Config) -> Architecture:
    """Phi-3 beside a CLIP tower of fixed size, whose patches are joined by fours and projected; two learned separators.

    Source: microsoft/Phi-3.5-vision-instruct (modeling_phi3_v.py, image_embedding_phi3_v.py).
    """
    text = build_as(c.as_task("model" if c.task == "model" else "causal_lm"), "phi3")
    at = "vision_embed_tokens" if c.task == "model" else "model.vision_embed_tokens"
    seeing = tower(resolve(CLIP_LARGE), f"{at}.img_processor.vision_model", "vision")
    d, given = size(c, "hidden_size"), c.get("img_processor")
    width = given.get("image_dim_out", 1024) if isinstance(given, dict) else 1024
    joined = 4 * width
    bridge = mlp_projector(
        at,
        width,
        d,
        inputs=joined,
        names=("img_projection.0", "img_projection.2"),
        before=(
            weight("glb_GN", 1, 1, joined, role="side separator"),
            weight("sub_GN", 1, 1, 1, joined, role="side separator"),
            regroup("patch merge", width, joined),
        ),
    )
    return replace(text, parts=(seeing, bridge, *text.parts))


@family("molmo")
def molmo(c: Config) -> Architecture:
    """OLMo's names around a layer with one matrix for queries, keys and values and one for gate and up.

    The tower is CLIP's, of fixed size; two of its layers are joined, pooled by attention and projected by a gated block.
    Source: allenai/Molmo-7B-D-0924 (modeling_molmo.py, config_molmo.py, index of the weights); arXiv 2409.17146.
    """
    c = completed_decoder(c, hidden_act="silu")
    d, rows = size(c, "hidden_size"), Size(first(c, "embedding_size", "vocab_size"), "V")
    norm = named_norm(c, "rms" if first(c, "layer_norm_type", default="rms") == "rms" else "layer")
    at = "" if c.task == "model" else "model."
    text = decoder(
        c,
        lambda kind: pre_norm((norm("attn_norm"), _molmo_attention(c)), (norm("ff_norm"), _molmo_mlp(c))),
        kinds=("",) * c.num_hidden_layers,
        layers="blocks",
        final_norm=norm("ln_f"),
        vocabulary=rows,
    )
    tables = Group(
        name="wte",
        role="embedding",
        parts=(weight("embedding", rows, d), weight("new_embedding", 128, d)),
    )
    text = replace(text, name=f"{at}transformer", parts=(tables, *text.parts[1:]))
    parts = (*_molmo_vision(c, f"{at}vision_backbone"), text)
    if c.task == "model" or flag(c, "weight_tying"):
        return Architecture(parts=parts)
    return Architecture(parts=(*parts, vocabulary_head(c, d, f"{at}transformer.ff_out", vocabulary=rows)))


def _molmo_attention(c: Config) -> Attention:
    made = attention(
        c,
        name="",
        names=("", "", "", "attn_out"),
        fused="att_proj",
        bias=flag(c, "qkv_bias"),
        out_bias=False,
        qk_norm="full" if flag(c, "attention_layer_norm") else "",
    )
    return replace(made, role="attention")


def _molmo_mlp(c: Config) -> Block:
    width = Size(c.intermediate_size // 2, "m/2")
    return mlp(c, name="", kind="fused", names=("ff_proj", "ff_out"), width=width)


def _molmo_vision(c: Config, at: str) -> tuple[Tower, Projector]:
    d, target = Size(CLIP_WIDTH, "d_vision"), size(c, "hidden_size")
    joined = d * MOLMO_JOINED
    mixer = square_attention(d, 16, name="attention", names=("wq", "wk", "wv", "wo"))
    stem = patch_embedding(
        "",
        3,
        d,
        (14, 14),
        flat=True,
        bias=False,
        token=class_token("class_embedding", d),
        positions=MOLMO_PATCHES,
        position=position_weight("positional_embedding", MOLMO_PATCHES, d),
        norm=layer_norm("pre_ln", d, role="norm"),
    )
    inner = feed_forward(c, d, 4096, name="feed_forward", names=("w1", "w2"))
    norms = ("attention_norm", "ffn_norm")
    blocks = layers("transformer.resblocks", MOLMO_LAYERS, d, mixer, inner, norms=norms)
    seeing = Tower(name=f"{at}.image_vit", parts=(stem, blocks), tower="vision", model_type="clip", width=d)
    pooling = square_attention(d, 16, name="image_pooling_2d", position="none", memory=joined)
    streams = (("wq", "q"), ("wk", "k"), ("wv", "v"), ("wo", "o"))
    pooling = replace(
        pooling,
        role="side pooling",
        parts=tuple(linear(name, d if role == "o" else joined, d, True, role=role) for name, role in streams),
    )
    bridge = projector(
        at,
        d,
        target,
        weight("pad_embed", 2, joined, role="side padding"),
        pooling,
        gated_bridge(d, c.intermediate_size // 2, target, name="image_projector", names=("w1", "w3", "w2")),
    )
    return seeing, bridge
