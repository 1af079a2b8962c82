"""Moonshine: strided convolutions over the raw waveform, rotary positions on both sides, a gated decoder."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Tower, pre_norm, stack
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, Group, group, present, weight
from archscope.blocks.factories import attention, rope, size
from archscope.blocks.leaves import Norm, conv, embedding, layer_norm, linear
from archscope.blocks.mlp import fused_gated_mlp, plain_mlp
from archscope.blocks.size import Size
from archscope.blocks.skeletons import head, tied_names
from archscope.blocks.speech import crossing_layers
from archscope.blocks.towers import layers, tower_model
from archscope.config import Config
from archscope.families.registry import family, tower

NORMS = ("input_layernorm", "post_attention_layernorm")


@family("moonshine")
def moonshine(c: Config) -> Architecture:
    """Norms without biases; the head is tied to the table of words.

    Source: Moonshine (arXiv 2410.15608); transformers, models/moonshine/modeling_moonshine.py.
    """
    d = size(c, "hidden_size")
    # Building the encoder writes its head counts into the config, where the decoder finds them.
    heads, kv = c.decoder_num_attention_heads, c.decoder_num_key_value_heads
    if c.encoder_num_hidden_layers:
        heads, kv = c.encoder_num_attention_heads, c.encoder_num_key_value_heads
    decoder = _decoder(c, c.decoder_num_hidden_layers, heads, kv, c.decoder_hidden_act)
    hears = Tower(
        name="encoder", parts=_encoder(c), tower="encoder", model_type=c.model_type, pointer=c.pointer, width=d
    )
    return _whole(c, hears, decoder)


@family("moonshine_streaming")
def moonshine_streaming(c: Config) -> Architecture:
    """A causal encoder with a config of its own; positions are added to what it gives.

    Source: transformers, models/moonshine_streaming/modeling_moonshine_streaming.py.
    """
    d, audio = size(c, "hidden_size"), c.sub("encoder_config").hidden_size
    positions = size(c, "max_position_embeddings")
    beside = present(
        embedding("pos_emb", positions, audio, of="position", role="side positions"),
        linear("proj", audio, d, role="side projection") if audio != d else None,
    )
    decoder = _decoder(c, c.num_hidden_layers, c.num_attention_heads, c.num_key_value_heads, c.hidden_act)
    return _whole(c, tower(c.sub("encoder_config"), "encoder", "encoder"), (*decoder, *beside))


@family("moonshine_streaming_encoder")
def moonshine_streaming_encoder(c: Config) -> Architecture:
    """Frames of samples through a matrix and two causal convolutions, then layers with windows.

    Source: transformers, models/moonshine_streaming/modeling_moonshine_streaming.py (MoonshineStreamingEncoder).
    """
    d, samples = size(c, "hidden_size"), round(c.sample_rate * c.frame_ms / 1000.0)
    windows = [tuple(window) for window in c.sliding_windows]

    def attend(window: object) -> Attention:
        sees = sum(window) if isinstance(window, tuple) else None
        bias = bool(c.attention_bias)
        return attention(c, bias=bias, causal=False, cache=False, position="none", window=sees)

    ffn = plain_mlp(d, size(c, "intermediate_size"), c.hidden_act)
    return tower_model(
        c,
        d,
        weight("embedder.comp.log_k", role="side compression"),
        linear("embedder.linear", samples, d),
        conv("embedder.conv1", d, 2 * d, 5),
        conv("embedder.conv2", 2 * d, d, 5),
        stack(
            "layers",
            (windows + [("",)] * c.num_hidden_layers)[: c.num_hidden_layers],
            lambda window: pre_norm((_scaled(NORMS[0], d), attend(window)), (_scaled(NORMS[1], d), ffn)),
            width=d,
        ),
        _scaled("final_norm", d),
        tower="audio",
        classes=("MoonshineStreamingEncoder",),
    )


def _whole(c: Config, hears: Block, decoder: tuple[Block, ...]) -> Architecture:
    d = size(c, "hidden_size")
    writes = Tower(name="decoder", parts=decoder, tower="decoder", model_type=c.model_type, pointer=c.pointer, width=d)
    if c.task == "model":
        return Architecture(parts=(hears, writes))
    table = "model.decoder.embed_tokens.weight" if c.tie_word_embeddings else ""
    logits = linear("proj_out", d, size(c, "vocab_size"), role="logits", tied_to=table)
    known = c.model_class.endswith("ForConditionalGeneration")
    return Architecture(
        parts=(group("model", hears, writes), head("speech_seq_2_seq", logits)),
        tied=tied_names(logits, ""),
        partial="" if known else f"what {c.model_class} builds is not known",
    )


def _norm(name: str, d: int) -> Norm:
    return layer_norm(name, d, bias=False, eps=1e-5)


def _scaled(name: str, d: int) -> Group:
    """A norm whose scale counts from one. Source: MoonshineStreamingLayerNorm."""
    return group(name, layer_norm("ln", d, affine=False), weight("gamma", d))


def _encoder(c: Config) -> tuple[Block, ...]:
    d = size(c, "hidden_size")
    heads, kv = c.encoder_num_attention_heads, c.encoder_num_key_value_heads
    attend = attention(
        c,
        bias=bool(c.attention_bias),
        out_bias=False,
        num_heads=heads,
        num_kv_heads=kv,
        causal=False,
        cache=False,
        rotary=rope(c, width=d // heads),
    )
    ffn = plain_mlp(d, size(c, "intermediate_size"), c.encoder_hidden_act)
    return (
        conv("conv1", 1, d, 127, bias=False),
        Norm(name="groupnorm", size=d, kind="group", bias=True),
        conv("conv2", d, 2 * d, 7),
        conv("conv3", 2 * d, d, 3),
        layers("layers", c.encoder_num_hidden_layers, d, attend, ffn, norm=_plain_norm, norms=NORMS),
        _norm("layer_norm", d),
    )


def _plain_norm(name: str, size: int, *, eps: float | None = None) -> Norm:
    return _norm(name, size)


def _decoder(c: Config, count: int, heads: int, kv: int, activation: str) -> tuple[Block, ...]:
    d = size(c, "hidden_size")

    def attend(name: str, crosses: bool) -> Attention:
        return attention(
            c,
            name=name,
            bias=bool(c.attention_bias),
            out_bias=False,
            num_heads=heads,
            num_kv_heads=kv,
            causal=not crosses,
            memory=d if crosses else None,
            position="none" if crosses else "rope",
            rotary=rope(c, width=d // heads),
        )

    m = Size(c.intermediate_size, "m")
    ffn = fused_gated_mlp(d, m, activation, bias=True, names=("fc1", "fc2"))
    return (
        embedding("embed_tokens", size(c, "vocab_size"), d, role="embedding"),
        crossing_layers("layers", count, d, attend, ffn, norm=lambda name: _norm(name, d)),
        _norm("norm", d),
    )
