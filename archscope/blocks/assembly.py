"""How blocks make a layer, layers a stack, stacks a tower: wirings and skeletons."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal

from archscope.blocks.base import Block, Flow, Port, Repeating, present
from archscope.blocks.patterns import best_pattern
from archscope.records import dataclass

TowerRole = Literal["text", "encoder", "decoder", "vision", "audio", "other"]
Fidelity = Literal["exact", "introspected", "from-weights", "inferred"]
"""How names and shapes are known, from best to worst."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Branch:
    """One body with the norms that are its own: scale * post(body(pre(x))).

    `joins` is the number of a later sublayer whose add takes the branch, where it is not that of its own.
    """

    body: Block
    pre: Block | None = None
    post: Block | None = None
    scale: float | None = None
    joins: int | None = None

    def blocks(self) -> tuple[Block, ...]:
        """The blocks in the order of the flow."""
        return present(self.pre, self.body, self.post)


@dataclass(frozen=True, kw_only=True, slots=True)
class Sublayer:
    """What sits between one tap of the residual stream and its add.

    Computes after(x + sum over branches of branch(shared(x))); without the x where `residual` is False. Several branches
    run in parallel. `residual_scale` is a number that multiplies the x.
    """

    branches: tuple[Branch, ...]
    shared: Block | None = None
    after: Block | None = None
    residual: bool = True
    residual_scale: float | None = None

    def blocks(self) -> tuple[Block, ...]:
        """The blocks in the order of the flow."""
        return present(self.shared, *(block for branch in self.branches for block in branch.blocks()), self.after)


@dataclass(frozen=True, kw_only=True, slots=True)
class Layer(Block):
    """A layer of a stack: sublayers along one residual stream.

    `extras` are modules of the layer outside the stream (per-layer inputs, scalars); `label` names the kind of layer
    where a stack has several ("sliding", "full", "dense", "moe"). `passes` is how often a token goes through it, where
    one layer's weights serve several depths; `caches` is for how many of them it keeps keys and values (None: all).
    `enters` is the width of what comes in where it is not that of the stream.
    """

    sublayers: tuple[Sublayer, ...]
    width: int
    enters: int | None = None
    label: str = ""
    extras: tuple[Block, ...] = ()
    passes: int = 1
    caches: int | None = None

    def children(self) -> tuple[Block, ...]:
        seen: dict[int, Block] = {}
        for sublayer in self.sublayers:
            for block in sublayer.blocks():
                seen.setdefault(id(block), block)
        for block in self.extras:
            seen.setdefault(id(block), block)
        return tuple(seen.values())

    @property
    def in_width(self) -> int | None:
        return self.width if self.enters is None else self.enters

    @property
    def out_width(self) -> int | None:
        return self.width

    def flows(self) -> tuple[Flow, ...]:
        """Every sublayer with its tap, its branches and its add."""
        flows: list[Flow] = []
        at = Port("in", self.in_width)
        for index, sublayer in enumerate(self.sublayers):
            at = self._wire(flows, at, index, sublayer)
        flows.append(Flow(at, Port("out", self.width)))
        return tuple(flows)

    def _wire(self, flows: list[Flow], at: Port, index: int, sublayer: Sublayer) -> Port:
        tap, add = at, Port(f"#add{index}", self.width)
        if sublayer.shared is not None:
            flows.append(Flow(at, Port(_key(sublayer.shared), sublayer.shared.in_width)))
            at = Port(_key(sublayer.shared), sublayer.shared.out_width)
        joined = sublayer.residual or len(sublayer.branches) > 1
        last = at
        for branch in sublayer.branches:
            here = at
            for block in branch.blocks():
                flows.append(Flow(here, Port(_key(block), block.in_width)))
                out = block.out_width
                here = Port(_key(block), here.width if out is None else out)
            if branch.joins is not None:
                flows.append(Flow(here, Port(f"#add{branch.joins}", self.width)))
                continue
            if joined:
                flows.append(Flow(here, add))
            last = here
        if sublayer.residual:
            flows.append(Flow(tap, add, "residual"))
        last = add if joined else last
        if sublayer.after is not None:
            flows.append(Flow(last, Port(_key(sublayer.after), sublayer.after.in_width)))
            last = Port(_key(sublayer.after), sublayer.after.out_width)
        return last


@dataclass(frozen=True, slots=True)
class Run:
    """A pattern of layers that repeats: layers first, first + 1, ... of kinds pattern[0], pattern[1], ... over and over.

    Units: first and len(pattern) · repeats are layers.
    """

    pattern: tuple[Layer, ...]
    first: int
    repeats: int

    @property
    def last(self) -> int:
        """Number of the last layer of the run."""
        return self.first + len(self.pattern) * self.repeats - 1


@dataclass(frozen=True, kw_only=True)
class Stack(Repeating, Block):
    """Numbered layers, kept by kind: `layers` holds each kind once, `order` which kind each layer is."""

    layers: tuple[Layer, ...] = ()
    order: tuple[int, ...] = ()

    def children(self) -> tuple[Block, ...]:
        return self.layers

    def indexed(self) -> Iterator[tuple[str, Block]]:
        for number, kind in enumerate(self.order):
            yield str(number), self.layers[kind]

    def kinds(self) -> tuple[tuple[Block, int], ...]:
        return tuple((layer, self.order.count(kind)) for kind, layer in enumerate(self.layers))

    def __len__(self) -> int:
        return len(self.order)

    def layer(self, number: int) -> Layer:
        """The kind of layer that stands at a number."""
        return self.layers[self.order[number]]

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """The order as runs of repeating patterns, longest cover first from the left."""
        runs = []
        at = 0
        while at < len(self.order):
            length, repeats = best_pattern(self.order, at)
            pattern = tuple(self.layers[kind] for kind in self.order[at : at + length])
            runs.append(Run(pattern, at, repeats))
            at += length * repeats
        return tuple(runs)

    @property
    def in_width(self) -> int | None:
        return self.layers[0].in_width if self.layers else None

    @property
    def out_width(self) -> int | None:
        return self.layers[-1].out_width if self.layers else None

    def flows(self) -> tuple[Flow, ...]:
        """None between the kinds: the structure wires the runs."""
        return ()


@dataclass(frozen=True, kw_only=True)
class StripedStack(Stack):
    """A stack whose layers are saved as lists side by side: all attentions, then all norms, then all feed-forward blocks.

    The first segment of each name in a layer is that of the list, the layer's number follows it.
    """

    striped: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Tower(Block):
    """A stack with what stands before and after it: embeddings, layers, final norm.

    `tower` says which one it is; those other than text, encoder and decoder are counted as one component. `pointer` is
    that of the config that describes it.
    """

    parts: tuple[Block, ...]
    tower: TowerRole = "text"
    model_type: str = ""
    pointer: str = ""
    width: int = 0

    def children(self) -> tuple[Block, ...]:
        return self.parts

    @property
    def is_main(self) -> bool:
        """Whether it reads or writes the text itself."""
        return self.tower in ("text", "encoder", "decoder")

    @property
    def stacks(self) -> tuple[Stack, ...]:
        """The stacks of the tower, in order."""
        return tuple(part for part in self.parts if isinstance(part, Stack))

    @property
    def in_width(self) -> int | None:
        return None

    def flows(self) -> tuple[Flow, ...]:
        """Embeddings summed, then the rest in a chain."""
        embeddings = [part for part in self.parts if part.role == "embedding"]
        rest = [part for part in self.parts if part.role != "embedding" and not part.role.startswith("side")]
        flows: list[Flow] = []
        at = Port("in")
        for part in embeddings:
            flows.append(Flow(Port("in"), Port(part.name or part.role)))
        if len(embeddings) == 1:
            at = Port(embeddings[0].name or embeddings[0].role, embeddings[0].out_width)
        elif embeddings:
            width = embeddings[0].out_width
            flows += [Flow(Port(part.name or part.role, part.out_width), Port("#embed", width)) for part in embeddings]
            at = Port("#embed", width)
        for part in rest:
            flows.append(Flow(at, Port(part.name or part.role, part.in_width)))
            at = Port(part.name or part.role, at.width if part.out_width is None else part.out_width)
        flows.append(Flow(at, Port("out")))
        return tuple(flows)


@dataclass(frozen=True, kw_only=True, slots=True)
class Head(Block):
    """What turns the last hidden states into the answer of the class: logits, labels, spans.

    `chained` is False where the parts answer side by side, each from inputs of its own.
    """

    component: ClassVar[str] = "head"

    parts: tuple[Block, ...]
    task: str = "causal_lm"
    softcap: float | None = None
    chained: bool = True

    def children(self) -> tuple[Block, ...]:
        return self.parts

    def flows(self) -> tuple[Flow, ...]:
        """A chain of parts, whose answers (role "logits") each leave it; or parts side by side where not chained.

        Parts whose role starts with "side" stand beside it.
        """
        flows: list[Flow] = []
        at = Port("in")
        if not self.chained:
            for part in self.parts:
                flows += [Flow(at, Port(part.role or part.name)), Flow(Port(part.role or part.name), Port("out"))]
            return tuple(flows)
        for part in self.parts:
            if part.role.startswith("side"):
                continue
            key = part.name if part.role.endswith("logits") else part.role or part.name
            flows.append(Flow(at, Port(key, part.in_width)))
            if part.role.endswith("logits"):
                flows.append(Flow(Port(key, part.out_width), Port("out")))
            else:
                at = Port(key, part.out_width if part.out_width is not None else at.width)
        return tuple(flows)


@dataclass(frozen=True, kw_only=True, slots=True)
class Opaque(Block):
    """A part of a composite model whose model type has no builder: its tensors are not known."""

    model_type: str
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """All of a model class: towers, projectors, heads.

    `tied` pairs names that share a tensor with the name that is saved; `extra` are parts that a checkpoint may carry and
    transformers does not build (next-token-prediction layers), counted apart. `partial` says what is not known, "" if
    everything is. `fidelity` is that of the way it was made, where all values are as they should be.
    """

    parts: tuple[Block, ...]
    partial: str = ""
    fidelity: Fidelity = "exact"
    tied: tuple[tuple[str, str], ...] = ()
    extra: tuple[Block, ...] = ()

    @property
    def towers(self) -> tuple[Tower, ...]:
        """The towers in order."""
        return tuple(part for part in self.parts if isinstance(part, Tower))

    @property
    def main(self) -> Tower | None:
        """The tower that reads or writes the text: text or decoder first, else the first one."""
        order = ("text", "decoder", "encoder")
        ranked = sorted(self.towers, key=lambda t: order.index(t.tower) if t.is_main else len(order))
        return ranked[0] if ranked else None


def pre_norm(*pairs: tuple[Block, Block]) -> tuple[Sublayer, ...]:
    """x + body(norm(x)) for every (norm, body)."""
    return tuple(Sublayer(branches=(Branch(pre=norm, body=body),)) for norm, body in pairs)


def post_norm(*pairs: tuple[Block, Block]) -> tuple[Sublayer, ...]:
    """x + norm(body(x)) for every (body, norm): the norm is inside the branch."""
    return tuple(Sublayer(branches=(Branch(body=body, post=norm),)) for body, norm in pairs)


def post_add_norm(*pairs: tuple[Block, Block]) -> tuple[Sublayer, ...]:
    """norm(x + body(x)) for every (body, norm): the first Transformer's order."""
    return tuple(Sublayer(branches=(Branch(body=body),), after=norm) for body, norm in pairs)


def sandwich_norm(*triples: tuple[Block, Block, Block]) -> tuple[Sublayer, ...]:
    """x + post(body(pre(x))) for every (pre, body, post)."""
    return tuple(Sublayer(branches=(Branch(pre=pre, body=body, post=post),)) for pre, body, post in triples)


def parallel(*bodies: Block, norm: Block | None = None, norms: Sequence[Block] = ()) -> tuple[Sublayer, ...]:
    """x + sum of bodies, after one shared norm or one norm each."""
    if norms:
        branches = tuple(Branch(pre=pre, body=body) for pre, body in zip(norms, bodies, strict=True))
    else:
        branches = tuple(Branch(body=body) for body in bodies)
    return (Sublayer(branches=branches, shared=norm),)


def stack(
    name: str, kinds: Sequence[Hashable], layer: Callable[[Any], tuple[Sublayer, ...] | Layer], *, width: int
) -> Stack:
    """A stack of one layer per entry of `kinds`; equal entries are one kind, built once.

    `layer` gets the entry and returns the layer, or its sublayers.
    """
    numbers: dict[Hashable, int] = {}
    layers: list[Layer] = []
    order = []
    for kind in kinds:
        number = numbers.get(kind)
        if number is None:
            number = numbers[kind] = len(layers)
            built = layer(kind)
            if not isinstance(built, Layer):
                built = Layer(sublayers=built, width=width, label=_label(kind))
            layers.append(built)
        order.append(number)
    return Stack(name=name, role="layers", layers=tuple(layers), order=tuple(order))


def _key(block: Block) -> str:
    """What an edge calls a part of a layer: its name, or its role where its modules are the layer's own."""
    return block.name or block.role


def _label(kind: Hashable) -> str:
    if isinstance(kind, tuple):
        return " · ".join(filter(None, (_label(part) for part in kind)))
    return kind.replace("_", " ") if isinstance(kind, str) else ""
