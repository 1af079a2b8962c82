"""Next-token-prediction layers: what a checkpoint carries past the last layer to guess further tokens.

transformers builds none of them with a model; they are extra parts of an architecture, shown and counted apart.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from archscope.blocks.assembly import Layer, Sublayer, stack
from archscope.blocks.base import Block, Flow, Port, Repeating
from archscope.blocks.factories import named_norm, size
from archscope.blocks.leaves import embedding, linear
from archscope.config import Config
from archscope.records import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class PredictionLayer(Block):
    """A layer over the last hidden state and the embedding of the next token, joined by one matrix (2d -> d).

    Parts carry the roles embedding, embed_norm, hidden_norm, join, layer, norm, logits; in place of the matrix that
    joins there may be one for each side (embed_proj, hidden_proj), whose outputs are added.
    Source: DeepSeek-V3 (arXiv 2412.19437) section 2.2, multi-token prediction.
    """

    parts: tuple[Block, ...]
    width: int

    def children(self) -> tuple[Block, ...]:
        return self.parts

    @property
    def in_width(self) -> int | None:
        return self.width

    def flows(self) -> tuple[Flow, ...]:
        """Token and hidden state, each normed, joined; then the layer and what follows it."""
        d = self.width
        flows = []
        at = Port("#token", d)
        join = "#add" if self.find("join") is None else "join"
        for part in self.parts:
            here = Port(part.role, part.in_width)
            if part.role == "embedding":
                flows.append(Flow(Port("#token"), Port(part.role)))
                at = Port(part.role, d)
            elif part.role == "embed_norm":
                flows.append(Flow(at, here))
                flows.append(Flow(Port(part.role, d), Port(join if self.find("embed_proj") is None else "embed_proj")))
            elif part.role == "hidden_norm":
                flows.append(Flow(Port("in", d), here))
                flows.append(
                    Flow(Port(part.role, d), Port(join if self.find("hidden_proj") is None else "hidden_proj"))
                )
                at = Port(join, d)
            elif part.role in ("embed_proj", "hidden_proj"):
                flows.append(Flow(Port(part.role, d), Port(join)))
            elif part.role != "join":
                flows.append(Flow(at, here))
                at = Port(part.role, part.out_width)
        flows.append(Flow(at, Port("out")))
        return tuple(flows)


@dataclass(frozen=True, kw_only=True, slots=True)
class PredictionLayers(Repeating, Block):
    """Equal prediction layers, numbered from `first` on."""

    layer: PredictionLayer
    first: int
    count: int

    def children(self) -> tuple[Block, ...]:
        return (self.layer,)

    def indexed(self) -> Iterator[tuple[str, Block]]:
        for number in range(self.first, self.first + self.count):
            yield str(number), self.layer

    def kinds(self) -> tuple[tuple[Block, int], ...]:
        return ((self.layer, self.count),)

    def flows(self) -> tuple[Flow, ...]:
        return ()


def prediction_layers(
    c: Config,
    layer: Callable[[Any], tuple[Sublayer, ...] | Layer],
    kind: Hashable,
    *,
    own_tables: bool = True,
    norm: str = "shared_head.norm",
    head: str = "shared_head.head",
) -> tuple[Block, ...]:
    """The layers past the last one that num_nextn_predict_layers declares, built like those of a kind.

    `own_tables` says whether checkpoints repeat the token table and the head in each of them; a `head` of another name
    is repeated alone.
    """
    count = next((n for f in ("num_nextn_predict_layers", "num_mtp_layers") if (n := c.get(f)) is not None), 0)
    if not isinstance(count, int) or count < 1:
        return ()
    d, vocabulary, made = size(c, "hidden_size"), size(c, "vocab_size"), named_norm(c)
    body = layer(kind)
    sublayers = body.sublayers if isinstance(body, Layer) else body
    extras = body.extras if isinstance(body, Layer) else ()
    tables: tuple[Block, ...] = (embedding("embed_tokens", vocabulary, d, role="embedding"),) if own_tables else ()
    repeats = own_tables or head != "shared_head.head"
    heads: tuple[Block, ...] = (linear(head, d, vocabulary, role="logits"),) if repeats else ()
    one = PredictionLayer(
        width=d,
        parts=(
            *tables,
            _as(made("enorm"), "embed_norm"),
            _as(made("hnorm"), "hidden_norm"),
            linear("eh_proj", 2 * d, d, role="join"),
            Layer(sublayers=sublayers, width=d, role="layer", extras=extras),
            _as(made(norm), "norm"),
            *heads,
        ),
    )
    name = "layers" if c.task == "model" else "model.layers"
    return (PredictionLayers(name=name, role="prediction", layer=one, first=c.num_hidden_layers, count=count),)


def joined_prediction(
    c: Config, layer: Callable[[Any], tuple[Sublayer, ...] | Layer], kinds: Sequence[Hashable]
) -> tuple[Block, ...]:
    """Layers of these kinds behind one matrix and one pair of norms, all under `mtp`; none without kinds.

    Source: the names of Qwen's and Mellum's checkpoints (transformers conversion_mapping.py, MtpModel).
    """
    if not kinds:
        return ()
    d, made = size(c, "hidden_size"), named_norm(c)
    return (
        PredictionLayer(
            name="mtp",
            role="prediction",
            width=d,
            parts=(
                _as(made("pre_fc_norm_embedding"), "embed_norm"),
                _as(made("pre_fc_norm_hidden"), "hidden_norm"),
                linear("fc", 2 * d, d, role="join"),
                _as(stack("layers", kinds, layer, width=d), "layer"),
                _as(made("norm"), "norm"),
            ),
        ),
    )


def _as(block: Block, role: str) -> Block:
    return replace(block, role=role)
