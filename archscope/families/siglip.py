"""SigLIP's vision tower and its kin: a pre-norm encoder over image patches, mostly without a class token."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.attention import Position, Rope
from archscope.blocks.base import Block, Group, group, weight
from archscope.blocks.factories import attention, num_labels, rope, size
from archscope.blocks.leaves import embedding, layer_norm, linear, regroup
from archscope.blocks.mlp import Mlp
from archscope.blocks.patches import PatchEmbedding, patch_embedding, position_weight, sides
from archscope.blocks.repeated import repeated
from archscope.blocks.size import Size
from archscope.blocks.skeletons import head
from archscope.blocks.towers import (
    QUERY_KEY_VALUE_OUT,
    attention_pooling,
    feed_forward,
    is_mounted,
    layers,
    square_attention,
    tower_model,
)
from archscope.config import Config
from archscope.families.registry import family, tower


@family("siglip_vision_model")
def siglip_vision(c: Config) -> Architecture:
    """Patches and learned positions, pre-norm layers with biases, a pooling head where vision_use_head is true.

    Source: transformers, models/siglip/modeling_siglip.py (SiglipVisionModel).
    """
    return _encoder(c, _patches(c), _pooling(c) if c.vision_use_head else None)


@family("siglip_text_model", "siglip2_text_model")
def siglip_text(c: Config) -> Architecture:
    """The same layers over tokens, of which the last one's state passes a matrix.

    Source: transformers, models/siglip/modeling_siglip.py, models/siglip2/modeling_siglip2.py.
    """
    d = size(c, "hidden_size")
    tokens = embedding("embeddings.token_embedding", size(c, "vocab_size"), d, role="embedding")
    positions = embedding(
        "embeddings.position_embedding", c.max_position_embeddings, d, of="position", role="embedding"
    )
    attend = square_attention(d, c.num_attention_heads)
    return tower_model(
        c,
        d,
        tokens,
        positions,
        layers("encoder.layers", c.num_hidden_layers, d, attend, _mlp(c), eps=c.layer_norm_eps),
        layer_norm("final_layer_norm", d, eps=c.layer_norm_eps),
        linear("head", d, c.projection_size, True, role="pooling"),
        tower="text",
        classes=("SiglipTextModel", "Siglip2TextModel"),
    )


@family("siglip", "siglip2")
def siglip(c: Config) -> Architecture:
    """Both towers under a scale and a bias; the class for image classification has one tower and a classifier.

    Source: SigLIP (arXiv 2303.15343); transformers, models/siglip/modeling_siglip.py,
    models/siglip2/modeling_siglip2.py.
    """
    vision = c.sub("vision_config")
    seeing = tower(vision, "vision_model", "vision")
    if c.task == "image_classification":
        labels = num_labels(c)
        classifier = linear("classifier", vision.hidden_size, labels, True, role="logits")
        return Architecture(parts=(seeing, head(c.task, classifier)) if labels else (seeing,))
    parts = (tower(c.sub("text_config"), "text_model"), seeing, weight("logit_scale", 1), weight("logit_bias", 1))
    return Architecture(parts=parts, partial="" if c.task == "model" else f"what {c.model_class} builds is not known")


@family("phi4_multimodal_vision")
def phi4_multimodal_vision(c: Config) -> Architecture:
    """SigLIP's tower, always with the pooling head.

    Source: transformers, models/phi4_multimodal/modeling_phi4_multimodal.py (Phi4MultimodalVisionModel).
    """
    return _encoder(c, _patches(c), _pooling(c))


@family("siglip2_vision_model")
def siglip2_vision(c: Config) -> Architecture:
    """SigLIP's tower for any aspect ratio: flat patches, num_patches positions that are resized to the image.

    Source: transformers, models/siglip2/modeling_siglip2.py (Siglip2VisionModel).
    """
    return _encoder(c, _flat_patches(c), _pooling(c) if c.vision_use_head else None)


@family("cosmos3_edge_vision")
def cosmos3_edge_vision(c: Config) -> Architecture:
    """SigLIP 2's tower without the pooling head.

    Source: transformers, models/cosmos3_edge/modeling_cosmos3_edge.py (Cosmos3EdgeVisionModel); inside the whole model
    its names follow those of the text tower (conversion_mapping.py).
    """
    if not is_mounted(c):
        return _encoder(c, _flat_patches(c))
    names = ("to_q", "to_k", "to_v", "out_proj")
    return _encoder(c, _flat_patches(c), names=names, mlp_names=("up_proj", "down_proj"))


@family("idefics2_vision", "idefics3_vision", "smolvlm_vision")
def idefics_vision(c: Config) -> Architecture:
    """SigLIP's tower without the pooling head.

    Source: transformers, models/idefics2/modeling_idefics2.py, models/idefics3/modeling_idefics3.py.
    """
    return _encoder(c, _patches(c))


@family("video_llama_3_vision")
def video_llama_3_vision(c: Config) -> Architecture:
    """SigLIP's layers with axial rotary positions in place of the learned ones.

    Source: transformers, models/video_llama_3/modeling_video_llama_3.py (VideoLlama3VisionModel).
    """
    d = size(c, "hidden_size")
    patches = patch_embedding("embeddings", c.num_channels, d, sides(c.patch_size))
    return _encoder(c, patches, rotary=_axial(c))


@family("paddleocr_vl_vision")
def paddleocr_vl_vision(c: Config) -> Architecture:
    """SigLIP's tower with learned and axial rotary positions, one level deeper in the names.

    Source: transformers, models/paddleocr_vl/modeling_paddleocr_vl.py (PaddleOCRVisionModel).
    """
    return _encoder(c, _patches(c, "vision_model."), rotary=_axial(c), prefix="vision_model.")


@family("minicpm_ocr_vision", "minicpmv4_6_vision", "minicpmv4_7_vision")
def minicpm_vision(c: Config) -> Architecture:
    """SigLIP's tower; between two layers, windows of patches attend among themselves and become one.

    Source: transformers, models/minicpmv4_6/modeling_minicpmv4_6.py (MiniCPMV4_6ViTWindowAttentionMerger).
    """
    d = size(c, "hidden_size")
    rows, columns = c.window_kernel_size
    joined, width = d * rows * columns, c.intermediate_size * rows * columns
    merger = group(
        "vit_merger",
        layer_norm("layer_norm1", d, eps=c.layer_norm_eps),
        square_attention(d, c.num_attention_heads, chunk=rows * columns, position="none"),
        regroup("patch merge", d, joined),
        layer_norm("pre_norm", joined, eps=c.layer_norm_eps),
        linear("linear_1", joined, width, True, role="up"),
        linear("linear_2", width, d, True, role="down"),
        role="side merger",
    )
    return _encoder(c, _patches(c), merger)


@family("granite_docling_vision")
def granite_docling_vision(c: Config) -> Architecture:
    """SigLIP's tower with its way into the text: a coarse grid of patches, and a fine one where use_fine_route is true.

    Source: transformers, models/granite_docling/modeling_granite_docling.py (GraniteDoclingConnector).
    """
    d, out = size(c, "hidden_size"), Size(c.out_hidden_size, "d_text")
    connector = group(
        "connector",
        layer_norm("ln_in", d),
        _route(c, "coarse", c.scale_factor),
        _route(c, "fine", c.scale_factor // 2) if c.use_fine_route else None,
        layer_norm("ln_mid", out),
        linear("mlp_fc2", out, out),
        layer_norm("ln_out", out),
        role="side connector",
    )
    return _encoder(c, _patches(c), connector)


@family("molmo2_vision")
def molmo2_vision(c: Config) -> Architecture:
    """Flat patches, learned positions in a bare tensor, grouped keys and values where the config asks for them.

    Source: transformers, models/molmo2/modeling_molmo2.py (Molmo2VisionModel); inside the whole model the names are
    those of its first release (conversion_mapping.py).
    """
    d, first = size(c, "hidden_size"), is_mounted(c)
    patches = patch_embedding(
        "",
        c.num_channels,
        d,
        sides(c.patch_size),
        projection="patch_embedding",
        flat=True,
        positions=c.num_position_embeddings,
        position=position_weight("positional_embedding", c.num_position_embeddings, d),
    )
    attend = attention(
        c,
        name="attention" if first else "self_attn",
        names=("wq", "wk", "wv", "wo") if first else ("q_proj", "k_proj", "v_proj", "o_proj"),
        bias=c.attention_bias,
        causal=False,
        cache=False,
        position="learned",
    )
    layered = layers(
        "transformer.resblocks" if first else "layers",
        c.num_hidden_layers,
        d,
        attend,
        _mlp(c, "feed_forward", ("w1", "w2")) if first else _mlp(c),
        norms=("attention_norm", "ffn_norm") if first else ("layer_norm1", "layer_norm2"),
        eps=c.layer_norm_eps,
    )
    return tower_model(c, d, patches, layered)


def _encoder(
    c: Config,
    patches: PatchEmbedding,
    *after: Block | None,
    rotary: Rope | None = None,
    prefix: str = "",
    names: tuple[str, str, str, str] = QUERY_KEY_VALUE_OUT,
    mlp_names: tuple[str, str] = ("fc1", "fc2"),
) -> Architecture:
    """The patches, equal pre-norm layers, a last norm, and what follows it."""
    d = size(c, "hidden_size")
    position: Position = "rope" if rotary else "learned"
    attend = square_attention(d, c.num_attention_heads, names=names, position=position, rotary=rotary)
    ffn = _mlp(c, names=mlp_names)
    layered = layers(f"{prefix}encoder.layers", c.num_hidden_layers, d, attend, ffn, eps=c.layer_norm_eps)
    last = layer_norm(f"{prefix}post_layernorm", d, eps=c.layer_norm_eps)
    return tower_model(c, d, patches, layered, last, *after)


def _patches(c: Config, prefix: str = "") -> PatchEmbedding:
    positions = (c.image_size // c.patch_size) ** 2
    d = size(c, "hidden_size")
    return patch_embedding(f"{prefix}embeddings", c.num_channels, d, sides(c.patch_size), positions=positions)


def _flat_patches(c: Config) -> PatchEmbedding:
    d = size(c, "hidden_size")
    return patch_embedding(
        "embeddings", c.num_channels, d, sides(c.patch_size), flat=True, positions=size(c, "num_patches")
    )


def _mlp(c: Config, name: str = "mlp", names: tuple[str, str] = ("fc1", "fc2")) -> Mlp:
    return feed_forward(c, size(c, "hidden_size"), c.intermediate_size, name=name, names=names)


def _pooling(c: Config) -> Group:
    return attention_pooling(size(c, "hidden_size"), c.num_attention_heads, size(c, "intermediate_size"), c.hidden_act)


def _axial(c: Config) -> Rope | None:
    return rope(c, dim=c.hidden_size // c.num_attention_heads)


def _route(c: Config, name: str, scale: int) -> Group:
    """One resolution of the connector. Source: GraniteDoclingConnectorPath, its positions are sines and cosines."""
    d, out = size(c, "hidden_size"), Size(c.out_hidden_size, "d_text")
    joined = d * scale**2
    merger = group(
        "",
        layer_norm("layer_norm", joined),
        linear("linear_1", joined, out, True),
        linear("linear_2", out, out, True),
    )
    return group(
        name,
        regroup("patch merge", d, joined),
        linear("projection", joined, out),
        repeated("deepstack_mergers", len(c.deepstack_visual_indexes), merger, role="side mergers"),
        role="side fine" if name == "fine" else "",
    )
