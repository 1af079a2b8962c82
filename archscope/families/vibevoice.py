"""VibeVoice: a decoder that speaks, whose states condition a small diffusion model over frames of sound."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Branch, Layer, Sublayer, Tower, stack
from archscope.blocks.base import Block, Group, weight
from archscope.blocks.factories import mlp, size
from archscope.blocks.joined import bundle
from archscope.blocks.leaves import Norm, linear, rms_norm
from archscope.blocks.projectors import plain_bridge, projector
from archscope.blocks.skeletons import tied_names, vocabulary_head
from archscope.config import Config
from archscope.families.registry import family, tower


@family("vibevoice")
def vibevoice(c: Config) -> Architecture:
    """Sound comes in as acoustic and as semantic frames, each through matrix, norm and matrix.

    Source: transformers, models/vibevoice/modeling_vibevoice.py (VibeVoiceForConditionalGeneration).
    """
    text, audio, meaning = c.sub("text_config"), c.sub("audio_config"), c.sub("semantic_model_config")
    bare, d = c.model_class == "VibeVoiceModel", size(text, "hidden_size")
    at = "" if bare else "model."
    factors = (weight(f"{at}{name}") for name in ("latent_scaling_factor", "latent_bias_factor"))
    parts: tuple[Block, ...] = (
        tower(audio, f"{at}audio_tower", "audio"),
        _bridge(f"{at}multi_modal_projector", audio.hidden_size, d),
        tower(meaning, f"{at}semantic_tokenizer_encoder", "audio"),
        _bridge(f"{at}semantic_connector", meaning.hidden_size, d),
        Group(name="", role="side latent scale", parts=tuple(factors)),
        tower(text, f"{at}language_model"),
        _diffusion(c.sub("diffusion_head_config"), f"{at}diffusion_head"),
    )
    if bare:
        return Architecture(parts=parts)
    table = f"{at}language_model.embed_tokens.weight" if c.get("tie_word_embeddings") else ""
    logits = vocabulary_head(text, d, tied_to=table)
    reason = "" if c.task else f"the head of {c.model_class or 'this class'} is not known"
    return Architecture(parts=(*parts, logits), tied=tied_names(logits, ""), partial=reason)


def _bridge(name: str, source: int, target: int) -> Block:
    first, norm, second = linear("linear_1", source, target, True), rms_norm("act", target, eps=1e-6), "linear_2"
    return projector(name, source, target, first, norm, linear(second, target, target, True))


def _diffusion(c: Config, name: str) -> Tower:
    """Layers without attention, whose norms take shift, scale and gate from step and condition.

    Source: DiT (arXiv 2212.09748); transformers, VibeVoiceDiffusionHead.
    """
    d, latent = size(c, "hidden_size"), c.latent_size
    plain = Norm(role="norm", size=d, kind="rms", affine=False, eps=c.rms_norm_eps)
    step = plain_bridge(
        c.frequency_embedding_size,
        d,
        d,
        name="timestep_proj",
        bias=False,
        names=("fc1", "fc2"),
        activation=c.hidden_act,
    )
    parts = (
        bundle("", linear("cond_proj", d, d), step, role="side condition"),
        linear("noisy_images_proj", latent, d),
        stack("layers", ("",) * c.num_hidden_layers, lambda kind: _layer(c), width=d),
        linear("final_layer.linear_1", d, 2 * d, role="side scale and shift"),
        plain,
        linear("final_layer.linear_2", d, latent),
    )
    return Tower(name=name, parts=parts, tower="audio", model_type=c.model_type, pointer=c.pointer, width=d)


def _layer(c: Config) -> Layer:
    d = size(c, "hidden_size")
    branch = Branch(pre=rms_norm("norm", d, eps=c.rms_norm_eps), body=mlp(c, name="ffn", bias=c.mlp_bias))
    return Layer(sublayers=(Sublayer(branches=(branch,)),), width=d, extras=(linear("linear", d, 3 * d),))
