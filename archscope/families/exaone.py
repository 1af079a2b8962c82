"""The EXAONE lineage: Llama under other names (3), norms after the sublayers (4), sigmoid-routed experts (MoE)."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, post_norm
from archscope.blocks.attention import Attention
from archscope.blocks.factories import attention, kinds, mlp, named_norm, sliding_window
from archscope.blocks.routed import grouped_moe
from archscope.blocks.skeletons import QA_PREFIX, decoder, pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("exaone")
def exaone(c: Config) -> Architecture:
    """Llama's decoder, saved under GPT-2's names; those of the modules of the tower only where it has a prefix.

    Source: transformers, conversion_mapping.py ("exaone"); the class is LlamaForCausalLM.
    """
    bare = c.task == "model"
    tower = pre_norm_decoder(
        c,
        lambda kind: attention(
            c, name="attn.attention", names=("q_proj", "k_proj", "v_proj", "out_proj"), bias=c.attention_bias
        ),
        lambda kind: mlp(c, names=("c_fc_0", "c_fc_1", "c_proj"), bias=c.mlp_bias),
        norms=("ln_1", "ln_2"),
        final="norm" if bare else "ln_f",
        embed="embed_tokens" if bare else "wte",
        layers="layers" if bare else "h",
    )
    return with_head(c, tower, prefix="transformer", token_table="wte")


@family("exaone4")
def exaone4(c: Config) -> Architecture:
    """x + norm(sublayer(x)); global layers have no positions where others slide.

    Source: transformers, models/exaone4/modeling_exaone4.py (Exaone4Attention, Exaone4DecoderLayer).
    """
    norm = named_norm(c)
    tower = decoder(
        c,
        lambda kind: post_norm(
            (_attention(c, kind), norm("post_attention_layernorm")), (mlp(c), norm("post_feedforward_layernorm"))
        ),
        final_norm=norm("norm"),
    )
    return with_head(c, tower, prefixes=QA_PREFIX)


@family("exaone_moe")
def exaone_moe(c: Config) -> Architecture:
    """EXAONE 4's attention in pre-norm layers, with sigmoid-routed experts where mlp_layer_types says sparse.

    Source: transformers, models/exaone_moe/modeling_exaone_moe.py (ExaoneMoeSparseMoEBlock).
    """
    tower = pre_norm_decoder(
        c,
        lambda kind: _attention(c, kind[0]),
        lambda kind: (
            grouped_moe(c, num_experts=c.num_experts, num_shared=c.num_shared_experts, router="", scores="gate")
            if kind[1] == "sparse"
            else mlp(c)
        ),
        kinds=kinds(c, "layer_types", "mlp_layer_types"),
    )
    return with_head(c, tower)


def _attention(c: Config, kind: object) -> Attention:
    turns = c.sliding_window is None or kind == "sliding_attention"
    return attention(c, qk_norm="head", window=sliding_window(c, kind), position="rope" if turns else "none")
