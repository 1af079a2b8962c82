"""RWKV-5 and RWKV-6: a matrix of state for each head, decays that may depend on the token."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Branch, Sublayer, pre_norm
from archscope.blocks.base import Flow, Port, Weight, weight
from archscope.blocks.factories import named_norm, size
from archscope.blocks.leaves import Norm, layer_norm, linear
from archscope.blocks.mlp import Mlp
from archscope.blocks.size import Size
from archscope.blocks.skeletons import decoder, with_head
from archscope.blocks.ssm import StateMixer
from archscope.blocks.token_shift import ChannelMix
from archscope.blocks.undeclared import completed_decoder, first
from archscope.config import Config
from archscope.families.registry import family

STREAMS = ("key", "value", "receptance", "gate")
LOW_RANKS = {4096: (64, 128)}
"""Ranks of the mixes and of the decay by hidden size; the class has 32 and 64 for others."""


@family("rwkv5", "rwkv6")
def rwkv(c: Config) -> Architecture:
    """RWKV-4's layers around a recurrence with heads; RWKV-6 makes mixes and decays from the token itself.

    Source: RWKV/rwkv-5-world-3b, rwkv-6-world-1b6 (modeling_rwkv5.py, modeling_rwkv6.py); arXiv 2404.05892.
    """
    c = completed_decoder(c)
    d, norm = size(c, "hidden_size"), named_norm(c, "layer")
    newer = c.model_type == "rwkv6"

    def layer(kind: str) -> tuple[Sublayer, ...]:
        both = pre_norm((norm("ln1"), _time_mix(c, newer)), (norm("ln2"), _channel_mix(c, newer)))
        if kind != "first":
            return both
        return (Sublayer(branches=(Branch(body=norm("pre_ln")),), residual=False), *both)

    count = c.num_hidden_layers
    kinds = ("first",) * min(count, 1) + ("",) * (count - 1)
    tower = decoder(c, layer, kinds=kinds, embed="embeddings", layers="blocks", final_norm=layer_norm("ln_out", d))
    return with_head(c, tower, prefix="rwkv", lm_head="head", token_table="embeddings", tie=False)


def _time_mix(c: Config, newer: bool) -> StateMixer:
    """out(norm(scan) * silu(gate)); per head a state of head width by head width, decayed for each channel."""
    d, inner = size(c, "hidden_size"), Size(first(c, "attention_hidden_size", default=c.hidden_size), "d_att")
    width = Size(first(c, "head_dim", "head_size", default=64), "d_h")
    heads = Size(inner // width, "h")
    mixes = _token_mixes(d, inner, heads, width) if newer else _fixed_mixes(d, heads, width)
    norm = Norm(name="ln_x", size=inner, kind="group", bias=True, role="norm")
    return StateMixer(
        name="attention",
        mechanism="RWKV-6 time mix" if newer else "RWKV-5 time mix",
        inner=inner,
        state_elements=int(heads * width * width),
        conv_elements=int(d),
        conv_kernel=2,
        num_heads=heads,
        head_dim=width,
        state_size=width,
        heads_width=int(inner),
        parts=(
            *mixes,
            *(linear(stream, d, inner, role=stream) for stream in STREAMS),
            norm,
            linear("output", inner, d, role="out_proj"),
        ),
        wiring=(
            Flow(Port("in"), Port("#shift"), "cache"),
            *(Flow(Port("#shift"), Port(stream)) for stream in STREAMS),
            *(Flow(Port(stream, inner), Port("#scan", inner), "cache") for stream in ("key", "value")),
            Flow(Port("receptance", inner), Port("#scan", inner)),
            Flow(Port("#scan", inner), Port("norm", inner)),
            Flow(Port("norm", inner), Port("#gate", inner)),
            Flow(Port("gate", inner), Port("#gate", inner)),
            Flow(Port("#gate", inner), Port("out_proj", inner)),
            Flow(Port("out_proj"), Port("out")),
        ),
        fields=("attention_hidden_size", "head_size", "hidden_size"),
    )


def _fixed_mixes(d: int, heads: int, width: int) -> tuple[Weight, ...]:
    mixes = (weight(f"time_mix_{stream}", 1, 1, d) for stream in STREAMS)
    return (weight("time_decay", heads, width), weight("time_faaaa", heads, width), *mixes)


def _token_mixes(d: int, inner: int, heads: int, width: int) -> tuple[Weight, ...]:
    streams = ("w", "k", "v", "r", "g")
    mix, decay = LOW_RANKS.get(int(d), (32, 64))
    return (
        weight("time_maa_x", 1, 1, d),
        *(weight(f"time_maa_{stream}", 1, 1, d) for stream in streams),
        weight("time_maa_w1", d, len(streams) * mix),
        weight("time_maa_w2", len(streams), mix, d),
        weight("time_decay", 1, 1, inner),
        weight("time_decay_w1", d, decay),
        weight("time_decay_w2", decay, inner),
        weight("time_faaaa", heads, width),
    )


def _channel_mix(c: Config, newer: bool) -> Mlp:
    d, given = size(c, "hidden_size"), first(c, "intermediate_size")
    m = Size(int(c.hidden_size * 3.5) // 32 * 32 if given is None else given, "m")
    names = ("time_maa_k", "time_maa_r") if newer else ("time_mix_key", "time_mix_receptance")
    return ChannelMix(
        name="feed_forward",
        width=m,
        hidden=d,
        gated=True,
        activation="relu2",
        parts=(
            *(weight(name, 1, 1, d) for name in names),
            linear("key", d, m, role="up"),
            linear("receptance", d, d, role="gate"),
            linear("value", m, d, role="down"),
        ),
        fields=("intermediate_size", "hidden_size"),
    )
