"""DeepSeek-OCR 2's vision tower: SAM's encoder, then a small language model that reads it with learned queries."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Stack
from archscope.blocks.factories import attention, kinds, mlp, size, sliding_window
from archscope.blocks.leaves import embedding, rms_norm
from archscope.blocks.towers import is_mounted, layers, tower_model
from archscope.config import Config
from archscope.families.registry import family, tower

QUERIES = (("768", 144), ("1024", 256))
"""Side of an image and how many queries read it."""


@family("deepseek_ocr2_encoder")
def deepseek_ocr2_encoder(c: Config) -> Architecture:
    """Qwen2's layers without a table of tokens, over patches and queries.

    Source: transformers, models/deepseek_ocr2/modeling_deepseek_ocr2.py (DeepseekOcr2VisionEncoder).
    """
    d = size(c, "hidden_size")
    return tower_model(
        c, d, _layers(c), rms_norm("norm", d, eps=c.rms_norm_eps), classes=("DeepseekOcr2VisionEncoder",)
    )


@family("deepseek_ocr2_vision")
def deepseek_ocr2_vision(c: Config) -> Architecture:
    """SAM's encoder, the encoder over its features, and a table of queries for each size of image.

    Source: transformers, models/deepseek_ocr2/modeling_deepseek_ocr2.py (DeepseekOcr2VisionModel); inside the whole
    model the names are those of its first release (conversion_mapping.py).
    """
    first = is_mounted(c)
    inner = c.sub("encoder_config")
    d = inner.hidden_size
    at, end = ("qwen2_model.", "") if first else ("", "_resolution")
    queries = (
        embedding(f"{at}query_{side}{end}", count, d, of="query", role="side queries") for side, count in QUERIES
    )
    return tower_model(
        c,
        d,
        tower(c.sub("sam_config"), "sam_model" if first else "sam_encoder", "vision", native=not first),
        tower(inner, "qwen2_model.model.model" if first else "vision_encoder", "vision", native=not first),
        *queries,
        classes=("DeepseekOcr2VisionModel",),
    )


def _layers(c: Config) -> Stack:
    d = size(c, "hidden_size")
    return layers(
        "layers",
        c.num_hidden_layers,
        d,
        lambda kind: attention(c, bias=True, out_bias=False, causal=False, cache=False, window=sliding_window(c, kind)),
        mlp(c),
        norm=rms_norm,
        norms=("input_layernorm", "post_attention_layernorm"),
        eps=c.rms_norm_eps,
        kinds=kinds(c, "layer_types"),
    )
