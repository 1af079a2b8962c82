"""Blocks made from a config's canonical fields, with the literature's symbols in their shapes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, Literal

from archscope.blocks.attention import Attention, Position, Rope, head_norms
from archscope.blocks.base import Block, Weight, weight
from archscope.blocks.indexer import SparseIndexer
from archscope.blocks.latent_attention import LatentAttention
from archscope.blocks.leaves import Norm, NormKind, linear, rms_norm
from archscope.blocks.mlp import Mlp, fused_gated_mlp, gated_mlp, plain_mlp
from archscope.blocks.moe import Experts, Moe, Router
from archscope.blocks.size import SYMBOLS, Size
from archscope.config import Config

QUERY_KEY_VALUE_OUT = ("q_proj", "k_proj", "v_proj", "o_proj")
EPSILONS: Final = (
    "rms_norm_eps",
    "layer_norm_eps",
    "layer_norm_epsilon",
    "layernorm_epsilon",
    "norm_epsilon",
    "norm_eps",
)
"""The fields that hold the epsilon of a norm, in the order of the search."""
NO_SIZES: Final[Mapping[str, int | None]] = MappingProxyType({})


def size(c: Config, field: str) -> Size:
    """The whole number in a field, with its symbol."""
    return Size(getattr(c, field), SYMBOLS.get(field, field))


def num_labels(c: Config) -> Size:
    """How many labels a classifier tells apart: as many as id2label has, 2 without it."""
    names, count = c.get("id2label"), c.get("num_labels")
    if count is None:
        count = len(names) if isinstance(names, Mapping) else 2
    return Size(count, "labels")


def head_size(c: Config) -> Size:
    """The width of one head: head_dim where the config has it, else hidden_size // num_attention_heads."""
    heads = c.num_attention_heads
    return Size(_head_dim(c, c.hidden_size, heads), "d_h")


def rope(c: Config, layer_type: str = "", *, dim: int | None = None, width: int | None = None) -> Rope | None:
    """The rotary embedding that layers of this type use; None where the config has none.

    `dim` is the rotated part of a head; where only the head's `width` is given, partial_rotary_factor of it.
    """
    by_type = c.rope
    found = by_type.get(layer_type) or by_type.get("")
    if found is None:
        return None
    if dim is None and width is not None:
        dim = int(width * (1.0 if found.partial_rotary_factor is None else found.partial_rotary_factor))
    parameters = found.parameters
    sections = parameters.get("mrope_section")
    return Rope(
        rope_type=found.rope_type,
        theta=found.rope_theta,
        factor=found.factor,
        dim=dim,
        original=_whole(parameters.get("original_max_position_embeddings")),
        maximum=_whole(c.get("max_position_embeddings")),
        sections=tuple(sections) if isinstance(sections, list) and all(map(_is_whole, sections)) else (),
    )


def attention(
    c: Config,
    *,
    name: str = "self_attn",
    names: tuple[str, str, str, str] = QUERY_KEY_VALUE_OUT,
    bias: bool = False,
    out_bias: bool | None = None,
    key_bias: bool | None = None,
    fused: str = "",
    gated_queries: bool = False,
    num_heads: int | None = None,
    num_kv_heads: int | None = None,
    head_dim: int | None = None,
    v_head_dim: int | None = None,
    hidden: int | None = None,
    memory: int | None = None,
    qk_norm: Literal["", "head", "full"] = "",
    norm_kind: NormKind = "rms",
    norm_names: tuple[str, str] = ("q_norm", "k_norm"),
    norm_bias: bool = False,
    late_norm: bool = False,
    extras: tuple[Block, ...] = (),
    causal: bool = True,
    cache: bool = True,
    layer_type: str = "",
    window: int | None = None,
    chunk: int | None = None,
    position: Position = "rope",
    scale: float | None = None,
    softcap: float | None = None,
    transposed: bool = False,
    rotary: Rope | None = None,
    fields: tuple[str, ...] = ("num_attention_heads", "num_key_value_heads", "head_dim", "hidden_size"),
) -> Attention:
    """Attention with separate or fused projections; sizes not given come from the canonical fields.

    `names` are those of query, key, value and output; `fused` is the name of one matrix for the first three;
    `gated_queries` has the query matrix make a gate on the output as well. `qk_norm` puts norms on queries and keys, per
    head or over all heads.
    """
    d = size(c, "hidden_size") if hidden is None else hidden
    heads = Size(c.num_attention_heads if num_heads is None else num_heads, "h_q")
    kv = Size(_kv_heads(c, heads) if num_kv_heads is None else num_kv_heads, "h_kv")
    width = Size(_head_dim(c, d, heads) if head_dim is None else head_dim, "d_h")
    v_width = width if v_head_dim is None else Size(v_head_dim, "d_v")
    source = d if memory is None else memory
    q, k, v, o = names
    k_bias = bias if key_bias is None else key_bias
    if fused:
        inputs: tuple[Block, ...] = (
            linear(fused, d, (heads + 2 * kv) * width, bias, role="qkv", transposed=transposed, fields=fields),
        )
    else:
        query = heads * (width + v_width) if gated_queries else heads * width
        inputs = (
            linear(q, d, query, bias, role="gq" if gated_queries else "q", transposed=transposed, fields=fields),
            linear(k, source, kv * width, k_bias, role="k", transposed=transposed, fields=fields),
            linear(v, source, kv * v_width, bias, role="v", transposed=transposed, fields=fields),
        )
    sizes = (width, width) if qk_norm == "head" else (heads * width, kv * width)
    norms = head_norms(norm_kind, *sizes, epsilon(c), names=norm_names, bias=norm_bias) if qk_norm else ()
    last = bias if out_bias is None else out_bias
    out = linear(o, heads * v_width, d, last, role="o", transposed=transposed, fields=fields)
    return Attention(
        name=name,
        num_heads=heads,
        num_kv_heads=kv,
        head_dim=width,
        v_head_dim=v_width,
        parts=(*inputs, *norms, *extras, out),
        causal=causal,
        cache=cache,
        window=window,
        chunk=chunk,
        position=position,
        rope=(rotary or rope(c, layer_type, width=int(width))) if position == "rope" else None,
        scale=scale,
        softcap=softcap,
        memory_width=memory,
        late_norm=late_norm,
        fields=fields,
    )


def sliding_window(c: Config, kind: object) -> int | None:
    """The window of a layer of this type: sliding_window for "sliding_attention", None (all positions) for others."""
    window = c.get("sliding_window") if kind == "sliding_attention" else None
    return _whole(window)


def latent_attention(
    c: Config,
    *,
    name: str = "self_attn",
    bias: bool = False,
    out: str = "o_proj",
    extras: tuple[Block, ...] = (),
    sizes: Mapping[str, int | None] = NO_SIZES,
    layer_type: str = "",
    window: int | None = None,
    scale: float | None = None,
    position: Literal["rope", "none"] = "rope",
    top_k: int | None = None,
) -> LatentAttention:
    """Multi-head latent attention from kv_lora_rank, q_lora_rank and the three head widths.

    `sizes` has the fields that differ in this kind of layer; `extras` (a gate, an indexer, further norms) stand before
    the output matrix, whose name is `out`. `top_k` is given where the indexer of a layer before chooses the positions.
    """

    def of(field: str) -> Size:
        return Size(sizes[field], SYMBOLS[field]) if field in sizes else size(c, field)  # type: ignore[arg-type]

    d, heads = size(c, "hidden_size"), of("num_attention_heads")
    nope, rotary, value = (of(f) for f in ("qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"))
    rank = of("kv_lora_rank")
    q_rank = None if sizes.get("q_lora_rank", c.get("q_lora_rank")) is None else of("q_lora_rank")
    query = heads * (nope + rotary)
    if q_rank is None:
        queries: tuple[Block, ...] = (linear("q_proj", d, query, role="q"),)
    else:
        queries = (
            linear("q_a_proj", d, q_rank, bias, role="q_a"),
            rms_norm("q_a_layernorm", q_rank, role="q_a_norm"),
            linear("q_b_proj", q_rank, query, role="q_b"),
        )
    return LatentAttention(
        name=name,
        num_heads=heads,
        nope_dim=nope,
        rope_dim=rotary,
        v_head_dim=value,
        kv_rank=rank,
        q_rank=q_rank,
        window=window,
        scale=scale,
        top_k=next((part.top_k for part in extras if isinstance(part, SparseIndexer)), top_k),
        rope=rope(c, layer_type, dim=int(rotary)) if rotary and position == "rope" else None,
        parts=(
            *queries,
            linear("kv_a_proj_with_mqa", d, rank + rotary, bias, role="kv_a"),
            rms_norm("kv_a_layernorm", rank, role="kv_a_norm"),
            linear("kv_b_proj", rank, heads * (nope + value), role="kv_b"),
            *extras,
            linear(out, heads * value, d, bias, role="o"),
        ),
        fields=(
            "num_attention_heads",
            "q_lora_rank",
            "kv_lora_rank",
            "qk_nope_head_dim",
            "qk_rope_head_dim",
            "v_head_dim",
        ),
    )


def mlp(
    c: Config,
    *,
    name: str = "mlp",
    kind: Literal["gated", "fused", "plain"] = "gated",
    names: tuple[str, ...] = (),
    bias: bool = False,
    hidden: int | None = None,
    width: int | None = None,
    activation: str | None = None,
    transposed: bool = False,
    role: str = "",
    fields: tuple[str, ...] = ("intermediate_size", "hidden_size"),
) -> Mlp:
    """A feed-forward block of intermediate_size: gated (gate, up, down), fused (gate_up, down) or plain (up, down)."""
    d = size(c, "hidden_size") if hidden is None else hidden
    m = size(c, "intermediate_size") if width is None else width
    act = _activation(c) if activation is None else activation
    # Saved without a name of its own, it needs a role for the edges.
    options: dict[str, Any] = {"name": name, "bias": bias, "role": role or ("" if name else "ffn"), "fields": fields}
    if names:
        options["names"] = names
    if kind == "gated":
        return gated_mlp(d, m, act, **options)
    if kind == "fused":
        return fused_gated_mlp(d, m, act, **options)
    return plain_mlp(d, m, act, transposed=transposed, **options)


def named_norm(
    c: Config, kind: NormKind = "rms", *, bias: bool = True, size_of: int | None = None
) -> Callable[[str], Norm]:
    """A maker of norms over the hidden size (or `size_of`), by name; the epsilon is the config's."""
    d = size(c, "hidden_size") if size_of is None else size_of
    eps = epsilon(c)
    return lambda name: Norm(name=name, size=d, kind=kind, bias=bias and kind != "rms", eps=eps)


def epsilon(c: Config) -> float | None:
    """The epsilon of the config's norms, None where no field names one."""
    return next((found for field in EPSILONS if isinstance(found := c.get(field), int | float)), None)


def stacked_experts(num_experts: int, hidden: int, width: int) -> tuple[Weight, ...]:
    """The experts' matrices in two tensors, gate and up in one: (E, 2 m_e, d) and (E, d, m_e)."""
    e, m = Size(num_experts, "E"), Size(width, "m_e")
    return (weight("gate_up_proj", e, 2 * m, hidden), weight("down_proj", e, hidden, m))


def moe(
    c: Config,
    *,
    name: str = "mlp",
    num_experts: int,
    top_k: int | None,
    width: int,
    hidden: int | None = None,
    router: str = "gate",
    scores: str = "",
    router_bias: bool = False,
    correction: Block | None = None,
    experts: str = "experts",
    names: tuple[str, ...] = ("gate_proj", "up_proj", "down_proj"),
    gated: bool = True,
    stacked: tuple[Weight, ...] = (),
    activation: str | None = None,
    scoring: Literal["softmax", "sigmoid", "sqrtsoftplus", "none"] = "softmax",
    normalised: bool = False,
    scale: float = 1.0,
    groups: int = 1,
    top_groups: int = 1,
    shared: Mlp | None = None,
    num_shared: int = 0,
    shared_gate: Block | None = None,
    fields: tuple[str, ...] = ("num_experts", "num_experts_per_tok", "moe_intermediate_size"),
) -> Moe:
    """Experts behind a linear router: saved one by one under `names`, or in the `stacked` tensors.

    `scores` names the router's matrix below the router; `names` are those of gate, up and down, or of up and down where
    the experts are not `gated`. `correction` is a saved bias on the scores that only steers the choice. `shared` is a block
    that every token passes.
    """
    d = size(c, "hidden_size") if hidden is None else hidden
    e, m = Size(num_experts, "E"), Size(width, "m_e")
    act = _activation(c) if activation is None else activation
    matrix = linear(scores, d, e, router_bias, role="scores")
    gate, up, down = names if gated else ("", *names)
    expert = (
        gated_mlp(d, m, act, name="", names=(gate, up, down))
        if gated
        else plain_mlp(d, m, act, name="", names=(up, down), bias=False)
    )
    return Moe(
        name=name,
        role="" if name else "ffn",
        fields=fields,
        router=Router(
            name=router,
            role="router",
            num_experts=e,
            top_k=top_k or 0,
            hidden=d,
            parts=(matrix,) if correction is None else (matrix, correction),
            scoring=scoring,
            normalised=normalised,
            scale=scale,
            groups=groups,
            top_groups=top_groups,
            bias_corrected=correction is not None,
            fields=fields,
        ),
        experts=Experts(
            name=experts,
            role="experts",
            count=e,
            active=top_k or 0,
            hidden=d,
            width=m,
            gated=gated,
            activation=act,
            expert=None if stacked else expert,
            stacked=stacked,
            fields=fields,
        ),
        shared=shared,
        num_shared=num_shared,
        shared_gate=shared_gate,
    )


def kinds(c: Config, *fields: str) -> tuple[Any, ...]:
    """What tells the layers apart: the per-layer list in a field, or several zipped; one kind for all without any."""
    count: int = c.num_hidden_layers
    lists = [c.get(field) for field in fields]
    found = [tuple(one) for one in lists if isinstance(one, list | tuple)]
    if not found:
        return ("",) * count
    columns = [one[:count] + (one[-1:] if one else ("",)) * (count - len(one)) for one in found]
    return columns[0] if len(columns) == 1 else tuple(zip(*columns, strict=True))


def _kv_heads(c: Config, heads: int) -> int:
    found = c.get("num_key_value_heads")
    return heads if found is None else int(found)


def _head_dim(c: Config, hidden: int, heads: int) -> int:
    found = c.get("head_dim")
    return hidden // heads if found is None else int(found)


def _activation(c: Config) -> str:
    for field in ("hidden_act", "hidden_activation", "activation_function"):
        found = c.get(field)
        if isinstance(found, str):
            return found
    return ""


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
