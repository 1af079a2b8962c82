"""The InternVL lineage: patches folded into channels, a norm and two matrices into any text tower."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.composites import FLAT, Mount, assemble
from archscope.blocks.factories import size
from archscope.blocks.leaves import layer_norm, regroup
from archscope.blocks.projectors import Projector, mlp_projector
from archscope.blocks.renaming import renamed
from archscope.config import Config
from archscope.families.registry import family, tower


@family("internvl")
def internvl(c: Config) -> Architecture:
    """Pixel shuffle by 1 / downsample_ratio, then norm and projector.

    Source: transformers, models/internvl/modeling_internvl.py (InternVLMultiModalProjector).
    """
    text, vision = c.sub("text_config"), c.sub("vision_config")
    seeing = tower(vision, "vision_tower", "vision")
    return assemble(c, FLAT, tower(text, FLAT.text), seeing, _projector(c), text_config=text)


@family("qianfan_ocr")
def qianfan_ocr(c: Config) -> Architecture:
    """InternVL's parts under the names of the first InternVL checkpoints; even the text layers are renamed on saving.

    Source: transformers, models/qianfan_ocr/modeling_qianfan_ocr.py; conversion_mapping.py.
    """
    text, vision, bare = c.sub("text_config"), c.sub("vision_config"), c.task == "model"
    at = Mount("", "language_model", "lm_head") if bare else FLAT
    bridge = _projector(c) if bare else _projector(c, "mlp1", "0", ("1", "3"))
    seeing = tower(vision, "vision_tower" if bare else "vision_model", "vision")
    reading = renamed(tower(text, at.text), _encoded)
    return assemble(c, at, reading, seeing, bridge, text_config=text)


def _encoded(around: str, name: str) -> str:
    return f"{name.removesuffix('layers')}encoder.layers" if name.rpartition(".")[2] == "layers" else name


def _projector(
    c: Config,
    name: str = "multi_modal_projector",
    norm: str = "layer_norm",
    names: tuple[str, str] = ("linear_1", "linear_2"),
) -> Projector:
    factor, d_v = int(1 / c.downsample_ratio), c.sub("vision_config").hidden_size
    folded = d_v * factor**2
    return mlp_projector(
        name,
        d_v,
        size(c.sub("text_config"), "hidden_size"),
        inputs=folded,
        names=names,
        before=(regroup("pixel shuffle", d_v, folded), layer_norm(norm, folded)),
        activation=c.projector_hidden_act,
        note=f"{factor} x {factor} patches to one token",
    )
