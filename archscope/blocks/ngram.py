"""Embeddings of n-grams: the last tokens, hashed into tables of prime sizes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

from archscope.blocks.base import Block, Flow, Port, Repeating, Weight, weight
from archscope.blocks.leaves import conv, linear, rms_norm
from archscope.blocks.size import Size
from archscope.records import dataclass

MOST_TABLES: Final = 4096
"""Tables that are counted one by one; a config with more is refused."""
WITNESSES: Final = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
"""Bases that decide primality of every number below 3.3e24 (Sorenson and Webster, arXiv 1509.00864)."""
LARGEST: Final = 10**18


@dataclass(frozen=True, kw_only=True, slots=True)
class ShardedTable(Repeating, Block):
    """One table saved in `shards` pieces of rows, the last one shorter.

    Shapes: (num_embeddings, dim) in all; shard_i has ceil(num_embeddings / shards) rows.
    """

    component: ClassVar[str] = "embedding"

    num_embeddings: int
    dim: int
    shards: int

    def _pieces(self) -> tuple[int, int, int]:
        """Rows of a full shard, how many full ones, rows of the last."""
        rows = -(-self.num_embeddings // self.shards)
        return rows, *divmod(self.num_embeddings, rows)

    def _shard(self, rows: int) -> Weight:
        return weight("weight", rows, self.dim)

    def children(self) -> tuple[Block, ...]:
        return tuple(part for part, _ in self.kinds())

    def indexed(self) -> Iterator[tuple[str, Block]]:
        number = 0
        for part, count in self.kinds():
            for _ in range(count):
                yield f"shard_{number}", part
                number += 1

    def kinds(self) -> tuple[tuple[Block, int], ...]:
        rows, full, rest = self._pieces()
        found: list[tuple[Block, int]] = [(self._shard(rows), full)] if full else []
        if rest:
            found.append((self._shard(rest), 1))
        return tuple(found)

    @property
    def in_width(self) -> int | None:
        return None

    @property
    def out_width(self) -> int | None:
        return self.dim

    def flows(self) -> tuple[Flow, ...]:
        return ()


@dataclass(frozen=True, kw_only=True, slots=True)
class NgramLayer(Block):
    """Adds to the residual streams what the last `ngram` tokens hash to, behind a gate and a causal convolution.

    Shapes: `tables` hashed tables of width dim / tables each, joined to (T, dim); keys (T, streams · d), values (T, d).
    Parts carry the roles table, key, value, key_norm, query_norm, conv_norm, conv.
    """

    component: ClassVar[str] = "embedding"

    ngram: int
    tables: int
    dim: int
    streams: int
    hidden: int
    parts: tuple[Block, ...]

    def children(self) -> tuple[Block, ...]:
        return self.parts

    @property
    def in_width(self) -> int | None:
        """None: it takes all residual streams at once, and the token numbers."""
        return None

    @property
    def out_width(self) -> int | None:
        """None: it gives to all residual streams at once."""
        return None

    def flows(self) -> tuple[Flow, ...]:
        """Hashed tokens to keys and values; the keys meet the streams, the gated values pass the convolution."""
        wide = self.streams * self.hidden
        return (
            Flow(Port("#tokens"), Port("table")),
            Flow(Port("#joined", self.dim), Port("key", self.dim)),
            Flow(Port("#joined", self.dim), Port("value", self.dim)),
            Flow(Port("table"), Port("#joined")),
            Flow(Port("key", wide), Port("key_norm", wide)),
            Flow(Port("in"), Port("query_norm")),
            Flow(Port("key_norm"), Port("#gate")),
            Flow(Port("query_norm"), Port("#gate")),
            Flow(Port("value", self.hidden), Port("#gate", self.hidden)),
            Flow(Port("#gate", wide), Port("conv_norm", wide)),
            Flow(Port("conv_norm", wide), Port("conv", wide)),
            Flow(Port("conv"), Port("#add")),
            Flow(Port("#gate"), Port("#add")),
            Flow(Port("#add"), Port("out")),
        )


def ngram_layer(
    name: str,
    hidden: int,
    *,
    streams: int,
    ngram: int,
    per_ngram: int,
    dim: int,
    base: int,
    index: int,
    multiple: int,
    shards: int,
    kernel: int,
) -> NgramLayer:
    """The `index`-th layer of n-gram embeddings; its table sizes are the next primes from `base` on.

    Raises: ValueError for more tables than anybody has.
    Source: transformers models/qwen4_exp/modeling_qwen4_exp.py (Qwen4ExpTextPLELayer, Qwen4ExpTextNGramEmbedding).
    """
    tables = (ngram - 1) * per_ngram
    rows = sum(primes_from(base, (index + 1) * tables)[index * tables :])
    wide = Size(streams, "n_hc") * hidden
    return NgramLayer(
        name=name,
        ngram=ngram,
        tables=tables,
        dim=dim,
        streams=streams,
        hidden=hidden,
        parts=(
            weight("ple_embedding.layer_multipliers", ngram, parameter=False),
            weight("ple_embedding.ngram_heads_vocab_sizes", tables, parameter=False),
            weight("ple_embedding.ngram_heads_offsets", tables, parameter=False),
            ShardedTable(
                name="ple_embedding.ngram_embedding",
                role="table",
                num_embeddings=-(-rows // multiple) * multiple,
                dim=dim // tables,
                shards=shards,
            ),
            linear("key_proj", dim, wide, role="key"),
            linear("value_proj", dim, hidden, role="value"),
            rms_norm("norm_key", wide, role="key_norm"),
            rms_norm("norm_query", wide, role="query_norm"),
            rms_norm("norm_conv", wide, role="conv_norm"),
            conv("conv1d", wide, wide, kernel, groups=wide, bias=False, role="conv"),
        ),
        fields=("ngram_size", "heads_per_ngram", "ple_embed_dim", "ngram_vocab_size_base"),
    )


def primes_from(start: int, count: int) -> list[int]:
    """The first `count` primes not below `start`. Raises: ValueError past the bounds of what is counted."""
    if count > MOST_TABLES or not 0 <= start <= LARGEST:
        raise ValueError(f"{count} hashed tables of about {start} rows are more than can be counted")
    found: list[int] = []
    number = start
    while len(found) < count:
        if _is_prime(number):
            found.append(number)
        number += 1
    return found


def _is_prime(number: int) -> bool:
    """Miller-Rabin with bases that make it exact in this range."""
    if number < 2:
        return False
    for base in WITNESSES:
        if number % base == 0:
            return number == base
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    return all(_passes(base, number, odd, twos) for base in WITNESSES)


def _passes(base: int, number: int, odd: int, twos: int) -> bool:
    power = pow(base, odd, number)
    if power in (1, number - 1):
        return True
    for _ in range(twos - 1):
        power = power * power % number
        if power == number - 1:
            return True
    return False
