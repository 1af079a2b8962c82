"""BioGPT: a pre-norm decoder with learned positions, of which the first two are never used."""

from __future__ import annotations

from math import sqrt

from archscope.blocks.assembly import Architecture
from archscope.blocks.factories import attention, mlp, named_norm, num_labels, size
from archscope.blocks.leaves import embedding, linear
from archscope.blocks.skeletons import head, pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("biogpt")
def biogpt(c: Config) -> Architecture:
    """Positions are counted from 2; embeddings are scaled where scale_embedding is true.

    Source: transformers, models/biogpt/modeling_biogpt.py (BioGptDecoderLayer, BioGptLearnedPositionalEmbedding).
    """
    d = size(c, "hidden_size")
    names = ("q_proj", "k_proj", "v_proj", "out_proj")
    tower = pre_norm_decoder(
        c,
        lambda kind: attention(
            c,
            names=names,
            bias=True,
            num_kv_heads=c.num_attention_heads,
            head_dim=d // c.num_attention_heads,
            position="learned",
        ),
        lambda kind: mlp(c, kind="plain", name="", names=("fc1", "fc2"), bias=True, role="mlp"),
        norm=named_norm(c, "layer"),
        norms=("self_attn_layer_norm", "final_layer_norm"),
        final="layer_norm",
        embed_scale=sqrt(d) if c.scale_embedding else None,
        before=(
            embedding("embed_positions", size(c, "max_position_embeddings") + 2, d, of="position", role="embedding"),
        ),
    )
    labels = linear("classifier", d, num_labels(c), True, role="logits")
    heads = {"token_classification": (head("token_classification", labels),)}
    return with_head(c, tower, prefix="biogpt", lm_head="output_projection", heads=heads)
