"""The Mamba lineage: state-space mixers in place of attention, one sublayer a layer."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, pre_norm
from archscope.blocks.factories import size
from archscope.blocks.leaves import rms_norm
from archscope.blocks.skeletons import decoder, with_head
from archscope.blocks.ssm import mamba2_mixer
from archscope.config import Config
from archscope.families.registry import family


@family("mamba2")
def mamba2(c: Config) -> Architecture:
    """Layers of x + mixer(norm(x)) with scalar-decay heads.

    Source: transformers, models/mamba2/modeling_mamba2.py; arXiv 2405.21060.
    """
    d = size(c, "hidden_size")
    tower = decoder(
        c,
        lambda kind: pre_norm(
            (
                rms_norm("norm", d),
                mamba2_mixer(
                    "mixer",
                    d,
                    inner=int(c.expand * c.hidden_size),
                    num_heads=c.num_heads,
                    head_dim=c.head_dim,
                    state_size=c.state_size,
                    num_groups=c.n_groups,
                    kernel=c.conv_kernel,
                    bias=c.use_bias,
                    conv_bias=c.use_conv_bias,
                    fields=("expand", "num_heads", "head_dim", "state_size", "n_groups", "conv_kernel"),
                ),
            )
        ),
        kinds=("",) * c.num_hidden_layers,
        embed="embeddings",
        final_norm=rms_norm("norm_f", d),
    )
    return with_head(c, tower, prefix="backbone", token_table="embeddings")
