"""Linear attention whose state forgets and corrects itself: gated delta nets and Kimi delta attention."""

from __future__ import annotations

from archscope.blocks.base import Block, Flow, Group, Port, group, weight
from archscope.blocks.leaves import conv, linear, rms_norm
from archscope.blocks.size import Size
from archscope.blocks.ssm import StateMixer


def delta_wiring(
    streams: tuple[str, ...], sides: tuple[str, ...], convs: tuple[str, ...], inner: int
) -> tuple[Flow, ...]:
    """Streams through their convolutions into the scan, decay and strength beside them, a gated norm, the way out.

    `streams` and `sides` are roles of projections; `convs` those of the convolutions, one for all or one a stream.
    """
    flows = [Flow(Port("in"), Port(role)) for role in (*streams, *sides)]
    for number, role in enumerate(streams):
        if convs:
            at = convs[min(number, len(convs) - 1)]
            flows += [Flow(Port(role), Port(at))]
        else:
            flows.append(Flow(Port(role), Port("#scan"), "cache"))
    flows += [Flow(Port(role), Port("#scan"), "cache") for role in convs]
    for role in sides:
        flows.append(Flow(Port(role), Port("norm" if role == "gate" else "#scan")))
    flows += [
        Flow(Port("#scan", inner), Port("norm")),
        Flow(Port("norm", inner), Port("out_proj", inner)),
        Flow(Port("out_proj"), Port("out")),
    ]
    return tuple(flows)


def gated_delta_net(
    name: str,
    hidden: int,
    *,
    key_heads: int,
    value_heads: int,
    key_dim: int,
    value_dim: int,
    kernel: int,
    projections: tuple[Block, ...] = (),
    convs: tuple[Block, ...] = (),
    norm: str = "norm",
    out: str = "out_proj",
    gated: bool = True,
    fields: tuple[str, ...] = (),
) -> StateMixer:
    """A gated delta net: a matrix per value head that decays, and is corrected towards each new value.

    Shapes: queries and keys (key_heads, key_dim), values and gate (value_heads, value_dim), decay a and strength b one
    number a value head; state per layer value_heads x key_dim x value_dim. `projections` carry the roles in_proj or q, k,
    v, and gate, beta, decay; by default one matrix for q, k, v and one each for z, b, a. `convs` by default is one over
    queries, keys and values.
    Source: Gated Delta Networks (arXiv 2412.06464); transformers models/qwen3_next/modeling_qwen3_next.py.
    """
    keys, values = Size(key_heads, "h_k") * Size(key_dim, "d_k"), Size(value_heads, "h_v") * Size(value_dim, "d_v")
    heads = Size(value_heads, "h_v")
    channels = 2 * keys + values
    made = projections or (
        linear("in_proj_qkv", hidden, channels, role="in_proj"),
        linear("in_proj_z", hidden, values, role="gate"),
        linear("in_proj_b", hidden, heads, role="beta"),
        linear("in_proj_a", hidden, heads, role="decay"),
    )
    over = convs or (conv("conv1d", channels, channels, kernel, groups=channels, bias=False, role="conv"),)
    roles = tuple(part.role for part in made)
    return StateMixer(
        name=name,
        mechanism="gated delta net",
        inner=values,
        state_elements=int(heads * key_dim * value_dim),
        conv_elements=int(channels * kernel),
        conv_kernel=kernel,
        num_heads=heads,
        head_dim=value_dim,
        state_size=key_dim,
        num_groups=key_heads,
        heads_width=int(values),
        parts=(
            *made,
            *over,
            weight("dt_bias", heads),
            weight("A_log", heads),
            rms_norm(norm, Size(value_dim, "d_v"), role="norm"),
            linear(out, values, hidden, role="out_proj"),
        ),
        wiring=delta_wiring(
            tuple(r for r in roles if r in ("in_proj", "q", "k", "v")),
            tuple(r for r in roles if r in ("gate", "beta", "decay")),
            tuple(part.role for part in over),
            int(values),
        ),
        fields=fields,
    )


def kimi_delta_attention(
    name: str,
    hidden: int,
    *,
    num_heads: int,
    head_dim: int,
    kernel: int,
    low_rank: bool = True,
    decay_shape: tuple[int, ...] = (),
    out: str = "o_proj",
    fields: tuple[str, ...] = (),
) -> StateMixer:
    """Kimi delta attention: a delta net whose decay is its own for every channel of a key.

    Shapes: queries, keys, values and decay (num_heads, head_dim); decay and gate pass a rank of head_dim where
    `low_rank`; `decay_shape` is that of A_log, one number a head; state per layer num_heads x head_dim x head_dim.
    Source: Kimi Linear (arXiv 2510.26692); transformers models/kimi_linear/modeling_kimi_linear.py.
    """
    heads, width = Size(num_heads, "h"), Size(head_dim, "d_h")
    inner = heads * width
    streams = ("q", "k", "v")
    decay, gate = (
        _through_rank(letter, hidden, width, inner, role)
        if low_rank
        else linear(f"{letter}_proj", hidden, inner, role=role)
        for letter, role in (("f", "decay"), ("g", "gate"))
    )
    return StateMixer(
        name=name,
        mechanism="Kimi delta attention",
        inner=inner,
        state_elements=int(inner * width),
        conv_elements=int(3 * inner * kernel),
        conv_kernel=kernel,
        num_heads=heads,
        head_dim=width,
        state_size=width,
        heads_width=int(inner),
        parts=(
            *(linear(f"{s}_proj", hidden, inner, role=s) for s in streams),
            *(conv(f"{s}_conv1d", inner, inner, kernel, groups=inner, bias=False, role=f"{s}_conv") for s in streams),
            decay,
            weight("dt_bias", inner),
            weight("A_log", *(decay_shape or (1, 1, heads, 1))),
            linear("b_proj", hidden, heads, role="beta"),
            gate,
            rms_norm("o_norm", width, role="norm"),
            linear(out, inner, hidden, role="out_proj"),
        ),
        wiring=delta_wiring(streams, ("decay", "beta", "gate"), tuple(f"{s}_conv" for s in streams), int(inner)),
        fields=fields,
    )


def _through_rank(letter: str, hidden: int, rank: int, inner: int, role: str) -> Group:
    return group("", linear(f"{letter}_a_proj", hidden, rank), linear(f"{letter}_b_proj", rank, inner), role=role)
