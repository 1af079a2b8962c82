"""Qwen Omni: a thinker that sees and hears, a talker that turns its thoughts into speech codes, and a synthesizer."""

from __future__ import annotations

from dataclasses import replace

from archscope.blocks.assembly import Architecture, Layer, Tower, pre_norm, stack
from archscope.blocks.base import Block, group, weight
from archscope.blocks.composites import Mount, assemble
from archscope.blocks.factories import attention, mlp, moe, named_norm, size, sliding_window
from archscope.blocks.joined import Bundle, bundle
from archscope.blocks.leaves import conv, embedding, linear
from archscope.blocks.moe import Moe
from archscope.blocks.projectors import plain_bridge
from archscope.blocks.repeated import repeated
from archscope.blocks.skeletons import head, pre_norm_decoder, tied_names, with_head
from archscope.blocks.vocoder import convnext, snake, snake_upsampler
from archscope.config import Config
from archscope.families.registry import family, tower


@family("qwen2_5_omni_text")
def qwen2_5_omni_text(c: Config) -> Architecture:
    """Qwen2's layer with three-part rotary positions.

    Source: transformers, models/qwen2_5_omni/modeling_qwen2_5_omni.py (Qwen2_5OmniDecoderLayer).
    """
    return with_head(c, _biased_decoder(c))


@family("qwen3_omni_moe_text")
def qwen3_omni_moe_text(c: Config) -> Architecture:
    """Qwen3's routed experts in every decoder_sparse_step-th layer that mlp_only_layers does not name.

    Source: transformers, models/qwen3_omni_moe/modeling_qwen3_omni_moe.py (Qwen3OmniMoeThinkerTextDecoderLayer).
    """
    only = set(c.mlp_only_layers or ())
    sparse = [
        i not in only and c.num_experts > 0 and (i + 1) % c.decoder_sparse_step == 0 for i in range(c.num_hidden_layers)
    ]
    text = pre_norm_decoder(
        c,
        lambda kind: attention(c, bias=c.attention_bias, qk_norm="head"),
        lambda kind: _experts(c) if kind else mlp(c),
        kinds=sparse,
    )
    return with_head(c, text)


@family("qwen2_5_omni_thinker", "qwen3_omni_moe_thinker")
def thinker(c: Config) -> Architecture:
    """An audio tower and a vision tower beside the text, under the names of the first release.

    Source: transformers, models/qwen2_5_omni/modeling_qwen2_5_omni.py, models/qwen3_omni_moe; conversion_mapping.py.
    """
    return _thinker(c, "", c.task == "model")


@family("qwen2_5_omni")
def qwen2_5_omni(c: Config) -> Architecture:
    """Thinker, and where enable_audio_output is true talker and synthesizer.

    Source: transformers, models/qwen2_5_omni/modeling_qwen2_5_omni.py (Qwen2_5OmniForConditionalGeneration).
    """
    thinking = _thinker(c.sub("thinker_config"), "thinker.", False)
    if not c.enable_audio_output:
        return replace(thinking, partial=_unknown(c) or thinking.partial)
    talker = c.sub("talker_config")
    d, e = size(talker, "hidden_size"), talker.embedding_size
    speaking = (
        linear("talker.thinker_to_talker_proj", e, d, True, role="projection"),
        _biased_decoder(talker, name="talker.model", table=e),
        head("speech codes", linear("talker.codec_head", d, size(talker, "vocab_size"), role="codes")),
        tower(c.sub("token2wav_config"), "token2wav", "audio"),
    )
    return Architecture(parts=(*thinking.parts, *speaking), tied=thinking.tied, partial=_unknown(c))


@family("qwen3_omni_moe")
def qwen3_omni_moe(c: Config) -> Architecture:
    """Thinker; talker with experts of its own and a predictor of the further codes; synthesizer.

    Source: transformers, models/qwen3_omni_moe/modeling_qwen3_omni_moe.py (Qwen3OmniMoeForConditionalGeneration).
    """
    thinking = _thinker(c.sub("thinker_config"), "thinker.", False)
    if not c.enable_audio_output:
        return replace(thinking, partial=_unknown(c) or thinking.partial)
    talker = c.sub("talker_config")
    text, predictor = talker.sub("text_config"), talker.sub("code_predictor_config")
    table = "talker.model.codec_embedding.weight" if talker.get("tie_word_embeddings") else ""
    d, rows = size(text, "hidden_size"), text.vocab_size
    codes = head("speech codes", linear("talker.codec_head", d, rows, role="codes", tied_to=table))
    speaking = (
        _resized(talker, "talker.text_projection"),
        _resized(talker, "talker.hidden_projection"),
        _talker(text),
        codes,
        _predictor(predictor),
        _code2wav(c.sub("code2wav_config")),
    )
    unbuilt = "the predictor of codes has no table of words to tie" if predictor.get("tie_word_embeddings") else ""
    tied = (*thinking.tied, *tied_names(codes, ""))
    return Architecture(parts=(*thinking.parts, *speaking), tied=tied, partial=_unknown(c) or unbuilt)


def _unknown(c: Config) -> str:
    return "" if c.task else f"what {c.model_class} builds is not known"


def _thinker(c: Config, above: str, bare: bool) -> Architecture:
    text = c.sub("text_config")
    at = Mount(above, f"{above}{'language_model' if bare else 'model'}", f"{above}lm_head")
    parts = (
        tower(c.sub("audio_config"), at("audio_tower"), "audio"),
        tower(c.sub("vision_config"), at("visual"), "vision"),
    )
    reading = tower(text, at.text)
    if bare:
        return Architecture(parts=(*parts, reading))
    return assemble(c, at, reading, *parts, text_config=text, generative=("", "model"))


def _biased_decoder(c: Config, *, name: str = "", table: int | None = None) -> Tower:
    made = pre_norm_decoder(
        c,
        lambda kind: attention(c, bias=True, out_bias=False, window=sliding_window(c, kind)),
        lambda kind: mlp(c),
    )
    return made if table is None else _with_table(made, name, embedding("embed_tokens", c.vocab_size, table))


def _with_table(made: Tower, name: str, *tables: Block) -> Tower:
    """The tower under a name, with these tables, which do not feed its first layer directly."""
    parts = (*tables, *made.parts[1:])
    return Tower(
        name=name, parts=parts, tower="other", model_type=made.model_type, pointer=made.pointer, width=made.width
    )


def _experts(c: Config, shared: bool = False) -> Moe:
    width = c.shared_expert_intermediate_size if shared else 0
    return moe(
        c,
        num_experts=c.num_experts,
        top_k=c.num_experts_per_tok,
        width=c.moe_intermediate_size,
        normalised=c.norm_topk_prob,
        shared=mlp(c, name="shared_expert", width=width, role="shared") if shared else None,
        num_shared=1 if shared else 0,
        shared_gate=linear("shared_expert_gate", size(c, "hidden_size"), 1, role="shared_gate") if shared else None,
    )


def _resized(c: Config, name: str) -> Block:
    text = c.sub("text_config")
    names = ("linear_fc1", "linear_fc2")
    return plain_bridge(c.thinker_hidden_size, text.intermediate_size, text.hidden_size, name=name, names=names)


def _talker(c: Config) -> Tower:
    made = pre_norm_decoder(
        c,
        lambda kind: attention(c, bias=c.attention_bias, qk_norm="head"),
        lambda kind: _experts(c, shared=True),
        kinds=("",) * c.num_hidden_layers,
    )
    return _with_table(made, "talker.model", embedding("codec_embedding", c.vocab_size, made.width, role="embedding"))


def _predictor(c: Config) -> Block:
    """Guesses the codes past the first of each frame, each with a table and a head of its own."""
    d, rows, further = size(c, "hidden_size"), c.vocab_size, c.num_code_groups - 1
    made = pre_norm_decoder(
        c,
        lambda kind: attention(c, bias=c.attention_bias, qk_norm="head", window=sliding_window(c, kind)),
        lambda kind: mlp(c),
    )
    tables = repeated("codec_embedding", further, embedding("", rows, d, of="speech code"), role="side tables")
    heads = repeated("lm_head", further, linear("", d, rows), role="heads")
    return bundle("talker.code_predictor", _with_table(made, "model", tables), heads, role="code predictor")


def _code2wav(c: Config) -> Bundle:
    """Layers with a window, then ever longer and narrower convolutions. Source: Qwen3OmniMoeCode2Wav."""
    d, norm, widths = (
        size(c, "hidden_size"),
        named_norm(c),
        [c.decoder_dim // 2**i for i in range(len(c.upsample_rates) + 1)],
    )
    last = len(c.upsample_rates) + 1
    layers = stack("pre_transformer.layers", ("",) * c.num_hidden_layers, lambda kind: _scaled_layer(c), width=d)
    longer = (
        group(f"upsample.{i}", conv("0.conv", d, d, factor, transposed=True), convnext("1", d))
        for i, factor in enumerate(c.upsampling_ratios)
    )
    decoding = (
        snake_upsampler(f"decoder.{i + 1}", widths[i], widths[i + 1], rate) for i, rate in enumerate(c.upsample_rates)
    )
    return bundle(
        "code2wav",
        embedding("code_embedding", c.codebook_size * c.num_quantizers, d, of="speech code"),
        layers,
        norm("pre_transformer.norm"),
        *longer,
        conv("decoder.0.conv", d, widths[0], 7),
        *decoding,
        snake(f"decoder.{last}", widths[-1]),
        conv(f"decoder.{last + 1}.conv", widths[-1], 1, 7),
        role="synthesizer",
    )


def _scaled_layer(c: Config) -> Layer:
    d, norm = size(c, "hidden_size"), named_norm(c)
    mixer = attention(c, bias=c.attention_bias, window=c.sliding_window)
    sublayers = pre_norm((norm("input_layernorm"), mixer), (norm("post_attention_layernorm"), mlp(c)))
    scales = (weight("self_attn_layer_scale.scale", d), weight("mlp_layer_scale.scale", d))
    return Layer(sublayers=sublayers, width=d, extras=scales)
