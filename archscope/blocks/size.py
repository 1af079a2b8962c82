"""Sizes that remember their symbol, so that a shape can be shown as a formula beside its number."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

SYMBOLS: Final = {
    "hidden_size": "d",
    "num_attention_heads": "h_q",
    "num_key_value_heads": "h_kv",
    "head_dim": "d_h",
    "intermediate_size": "m",
    "moe_intermediate_size": "m_e",
    "num_experts": "E",
    "num_experts_per_tok": "k",
    "vocab_size": "V",
    "num_hidden_layers": "L",
    "max_position_embeddings": "P",
    "kv_lora_rank": "r_kv",
    "q_lora_rank": "r_q",
    "qk_nope_head_dim": "d_nope",
    "qk_rope_head_dim": "d_rope",
    "v_head_dim": "d_v",
}
"""The literature's symbol of a canonical field."""


class Size(int):
    """A whole number with the symbol that it stands for.

    Sums, products and quotients keep a symbolic form; anything else gives a plain number, whose symbol is its digits.
    """

    symbol: str

    def __new__(cls, value: int, symbol: str = "") -> Size:
        """Make a size of `value`, shown as `symbol` (its digits if empty)."""
        self = super().__new__(cls, value)
        self.symbol = symbol or str(int(value))
        return self

    def __add__(self, other: int) -> Size:
        if not isinstance(other, int):
            return NotImplemented
        return Size(int(self) + int(other), f"{self.symbol} + {symbol_of(other)}")

    def __radd__(self, other: int) -> Size:
        if not isinstance(other, int):
            return NotImplemented
        return Size(int(other) + int(self), f"{symbol_of(other)} + {self.symbol}")

    def __mul__(self, other: int) -> Size:
        if not isinstance(other, int):
            return NotImplemented
        return Size(int(self) * int(other), f"{_factor(self)}·{_factor(other)}")

    def __rmul__(self, other: int) -> Size:
        if not isinstance(other, int):
            return NotImplemented
        return Size(int(other) * int(self), f"{_factor(other)}·{_factor(self)}")

    def __floordiv__(self, other: int) -> Size:
        if not isinstance(other, int):
            return NotImplemented
        return Size(int(self) // int(other), f"{_factor(self)}/{_factor(other)}")


def chunked(whole: int, pieces: int) -> tuple[int, ...]:
    """Sizes of at most `pieces` pieces, all but the last ceil(whole / pieces): how torch.chunk cuts."""
    step = -(-whole // pieces)
    return tuple(min(step, whole - at) for at in range(0, whole, step)) if step > 0 else ()


def symbol_of(value: int) -> str:
    """The symbol of a size, or the digits of a plain int."""
    return value.symbol if isinstance(value, Size) else str(value)


def formula(shape: Iterable[int]) -> str:
    """A shape in symbols: `h_q·d_h × d`."""
    return " × ".join(symbol_of(n) for n in shape)


def _factor(value: int) -> str:
    symbol = symbol_of(value)
    return f"({symbol})" if " + " in symbol else symbol
