"""GOT-OCR 2: a SAM encoder's feature map, sampled down by two convolutions into a Qwen2 text tower."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.composites import FLAT, assemble
from archscope.blocks.factories import size
from archscope.blocks.leaves import conv, linear
from archscope.blocks.projectors import projector
from archscope.config import Config
from archscope.families.registry import family, tower


@family("got_ocr2", "pp_chart2table")
def got_ocr2(c: Config) -> Architecture:
    """Two strided convolutions and a matrix between encoder and text.

    Source: transformers, models/got_ocr2/modeling_got_ocr2.py (GotOcr2MultiModalProjector).
    """
    text, vision = c.sub("text_config"), c.sub("vision_config")
    d, channels = size(text, "hidden_size"), vision.output_channels
    bridge = projector(
        "multi_modal_projector",
        channels,
        d,
        conv("conv_upsampler1", channels, channels * 2, 3, 3, bias=False),
        conv("conv_upsampler2", channels * 2, d, 3, 3, bias=False),
        linear("multimodal_projector", d, d, True),
    )
    seeing = tower(vision, "vision_tower", "vision")
    return assemble(c, FLAT, tower(text, FLAT.text), seeing, bridge, text_config=text)
