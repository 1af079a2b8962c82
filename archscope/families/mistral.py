"""The Mistral lineage: Llama's layer with a sliding window, and its mixture of experts."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, pre_norm
from archscope.blocks.factories import attention, mlp, moe, size
from archscope.blocks.leaves import rms_norm
from archscope.blocks.skeletons import decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("mistral")
def mistral(c: Config) -> Architecture:
    """Pre-norm decoder without biases; every layer slides where sliding_window is set.

    Source: transformers, models/mistral/modeling_mistral.py.
    """
    d = size(c, "hidden_size")
    tower = decoder(
        c,
        lambda kind: pre_norm(
            (rms_norm("input_layernorm", d), attention(c, window=c.sliding_window)),
            (rms_norm("post_attention_layernorm", d), mlp(c)),
        ),
        final_norm=rms_norm("norm", d),
    )
    return with_head(c, tower)


@family("mixtral")
def mixtral(c: Config) -> Architecture:
    """Mistral's decoder with softmax-routed experts in place of the MLP.

    Source: transformers, models/mixtral/modeling_mixtral.py.
    """
    d = size(c, "hidden_size")
    fields = ("num_local_experts", "num_experts_per_tok", "intermediate_size")
    tower = decoder(
        c,
        lambda kind: pre_norm(
            (rms_norm("input_layernorm", d), attention(c, window=c.sliding_window)),
            (
                rms_norm("post_attention_layernorm", d),
                moe(
                    c,
                    name="block_sparse_moe",
                    num_experts=c.num_local_experts,
                    top_k=c.num_experts_per_tok,
                    width=c.intermediate_size,
                    names=("w1", "w3", "w2"),
                    normalised=True,
                    fields=fields,
                ),
            ),
        ),
        final_norm=rms_norm("norm", d),
    )
    return with_head(c, tower)
