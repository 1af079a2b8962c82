"""The Llama lineage: pre-norm decoders with rotary grouped-query attention and a gated MLP."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, pre_norm
from archscope.blocks.factories import attention, mlp, size
from archscope.blocks.leaves import rms_norm
from archscope.blocks.skeletons import decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("llama")
def llama(c: Config) -> Architecture:
    """Pre-norm decoder with grouped-query attention and a gated MLP.

    Source: transformers, models/llama/modeling_llama.py (LlamaDecoderLayer).
    """
    d = size(c, "hidden_size")
    tower = decoder(
        c,
        lambda kind: pre_norm(
            (rms_norm("input_layernorm", d), attention(c, bias=c.attention_bias)),
            (rms_norm("post_attention_layernorm", d), mlp(c, bias=c.mlp_bias)),
        ),
        final_norm=rms_norm("norm", d),
    )
    return with_head(c, tower, prefixes={"question_answering": "transformer"})
