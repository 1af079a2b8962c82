"""Llama after a search over its layers: each has a number of heads and a width of its own, or lacks one half."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from archscope.blocks.assembly import Architecture, Sublayer, pre_norm
from archscope.blocks.base import Block
from archscope.blocks.factories import attention, mlp, named_norm, size
from archscope.blocks.leaves import linear
from archscope.blocks.size import Size
from archscope.blocks.skeletons import decoder, pre_norm_decoder, with_head
from archscope.blocks.undeclared import completed_decoder, flag
from archscope.config import Config
from archscope.families.registry import family

ROUND_TO = 256
NOTHING = 0
ONE_MATRIX = -1


class _Kind(NamedTuple):
    """The key/value heads of the attention and the width of the MLP; NOTHING or ONE_MATRIX in place of either."""

    kv_heads: int
    width: int


@family("nemotron-nas")
def nemotron_nas(c: Config) -> Architecture:
    """Halves by block_configs: n_heads_in_group, ffn_mult, no_op, replace_with_linear.

    Source: nvidia/Llama-3_3-Nemotron-Super-49B-v1 (modeling_decilm.py, block_config.py); arXiv 2411.19146.
    """
    c = completed_decoder(c)
    norm = named_norm(c)

    def layer(kind: _Kind) -> tuple[Sublayer, ...]:
        halves = (("input_layernorm", _mixer(c, kind.kv_heads)), ("post_attention_layernorm", _inner(c, kind.width)))
        return pre_norm(*((norm(name), body) for name, body in halves if body is not None))

    kinds = tuple(_kind(c, one) for one in c.block_configs)
    return with_head(c, decoder(c, layer, kinds=kinds, final_norm=norm("norm")))


@family("deci")
def deci(c: Config) -> Architecture:
    """Llama with a number of key/value heads for each layer. Source: Deci/DeciLM-7B (modeling_decilm.py)."""
    c = completed_decoder(c)
    bias, kinds = flag(c, "attention_bias"), tuple(c.num_key_value_heads_per_layer)
    tower = pre_norm_decoder(
        c, lambda kind: attention(c, bias=bias, num_kv_heads=kind), lambda kind: mlp(c), kinds=kinds
    )
    return with_head(c, tower)


def _kind(c: Config, block: Mapping[str, Mapping[str, object]]) -> _Kind:
    heads, multiple = block["attention"].get("n_heads_in_group"), block["ffn"].get("ffn_mult")
    kv = c.num_attention_heads // heads if isinstance(heads, int) else NOTHING
    width = _width(multiple, c.hidden_size) if isinstance(multiple, int | float) else NOTHING
    return _Kind(_replaced(block["attention"], kv), _replaced(block["ffn"], width))


def _replaced(half: Mapping[str, object], size: int) -> int:
    if half.get("no_op"):
        return NOTHING
    return ONE_MATRIX if half.get("replace_with_linear") else size


def _width(multiple: float, hidden: int) -> int:
    """Two thirds of the multiple of the hidden size, rounded up."""
    inner = int(2 * multiple * hidden / 3)
    return -(-inner // ROUND_TO) * ROUND_TO


def _mixer(c: Config, kv_heads: int) -> Block | None:
    if kv_heads == NOTHING:
        return None
    d = size(c, "hidden_size")
    if kv_heads == ONE_MATRIX:
        return linear("self_attn.linear_attn", d, d)
    return attention(c, bias=flag(c, "attention_bias"), num_kv_heads=kv_heads)


def _inner(c: Config, width: int) -> Block | None:
    if width == NOTHING:
        return None
    d = size(c, "hidden_size")
    if width == ONE_MATRIX:
        return linear("mlp.linear_mlp", d, d)
    return mlp(c, width=Size(width, "m"), bias=flag(c, "mlp_bias"))
