"""BART and the encoder-decoders built like it: they differ in where norms stand and in how positions are given."""

from __future__ import annotations

from functools import partial
from typing import Any

from archscope.blocks.assembly import Architecture, Layer, Tower
from archscope.blocks.base import Block, group
from archscope.blocks.encoder_decoders import (
    Role,
    side_attention,
    side_layer,
    side_mlp,
    side_tower,
    two_towers,
)
from archscope.blocks.factories import size
from archscope.blocks.labelled_experts import labelled_moe
from archscope.blocks.leaves import embedding, layer_norm, linear
from archscope.blocks.mlp import Mlp
from archscope.blocks.skeletons import tied_names
from archscope.config import Config
from archscope.families.registry import family

LONG_NAMES = ("query", "key", "value")


@family("bart", "plbart")
def bart(c: Config) -> Architecture:
    """Norms after the add and over the embeddings; two rows of positions are never used.

    Source: transformers, models/bart/modeling_bart.py, models/plbart/modeling_plbart.py.
    """
    rows = size(c, "max_position_embeddings") + 2

    def make(role: Role, name: str, tied_to: str) -> Tower:
        layer = partial(side_layer, c, role)
        return side_tower(c, role, name, tied_to, lambda kind: layer(), rows=rows, first_norm="layernorm_embedding")

    return two_towers(c, make)


@family("mvp")
def mvp(c: Config) -> Architecture:
    """BART with prompts in the decoder: keys and values of every layer made from a table, where use_prompt is true.

    Source: transformers, models/mvp/modeling_mvp.py (MvpPrompt; MvpModel hands use_prompt to the wrong parameter of the
    encoder, which so has none; nor has a decoder by itself).
    """
    rows = size(c, "max_position_embeddings") + 2
    prompted = c.use_prompt and c.task not in ("causal_lm", "")

    def make(role: Role, name: str, tied_to: str) -> Tower:
        prompts = ("self_attn_prompt", "cross_attn_prompt") if prompted and role == "decoder" else ()
        return side_tower(
            c,
            role,
            name,
            tied_to,
            lambda kind: side_layer(c, role),
            rows=rows,
            first_norm="layernorm_embedding",
            after=[_prompt(c, prompt, c.decoder_layers) for prompt in prompts],
        )

    return two_towers(c, make)


def _prompt(c: Config, name: str, layers: int) -> Block:
    d = size(c, "hidden_size")
    return group(
        name,
        embedding("prompt_embedding", c.prompt_length, d, of="prompt"),
        linear("prompt_trans.0", d, c.prompt_mid_dim, True),
        linear("prompt_trans.2", c.prompt_mid_dim, layers * 2 * d, True),
        role="side prompt",
    )


@family("mbart")
def mbart(c: Config) -> Architecture:
    """Norms before the sublayers, over the embeddings and after the last layer.

    Source: transformers, models/mbart/modeling_mbart.py.
    """
    rows = size(c, "max_position_embeddings") + 2
    return two_towers(c, _maker(c, rows=rows, first_norm="layernorm_embedding", last_norm="layer_norm"))


@family("blenderbot")
def blenderbot(c: Config) -> Architecture:
    """Norms before the sublayers and after the last layer, learned positions.

    Source: transformers, models/blenderbot/modeling_blenderbot.py.
    """
    return two_towers(c, _maker(c, rows=size(c, "max_position_embeddings"), last_norm="layer_norm"))


@family("pegasus")
def pegasus(c: Config) -> Architecture:
    """Norms before the sublayers and after the last layer, positions from a saved table of sines.

    Source: transformers, models/pegasus/modeling_pegasus.py.
    """
    rows = size(c, "max_position_embeddings")
    return two_towers(c, _maker(c, rows=rows, last_norm="layer_norm", position="sinusoidal"))


@family("m2m_100")
def m2m_100(c: Config) -> Architecture:
    """Norms before the sublayers and after the last layer, positions that are computed.

    Source: transformers, models/m2m_100/modeling_m2m_100.py.
    """
    return two_towers(c, _maker(c, last_norm="layer_norm", position="sinusoidal"), logits_bias=False)


def _maker(c: Config, *, position: Any = "learned", **options: Any) -> Any:
    """Makes towers whose norms stand before the sublayers."""

    def make(role: Role, name: str, tied_to: str) -> Tower:
        layer = partial(side_layer, c, role, pre=True, position=position)
        return side_tower(c, role, name, tied_to, lambda kind: layer(), **options)

    return make


@family("blenderbot-small")
def blenderbot_small(c: Config) -> Architecture:
    """BART's layers, with as many positions as the config says.

    Source: transformers, models/blenderbot_small/modeling_blenderbot_small.py.
    """
    rows = size(c, "max_position_embeddings")

    def make(role: Role, name: str, tied_to: str) -> Tower:
        return side_tower(
            c, role, name, tied_to, lambda kind: side_layer(c, role), rows=rows, first_norm="layernorm_embedding"
        )

    return two_towers(c, make)


@family("marian")
def marian(c: Config) -> Architecture:
    """BART's layers without norms around them, positions from a saved table of sines, one vocabulary or two.

    Source: transformers, models/marian/modeling_marian.py.
    """
    one = c.share_encoder_decoder_embeddings
    rows = size(c, "max_position_embeddings")

    def make(role: Role, name: str, tied_to: str) -> Tower:
        words = c.decoder_vocab_size if role == "decoder" else c.vocab_size
        layer = partial(side_layer, c, role, position="sinusoidal")
        return side_tower(c, role, name, tied_to, lambda kind: layer(), vocabulary=words, rows=rows)

    return two_towers(c, make, shared="shared" if one else "", target_words=None if one else c.decoder_vocab_size)


@family("bigbird_pegasus")
def bigbird_pegasus(c: Config) -> Architecture:
    """An encoder of sparse blocks, a decoder as in BART; norms before the sublayers and after the last layer.

    Source: transformers, models/bigbird_pegasus/modeling_bigbird_pegasus.py (layernorm_embedding is the last norm).
    """
    sparse = c.attention_type == "block_sparse"
    seen = (5 + c.num_random_blocks) * c.block_size if sparse else None
    names = ("self.query", "self.key", "self.value", "output")

    def make(role: Role, name: str, tied_to: str) -> Tower:
        own = side_attention(c, role, names=names, bias=c.use_bias, window=seen) if role == "encoder" else None
        layer = partial(side_layer, c, role, pre=True, own=own, bias=c.use_bias)
        rows = size(c, "max_position_embeddings")
        return side_tower(c, role, name, tied_to, lambda kind: layer(), rows=rows, last_norm="layernorm_embedding")

    return two_towers(c, make, tie_alone=False)


@family("pegasus_x")
def pegasus_x(c: Config) -> Architecture:
    """An encoder whose tokens see their block and a few global tokens, which have a norm of their own in each layer.

    Source: transformers, models/pegasus_x/modeling_pegasus_x.py (PegasusXEncoderLayer).
    """
    d = size(c, "hidden_size")

    def make(role: Role, name: str, tied_to: str) -> Tower:
        encodes = role == "encoder"
        options = {"chunk": c.block_size} if encodes else {}
        own = side_attention(c, role, bias=False, position="sinusoidal", **options)
        layer = Layer(
            sublayers=side_layer(c, role, pre=True, own=own, bias=False),
            width=d,
            extras=(layer_norm("global_self_attn_layer_norm", d),) if encodes else (),
        )
        rows = embedding("embed_global", c.num_global_tokens, d, of="global token", role="side table")
        before = (rows,) if encodes else ()
        return side_tower(c, role, name, tied_to, lambda kind: layer, before=before, last_norm="layer_norm")

    return two_towers(c, make, logits_bias=False)


@family("led")
def led(c: Config) -> Architecture:
    """BART with Longformer's attention in the encoder: a window per layer, and projections for global tokens.

    Source: transformers, models/led/modeling_led.py.
    """
    d, given, count = size(c, "hidden_size"), c.attention_window, c.encoder_layers
    windows = tuple(given) if isinstance(given, list) else (given,) * count
    at = "longformer_self_attn"
    names = (*(f"{at}.{name}" for name in LONG_NAMES), "output")
    extras = tuple(linear(f"{at}.{name}_global", d, d, True, role=f"{name}_global") for name in LONG_NAMES)

    def make(role: Role, name: str, tied_to: str) -> Tower:
        def layer(window: Any) -> Any:
            own = side_attention(c, role, names=names, extras=extras, window=window) if role == "encoder" else None
            return side_layer(c, role, own=own)

        kinds = windows[:count] if role == "encoder" else None
        rows = c.max_encoder_position_embeddings if role == "encoder" else c.max_decoder_position_embeddings
        return side_tower(c, role, name, tied_to, layer, kinds=kinds, rows=rows, first_norm="layernorm_embedding")

    return two_towers(c, make, prefix="led")


@family("nllb-moe")
def nllb_moe(c: Config) -> Architecture:
    """M2M-100 with experts in every n-th layer, two of them for a token.

    Source: transformers, models/nllb_moe/modeling_nllb_moe.py.
    """
    names = ("self_attn", "self_attn_layer_norm", "cross_attention", "cross_attention_layer_norm", "ff_layer_norm")

    def make(role: Role, name: str, tied_to: str) -> Tower:
        step = c.encoder_sparse_step if role == "encoder" else c.decoder_sparse_step
        count = c.encoder_layers if role == "encoder" else c.decoder_layers
        kinds = ["moe" if step > 0 and (i + 1) % step == 0 else "dense" for i in range(count)]

        def layer(kind: Any) -> Any:
            ffn = _experts(c, role) if kind == "moe" else side_mlp(c, role, name="ffn")
            return side_layer(c, role, pre=True, position="sinusoidal", feed_forward=ffn, names=names)

        return side_tower(c, role, name, tied_to, layer, kinds=kinds, last_norm="layer_norm")

    return two_towers(c, make, logits_bias=False)


def _experts(c: Config, role: Role) -> Block:
    expert = side_mlp(c, role)
    assert isinstance(expert, Mlp)
    fields = ("num_experts", f"{role}_ffn_dim", f"{role}_sparse_step")
    return labelled_moe(
        "ffn", expert, num_experts=c.num_experts, top_k=2, router_bias=c.router_bias, normalised=True, fields=fields
    )


@family("fsmt")
def fsmt(c: Config) -> Architecture:
    """BART's layers over two vocabularies, no norms around them; the output matrix is part of the decoder.

    Source: transformers, models/fsmt/modeling_fsmt.py.
    """
    at = "" if c.task == "model" else "model."
    table = f"{at}decoder.embed_tokens.weight" if c.tie_word_embeddings else ""
    words = linear("output_projection", size(c, "hidden_size"), c.tgt_vocab_size, role="logits", tied_to=table)
    parts = (_fixed(c, "encoder", at, table), _fixed(c, "decoder", at, "", words))
    ties = tuple(pair for part in parts for pair in tied_names(part, ""))
    known = c.task in ("model", "seq_to_seq_causal_lm")
    return Architecture(
        parts=parts, tied=ties, partial="" if known else f"{c.model_class} has no parameters of its own"
    )


def _fixed(c: Config, role: Role, at: str, tied_to: str, *after: Block) -> Tower:
    """One side with a vocabulary of its own and a saved table of sines, which starts after the padding index."""
    return side_tower(
        c,
        role,
        f"{at}{role}",
        tied_to,
        lambda kind: side_layer(c, role, position="sinusoidal"),
        vocabulary=c.tgt_vocab_size if role == "decoder" else c.src_vocab_size,
        rows=size(c, "max_position_embeddings") + c.pad_token_id + 1,
        after=after,
    )
