"""The first GPT: norms after the add, learned positions, transposed matrices."""

from __future__ import annotations

from dataclasses import replace

from archscope.blocks.assembly import Architecture, Tower, post_add_norm
from archscope.blocks.base import Block
from archscope.blocks.factories import attention, mlp, named_norm, size
from archscope.blocks.leaves import embedding, linear
from archscope.blocks.size import Size
from archscope.blocks.skeletons import decoder, head, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("openai-gpt")
def openai_gpt(c: Config) -> Architecture:
    """Post-norm decoder without a final norm; the class with two heads saves the head, not the token table.

    Source: transformers, models/openai/modeling_openai.py (Block, OpenAIGPTDoubleHeadsModel).
    """
    d, heads = size(c, "hidden_size"), c.num_attention_heads
    norm, names = named_norm(c, "layer"), ("", "", "", "c_proj")
    mixer = attention(
        c,
        name="attn",
        names=names,
        fused="c_attn",
        bias=True,
        num_kv_heads=heads,
        head_dim=d // heads,
        position="learned",
        transposed=True,
    )
    wide = Size(4 * d, "4·d")
    ffn = mlp(c, kind="plain", names=("c_fc", "c_proj"), bias=True, width=wide, activation=c.afn, transposed=True)
    tower = decoder(
        c,
        lambda kind: post_add_norm((mixer, norm("ln_1")), (ffn, norm("ln_2"))),
        kinds=("",) * c.num_hidden_layers,
        embed="tokens_embed",
        layers="h",
        before=(embedding("positions_embed", c.n_positions, d, of="position", role="embedding"),),
    )
    if c.model_class == "OpenAIGPTDoubleHeadsModel":
        return _double(c, tower)
    return with_head(c, tower, prefix="transformer", token_table="tokens_embed")


def _double(c: Config, tower: Tower) -> Architecture:
    """Logits over the vocabulary, and one number for each choice from a summary (num_labels is 1 here)."""
    d = tower.width
    parts: tuple[Block, ...] = (linear("lm_head", d, size(c, "vocab_size"), role="logits"),)
    if c.get("summary_use_proj"):
        summary = 1 if c.get("summary_proj_to_labels") else d
        parts = (*parts, linear("multiple_choice_head.summary", d, summary, True, role="choice"))
    if c.tie_word_embeddings:
        table, *rest = tower.parts
        tower = replace(tower, parts=(replace(table, tied_to="lm_head.weight"), *rest))
    tied = (("transformer.tokens_embed.weight", "lm_head.weight"),) if c.tie_word_embeddings else ()
    return Architecture(parts=(replace(tower, name="transformer"), head("double_heads", *parts)), tied=tied)
