"""EuroBERT: Llama's layer that looks both ways."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.encoder_heads import Heads
from archscope.blocks.factories import attention, mlp, num_labels, size
from archscope.blocks.leaves import linear
from archscope.blocks.skeletons import head, pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("eurobert")
def eurobert(c: Config) -> Architecture:
    """Pre-norm encoder with RMSNorm, grouped queries and rotary positions; labels of a sequence in two matrices.

    Source: transformers, models/eurobert/modeling_eurobert.py.
    """
    d = size(c, "hidden_size")
    tower = pre_norm_decoder(
        c,
        lambda kind: attention(c, bias=c.attention_bias, causal=False, cache=False),
        lambda kind: mlp(c, bias=c.mlp_bias),
        kinds=("",) * c.num_hidden_layers,
        tower="encoder",
    )
    table = "model.embed_tokens.weight" if c.tie_word_embeddings else ""
    words = linear("lm_head", d, size(c, "vocab_size"), c.mlp_bias, role="logits", tied_to=table)
    classifier = linear("classifier", d, num_labels(c), True, role="logits")
    heads: Heads = {
        "masked_lm": (head("masked_lm", words),),
        "token_classification": (head("token_classification", classifier),),
        "sequence_classification": (head("sequence_classification", linear("dense", d, d, True), classifier),),
    }
    return with_head(c, tower, heads=heads)
