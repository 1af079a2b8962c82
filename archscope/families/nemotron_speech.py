"""Nemotron Transcribe: a FastConformer's successor hears words and speakers, a hybrid of Mamba and attention writes."""

from __future__ import annotations

from dataclasses import replace

from archscope.blocks.assembly import Architecture
from archscope.blocks.base import Block, Group
from archscope.blocks.composites import Mount, assemble
from archscope.blocks.factories import size
from archscope.blocks.leaves import conv, linear
from archscope.blocks.projectors import projector
from archscope.blocks.renaming import Rule, renamed, renaming
from archscope.config import Config
from archscope.families.registry import family, tower

MIXER_NAMES = {name: f"_fp32_params.{name}" for name in ("A_log", "D", "dt_bias")}
TEXT_NAMES = {"embeddings": "embed_tokens", "norm_f": "norm"}
OWN_NAMES = {
    "encoder": "model.audio_tower",
    "sortformer_modules.encoder_proj": "model.proj",
    "sortformer_modules.subpixel_upsample": "model.upsampler.conv",
    "sortformer_modules.first_hidden_to_hidden": "classifier.dense",
    "sortformer_modules.single_hidden_to_spks": "classifier.out_proj",
    "sortformer_modules.learnable_sil_emb": "silence_embeds",
    "diar_norm": "speaker_norm",
    "upsample": "upsampler",
    **{f"transformer.{name}": name for name in ("embed_norm", "layers", "final_norm")},
}
"""What the base class leaves as transformers has it, beside the names of NeMo inside the encoders."""


@family("nemo_speechlm")
def nemo_speechlm(c: Config) -> Architecture:
    """Audio through one matrix into the text; beside them an encoder that finds the time of each word.

    Source: transformers, models/nemotron3_5_transcribe/modeling_nemotron3_5_transcribe.py; conversion_mapping.py.
    """
    bare, text, timing = c.task == "model", c.sub("text_config"), c.sub("word_timestamp_config")
    at = Mount("", "language_model" if bare else "llm.model", "llm.lm_head")
    hearing = tower(c.sub("audio_config"), "audio_tower" if bare else "perception.encoder", "audio")
    words = tower(timing, "word_timestamp_encoder" if bare else "ctc_timestamp.decoder", "audio")
    if bare:
        hearing, words = (renamed(part, renaming(OWN_NAMES)) for part in (hearing, words))
    d, width = size(text, "hidden_size"), c.sub("audio_config").hidden_size
    bridge = linear("multi_modal_projector" if bare else "perception.proj", width, d, True, role="projection")
    reading = renamed(tower(text, at.text), _text_rule(at.text, bare))
    side: tuple[Block, ...] = (replace(words, role="side timestamps"),)
    if not bare:
        times = conv("ctc_timestamp.decoder.decoder_layers.0", timing.hidden_size, timing.vocab_size, 1)
        side = (*side, Group(name="", role="side timestamp head", parts=(times,)))
    made = assemble(c, at, reading, hearing, projector("", width, d, bridge), *side, text_config=text, tie=False)
    if text.model_type == "nemotron_h":
        return made
    return replace(made, partial=f"the names of a {text.model_type} inside this model are not known")


def _text_rule(text: str, bare: bool) -> Rule:
    """NeMo keeps what it computes in float32 in a module of its own."""

    def rule(around: str, name: str) -> str:
        if around == "mixer":
            return MIXER_NAMES.get(name, name)
        return TEXT_NAMES.get(name, name) if around == text and not bare else name

    return rule
