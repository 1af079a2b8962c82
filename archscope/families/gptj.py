"""GPT-J and CodeGen: attention and MLP in parallel behind one norm, rotary positions on the first part of each head."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, parallel
from archscope.blocks.attention import Attention, Rope
from archscope.blocks.factories import attention, mlp, named_norm, size
from archscope.blocks.size import Size
from archscope.blocks.skeletons import decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("gptj")
def gptj(c: Config) -> Architecture:
    """x + attention(norm(x)) + mlp(norm(x)), separate projections without bias, a head with one.

    Source: transformers, models/gptj/modeling_gptj.py (GPTJBlock, GPTJAttention).
    """
    return _decoder(c, _attention(c, ""))


@family("codegen")
def codegen(c: Config) -> Architecture:
    """GPT-J with queries, keys and values in one matrix.

    Source: transformers, models/codegen/modeling_codegen.py (CodeGenBlock, CodeGenAttention).
    """
    return _decoder(c, _attention(c, "qkv_proj"))


def _decoder(c: Config, mixer: Attention) -> Architecture:
    norm = named_norm(c, "layer")
    width = Size(4 * size(c, "hidden_size") if c.n_inner is None else c.n_inner, "m")
    feed_forward = mlp(c, kind="plain", names=("fc_in", "fc_out"), bias=True, width=width)
    tower = decoder(
        c,
        lambda kind: parallel(mixer, feed_forward, norm=norm("ln_1")),
        embed="wte",
        layers="h",
        final_norm=norm("ln_f"),
    )
    return with_head(
        c,
        tower,
        prefix="transformer",
        token_table="wte",
        bias=True,
    )


def _attention(c: Config, fused: str) -> Attention:
    """Heads that share the hidden size evenly, of which rotary_dim is rotated (all of it where that is null)."""
    width, rest = divmod(c.hidden_size, c.num_attention_heads)
    if rest:
        raise ValueError(f"{c.num_attention_heads} heads do not divide a hidden size of {c.hidden_size}")
    return attention(
        c,
        name="attn",
        names=("q_proj", "k_proj", "v_proj", "out_proj"),
        fused=fused,
        num_kv_heads=c.num_attention_heads,
        head_dim=width,
        rotary=Rope(theta=10000.0, dim=width if c.rotary_dim is None else c.rotary_dim),
    )
