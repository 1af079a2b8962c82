"""TrOCR's decoder: BART's post-norm layers over the output of a vision encoder."""

from __future__ import annotations

from math import sqrt

from archscope.blocks.assembly import Architecture, Sublayer, post_add_norm
from archscope.blocks.attention import Attention, Position
from archscope.blocks.base import Block, present
from archscope.blocks.factories import attention, mlp, size
from archscope.blocks.leaves import embedding, layer_norm
from archscope.blocks.size import Size
from archscope.blocks.skeletons import decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("trocr")
def trocr(c: Config) -> Architecture:
    """Always a decoder with cross-attention; positions learned or sinusoidal.

    Source: transformers, models/trocr/modeling_trocr.py (TrOCRForCausalLM, TrOCRDecoderLayer).
    """
    d = size(c, "hidden_size")
    learned: Block = embedding(
        "embed_positions", Size(c.max_position_embeddings + 2, "P + 2"), d, of="position", role="embedding"
    )

    def layer(kind: object) -> tuple[Sublayer, ...]:
        memory = d if c.cross_attention_hidden_size is None else c.cross_attention_hidden_size
        ffn = mlp(c, name="", kind="plain", bias=True, width=Size(c.decoder_ffn_dim, "m"))
        return post_add_norm(
            (_attention(c, "self_attn", None), layer_norm("self_attn_layer_norm", d)),
            (_attention(c, "encoder_attn", memory), layer_norm("encoder_attn_layer_norm", d)),
            (ffn, layer_norm("final_layer_norm", d)),
        )

    tower = decoder(
        c,
        layer,
        kinds=("",) * c.num_hidden_layers,
        before=present(
            learned if c.use_learned_position_embeddings else None,
            layer_norm("layernorm_embedding", d) if c.layernorm_embedding else None,
        ),
        embed_scale=sqrt(d) if c.scale_embedding else None,
        tower="decoder",
    )
    return with_head(c, tower, prefix="model.decoder", lm_head="output_projection")


def _attention(c: Config, name: str, memory: int | None) -> Attention:
    heads = c.num_attention_heads
    own: Position = "learned" if c.use_learned_position_embeddings else "sinusoidal"
    return attention(
        c,
        name=name,
        names=("q_proj", "k_proj", "v_proj", "out_proj"),
        bias=True,
        num_kv_heads=heads,
        head_dim=c.hidden_size // heads,
        causal=memory is None,
        position=own if memory is None else "none",
        memory=memory,
    )
