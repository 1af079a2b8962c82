"""Nemotron Omni: a Mamba-attention hybrid that sees by C-RADIO and hears by a FastConformer."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.base import Block
from archscope.blocks.factories import size
from archscope.blocks.leaves import layer_norm, regroup, rms_norm
from archscope.blocks.projectors import Projector, plain_bridge, projector
from archscope.blocks.skeletons import GENERATIVE_TASKS, tied_names
from archscope.config import Config
from archscope.families.registry import family, mounted, tower


@family("nemotron_h_omni")
def nemotron_h_omni(c: Config) -> Architecture:
    """A causal model as a whole beside its towers; patches folded into channels before a squared-ReLU projector.

    Source: transformers, models/nemotron_h_omni/modeling_nemotron_h_omni.py; conversion_mapping.py.
    """
    text, vision, audio = c.sub("text_config"), c.sub("vision_config"), c.subs.get("audio_config")
    d, d_v, factor = size(text, "hidden_size"), c.vision_hidden_size, int(1 / c.downsample_ratio)
    folded = d_v * factor**2
    seeing: list[Block] = [tower(vision, "vision_model", "vision")]
    if text.get("num_nextn_predict_layers"):
        seeing.append(layer_norm("vision_projector.vision_final_layernorm", d_v))
    shuffle, names = regroup("pixel shuffle", d_v, folded), ("0", "1", "3")
    seeing.append(_projector("mlp1", d_v, c.projector_hidden_size, d, names, before=(shuffle,), inputs=folded))
    hearing: tuple[Block, ...] = ()
    if audio is not None:
        width, own = audio.hidden_size, ("norm", "linear1", "linear2")
        bias, inner = audio.projection_bias, audio.projection_hidden_size
        hearing = (
            tower(audio, "sound_encoder.encoder", "audio"),
            _projector("sound_projection", width, inner, d, own, bias=bias),
        )
    reading = mounted(text.as_task("causal_lm"), "language_model")
    return Architecture(
        parts=(*seeing, *hearing, *reading),
        tied=tuple(pair for part in reading for pair in tied_names(part, "")),
        partial="" if c.task in GENERATIVE_TASKS else f"the head of {c.model_class or 'this class'} is not known",
    )


def _projector(
    name: str,
    source: int,
    hidden: int,
    target: int,
    names: tuple[str, str, str],
    *,
    before: tuple[Block, ...] = (),
    inputs: int | None = None,
    bias: bool = False,
) -> Projector:
    entering = source if inputs is None else inputs
    bridge = plain_bridge(entering, hidden, target, bias=bias, names=(names[1], names[2]), activation="relu2")
    return projector(name, source, target, *before, rms_norm(names[0], entering), bridge)
