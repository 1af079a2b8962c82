"""The Mamba lineage: state-space mixers in place of attention, one sublayer a layer."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, pre_norm
from archscope.blocks.base import Block
from archscope.blocks.factories import named_norm, size
from archscope.blocks.leaves import Norm, rms_norm
from archscope.blocks.selective_scan import selective_scan
from archscope.blocks.skeletons import decoder, with_head
from archscope.blocks.ssm import StateMixer, mamba2_mixer
from archscope.config import Config
from archscope.families.registry import family

FIELDS = ("expand", "state_size", "time_step_rank", "conv_kernel")


@family("mamba")
def mamba(c: Config) -> Architecture:
    """Layers of x + mixer(norm(x)) with a state per channel.

    Source: transformers, models/mamba/modeling_mamba.py; arXiv 2312.00752.
    """
    return _decoder(c, _mixer(c))


@family("falcon_mamba")
def falcon_mamba(c: Config) -> Architecture:
    """Mamba with norms without weights on step, B and C.

    Source: transformers, models/falcon_mamba/modeling_falcon_mamba.py (FalconMambaMixer).
    """
    sizes = {"dt": int(c.time_step_rank), "b": c.state_size, "c": c.state_size}
    norms = tuple(
        rms_norm(f"{name}_layernorm", width, role=f"{name}_norm", affine=False, eps=c.mixer_rms_eps)
        for name, width in sizes.items()
    )
    return _decoder(c, _mixer(c, norms))


@family("mamba2")
def mamba2(c: Config) -> Architecture:
    """Layers of x + mixer(norm(x)) with scalar-decay heads.

    Source: transformers, models/mamba2/modeling_mamba2.py; arXiv 2405.21060.
    """
    mixer = mamba2_mixer(
        "mixer",
        size(c, "hidden_size"),
        inner=int(c.expand * c.hidden_size),
        num_heads=c.num_heads,
        head_dim=c.head_dim,
        state_size=c.state_size,
        num_groups=c.n_groups,
        kernel=c.conv_kernel,
        bias=c.use_bias,
        conv_bias=c.use_conv_bias,
        fields=("expand", "num_heads", "head_dim", "state_size", "n_groups", "conv_kernel"),
    )
    return _decoder(c, mixer)


def _mixer(c: Config, norms: tuple[Norm, ...] = ()) -> StateMixer:
    return selective_scan(
        "mixer",
        size(c, "hidden_size"),
        inner=c.intermediate_size,
        state_size=c.state_size,
        rank=int(c.time_step_rank),
        kernel=c.conv_kernel,
        bias=c.use_bias,
        conv_bias=c.use_conv_bias,
        norms=norms,
        fields=FIELDS,
    )


def _decoder(c: Config, mixer: Block) -> Architecture:
    norm = named_norm(c)
    tower = decoder(
        c,
        lambda kind: pre_norm((norm("norm"), mixer)),
        kinds=("",) * c.num_hidden_layers,
        embed="embeddings",
        final_norm=norm("norm_f"),
    )
    return with_head(c, tower, prefix="backbone", token_table="embeddings")
