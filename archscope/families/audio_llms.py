"""Text towers that listen: frames of an audio encoder through two matrices into the token stream."""

from __future__ import annotations

from dataclasses import replace

from archscope.blocks.assembly import Architecture, Layer, pre_norm
from archscope.blocks.base import Block, group
from archscope.blocks.composites import FLAT, Mount, assemble, nested
from archscope.blocks.factories import QUERY_KEY_VALUE_OUT, attention, mlp, named_norm, size
from archscope.blocks.joined import summed
from archscope.blocks.leaves import layer_norm, linear, regroup, rms_norm
from archscope.blocks.projectors import Projector, mlp_projector, plain_bridge, projector
from archscope.blocks.skeletons import decoder, with_head
from archscope.blocks.towers import feed_forward, layers, square_attention
from archscope.config import Config
from archscope.families.registry import family, tower


@family("qwen2_audio")
def qwen2_audio(c: Config) -> Architecture:
    """A Whisper encoder and one matrix; the head is never tied.

    Source: transformers, models/qwen2_audio/modeling_qwen2_audio.py (Qwen2AudioMultiModalProjector).
    """
    d, d_a = size(c.sub("text_config"), "hidden_size"), c.sub("audio_config").d_model
    bridge = projector("multi_modal_projector", d_a, d, linear("linear", d_a, d, True))
    return _listening(c, FLAT, bridge, tie=False)


@family("audioflamingo3", "musicflamingo")
def audioflamingo3(c: Config) -> Architecture:
    """Two matrices with optional biases; the head is never tied.

    Source: transformers, models/audioflamingo3/modeling_audioflamingo3.py, models/musicflamingo.
    """
    return _listening(c, FLAT, _projector(c, c.sub("audio_config").hidden_size, bias=c.projector_bias), tie=False)


@family("voxtral")
def voxtral(c: Config) -> Architecture:
    """Four frames side by side, as many as make the encoder's intermediate size; the head is never tied.

    Source: transformers, models/voxtral/modeling_voxtral.py (VoxtralMultiModalProjector, get_audio_features).
    """
    return _listening(c, FLAT, _projector(c, c.sub("audio_config").intermediate_size, bias=False), tie=False)


@family("voxtral_realtime")
def voxtral_realtime(c: Config) -> Architecture:
    """downsample_factor frames side by side; the text is told how much delay is wanted.

    Source: transformers, models/voxtral_realtime/modeling_voxtral_realtime.py.
    """
    joined, own = c.sub("audio_config").hidden_size * c.downsample_factor, c.sub("text_config").model_type
    made = _listening(c, FLAT, _projector(c, joined, bias=False))
    if own == "voxtral_realtime_text":
        return made
    return replace(made, partial=f"the class always builds its own text model, here from the config of a {own}")


@family("voxtral_realtime_text")
def voxtral_realtime_text(c: Config) -> Architecture:
    """Mistral's layer; a small gate over the wanted delay scales what the MLP reads.

    Source: transformers, models/voxtral_realtime/modeling_voxtral_realtime.py (VoxtralRealtimeTextDecoderLayer).
    """
    d, norm = size(c, "hidden_size"), named_norm(c)
    mixer = attention(c, window=c.sliding_window)

    def layer(kind: object) -> Layer:
        delay = plain_bridge(d, 32, d, name="ada_rms_norm", bias=False, names=("linear1", "linear2"))
        sublayers = pre_norm((norm("input_layernorm"), mixer), (norm("post_attention_layernorm"), mlp(c)))
        return Layer(sublayers=sublayers, width=d, extras=(delay,))

    return with_head(c, decoder(c, layer, kinds=("",) * c.num_hidden_layers, final_norm=norm("norm")))


@family("fun_asr_nano")
def fun_asr_nano(c: Config) -> Architecture:
    """Two matrices, then layers of the adaptor's own size.

    Source: transformers, models/fun_asr_nano/modeling_fun_asr_nano.py (FunAsrNanoMultiModalProjector).
    """
    at, adaptor, source = nested(c), c.sub("adaptor_config"), c.sub("audio_config").hidden_size
    width = size(adaptor, "hidden_size")
    attend = square_attention(width, adaptor.num_attention_heads, names=QUERY_KEY_VALUE_OUT, position="none")
    adapting = layers(
        "layers",
        adaptor.num_hidden_layers,
        width,
        attend,
        feed_forward(adaptor, width, adaptor.intermediate_size),
        norms=("input_layernorm", "post_attention_layernorm"),
        eps=adaptor.layer_norm_eps,
    )
    bridge = mlp_projector(
        at("multi_modal_projector"),
        source,
        width,
        hidden=adaptor.projector_hidden_size,
        activation=adaptor.projector_hidden_act,
        after=(adapting,),
    )
    return _listening(c, at, bridge)


@family("glmasr")
def glmasr(c: Config) -> Architecture:
    """Voxtral's joining of frames, with twice the text's width between the matrices.

    Source: transformers, models/glmasr/modeling_glmasr.py (GlmAsrMultiModalProjector).
    """
    d = size(c.sub("text_config"), "hidden_size")
    return _listening(c, FLAT, _projector(c, c.sub("audio_config").intermediate_size, hidden=2 * d))


@family("vibevoice_asr")
def vibevoice_asr(c: Config) -> Architecture:
    """An acoustic and a semantic encoder, each with matrix, norm and matrix, summed; the head is never tied.

    Source: transformers, models/vibevoice_asr/modeling_vibevoice_asr.py (VibeVoiceAsrMultiModalProjector).
    """
    text, kinds = c.sub("text_config"), ("acoustic", "semantic")
    encoders = {kind: c.sub(f"{kind}_tokenizer_encoder_config") for kind in kinds}
    d = size(text, "hidden_size")
    bridges = (_normed_bridge(kind, encoder.hidden_size, d) for kind, encoder in encoders.items())
    bridge = projector("multi_modal_projector", encoders["acoustic"].hidden_size, d, summed(d, *bridges))
    hearing = (tower(encoder, f"{kind}_tokenizer_encoder", "audio") for kind, encoder in encoders.items())
    return assemble(c, FLAT, tower(text, FLAT.text), *hearing, bridge, text_config=text, tie=False)


@family("qwen3_asr")
def qwen3_asr(c: Config) -> Architecture:
    """The encoder's width up to its output width in two matrices.

    Source: transformers, models/qwen3_asr/modeling_qwen3_asr.py (Qwen3ASRMultiModalProjector).
    """
    at, audio = nested(c), c.sub("audio_config")
    bridge = mlp_projector(
        at("multi_modal_projector"),
        audio.d_model,
        audio.output_dim,
        hidden=audio.d_model,
        activation=audio.activation_function,
    )
    return _listening(c, at, bridge)


@family("moss_transcribe_diarize")
def moss_transcribe_diarize(c: Config) -> Architecture:
    """Frames side by side, two matrices and a norm.

    Source: transformers, models/moss_transcribe_diarize/modeling_moss_transcribe_diarize.py.
    """
    at, d = nested(c), size(c.sub("text_config"), "hidden_size")
    return _listening(c, at, _projector(c, c.adaptor_input_dim, layer_norm("norm", d), at=at, bias=c.projector_bias))


@family("omniasr")
def omniasr(c: Config) -> Architecture:
    """A wav2vec 2 encoder and one matrix; the head is never tied.

    Source: transformers, models/omniasr/modeling_omniasr.py (OmniASRModel).
    """
    at, d, d_a = nested(c), size(c.sub("text_config"), "hidden_size"), c.sub("audio_config").hidden_size
    bridge = projector(at("multi_modal_projector"), d_a, d, linear("", d_a, d, True, role="projection"))
    return _listening(c, at, bridge, tie=False)


def _listening(c: Config, at: Mount, bridge: Projector, tie: bool | None = None) -> Architecture:
    text = c.sub("text_config")
    hearing = tower(c.sub("audio_config"), at("audio_tower"), "audio")
    labels = ("token_classification",)
    return assemble(c, at, tower(text, at.text), hearing, bridge, text_config=text, tie=tie, label_tasks=labels)


def _projector(
    c: Config, inputs: int, *after: Block, at: Mount = FLAT, hidden: int | None = None, bias: bool = True
) -> Projector:
    d, source = size(c.sub("text_config"), "hidden_size"), c.sub("audio_config").hidden_size
    return mlp_projector(
        at("multi_modal_projector"),
        source,
        d,
        inputs=inputs,
        hidden=hidden,
        bias=bias,
        before=(regroup("frames side by side", source, inputs),) if inputs != source else (),
        after=after,
        activation=c.get("projector_hidden_act", "gelu"),
    )


def _normed_bridge(kind: str, inputs: int, width: int) -> Block:
    return group(
        "",
        linear(f"{kind}_linear_1", inputs, width, True),
        rms_norm(f"{kind}_norm", width),
        linear(f"{kind}_linear_2", width, width, True),
        role=kind,
    )
