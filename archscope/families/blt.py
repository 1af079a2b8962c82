"""BLT: bytes instead of tokens; local models around a global one that works on patches of bytes."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Stack, Sublayer, Tower, TowerRole, pre_norm, stack
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, group, present
from archscope.blocks.factories import attention, mlp, named_norm, size
from archscope.blocks.leaves import Linear, embedding, linear, rms_norm
from archscope.blocks.repeated import Repeated
from archscope.blocks.size import Size
from archscope.blocks.skeletons import head, tied_names
from archscope.config import Config
from archscope.families.registry import family


@family("blt")
def blt(c: Config) -> Architecture:
    """An entropy model cuts bytes into patches; cross-attention takes bytes into patches and back.

    Where tie_word_embeddings is true, the head is saved and the encoder's table is not.
    Source: transformers, models/blt/modeling_blt.py (BltModel, BltForCausalLM); arXiv 2412.09871.
    """
    base = c.task == "model"
    at = "" if base else "model."
    decoder = c.sub("decoder_config")
    tied_to = "lm_head.weight" if c.tie_word_embeddings and not base else ""
    logits = linear("lm_head", decoder.hidden_size, size(c, "vocab_size"), role="logits")
    width = c.sub("encoder_config").hidden_size
    rows = (
        c.encoder_hash_byte_group_vocab * c.encoder_hash_byte_group_nb_functions * len(c.encoder_hash_byte_group_size)
    )
    parts = present(
        embedding(f"{at}encoder_hash_tok_embedding", rows, width, of="byte n-gram"),
        _encoder(c, at, tied_to),
        _global(c, at),
        _decoder(c, at),
        _patcher(c, at) if c.patch_in_forward else None,
        None if base else head("causal_lm", logits),
    )
    known = c.task in ("model", "causal_lm")
    partial = "" if known else f"the head of {c.model_class or 'this class'} is not known"
    return Architecture(parts=parts, tied=tuple(t for part in parts for t in tied_names(part, "")), partial=partial)


def _encoder(c: Config, at: str, tied_to: str) -> Tower:
    e = c.sub("encoder_config")
    d = size(e, "hidden_size")
    return _tower(
        e,
        f"{at}local_encoder",
        "encoder",
        embedding("embed_tokens", size(e, "vocab_size"), d, role="embedding", tied_to=tied_to),
        _layers(e, c.local_attention_window_len),
        linear("patch_embedding_projection", d, d * e.cross_attn_k),
        _bridge(e),
    )


def _global(c: Config, at: str) -> Tower:
    g = c.sub("global_config")
    width: int | None = g.get("encoder_cross_output_size")
    joined: Linear | None = None
    if width is not None:
        joined = linear("token_embedding_projection", width, size(g, "hidden_size"))
    return _tower(g, f"{at}global_transformer", "text", joined, _layers(g, None))


def _decoder(c: Config, at: str) -> Tower:
    e = c.sub("decoder_config")
    d = size(e, "hidden_size")
    return _tower(
        e,
        f"{at}local_decoder",
        "decoder",
        linear("patch_embedding_projection", e.hidden_size_global, d * e.cross_attn_k, role="side"),
        _bridge(e),
        _layers(e, c.local_attention_window_len),
        rms_norm("norm", d),
    )


def _patcher(c: Config, at: str) -> Tower:
    p = c.sub("patcher_config")
    d, vocabulary = size(p, "hidden_size"), size(p, "vocab_size")
    return _tower(
        p,
        f"{at}patcher",
        "other",
        embedding("embed_tokens", vocabulary, d, role="embedding"),
        _layers(p, p.sliding_window),
        rms_norm("norm", d),
        linear("lm_head", d, vocabulary),
    )


def _tower(c: Config, name: str, role: TowerRole, *parts: Block | None) -> Tower:
    width = size(c, "hidden_size")
    return Tower(name=name, parts=present(*parts), tower=role, pointer=c.pointer, width=width)


def _layers(c: Config, window: int | None) -> Stack:
    norm = named_norm(c)

    def layer(kind: object) -> tuple[Sublayer, ...]:
        return pre_norm((norm("input_layernorm"), _attention(c, window)), (norm("post_attention_layernorm"), mlp(c)))

    return stack("layers", ("",) * c.num_hidden_layers, layer, width=size(c, "hidden_size"))


def _attention(c: Config, window: int | None) -> Attention:
    return attention(c, head_dim=c.hidden_size // c.num_attention_heads, window=window)


def _bridge(c: Config) -> Block:
    """Cross-attention between bytes and patches, after every layer or once; both sides are normed before it."""
    d = size(c, "hidden_size")
    width = Size(c.hidden_size // c.num_attention_heads, "d_h")
    norms = (rms_norm("q_norm", d, role="memory_norm"), rms_norm("k_norm", d, role="memory_norm"))
    one = attention(c, name="", memory=d, head_dim=width, causal=False, cache=False, position="none", extras=norms)
    count = c.num_hidden_layers if c.cross_attn_all_layers else 1
    return group("", Repeated(name="cross_attn_layers", part=one, count=count), role="side")
