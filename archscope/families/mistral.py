"""The Mistral lineage: Llama's layer with a sliding window, and its mixture of experts."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture
from archscope.blocks.factories import attention, mlp, moe
from archscope.blocks.moe import Moe
from archscope.blocks.skeletons import pre_norm_decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("mistral")
def mistral(c: Config) -> Architecture:
    """Pre-norm decoder without biases; every layer slides where sliding_window is set.

    Source: transformers, models/mistral/modeling_mistral.py.
    """
    tower = pre_norm_decoder(c, lambda kind: attention(c, window=c.sliding_window), lambda kind: mlp(c))
    return with_head(c, tower)


@family("mixtral")
def mixtral(c: Config) -> Architecture:
    """Mistral's decoder with softmax-routed experts in place of the MLP.

    Source: transformers, models/mixtral/modeling_mixtral.py.
    """
    tower = pre_norm_decoder(c, lambda kind: attention(c, window=c.sliding_window), lambda kind: _experts(c))
    return with_head(c, tower)


def _experts(c: Config) -> Moe:
    return moe(
        c,
        name="block_sparse_moe",
        num_experts=c.num_local_experts,
        top_k=c.num_experts_per_tok,
        width=c.intermediate_size,
        names=("w1", "w3", "w2"),
        normalised=True,
        fields=("num_local_experts", "num_experts_per_tok", "intermediate_size"),
    )
