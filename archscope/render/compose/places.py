"""Blocks with the layers that they stand in, grouped into what a figure draws as one node."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, join
from archscope.blocks.latent_attention import LatentAttention
from archscope.blocks.layer_scale import LayerScale
from archscope.blocks.leaves import Norm
from archscope.blocks.moe import Moe
from archscope.costs.parameters import active_of_block, of_block
from archscope.records import dataclass
from archscope.render.compose.context import Context
from archscope.render.compose.labels import Label, label
from archscope.render.figure import Kind, Node, Words
from archscope.render.quantities import count, plural
from archscope.structure.placed import ranges

MOST_ALTERNATIVES = 4


@dataclass(frozen=True, slots=True)
class Use:
    """A block at one place of a layer, with the numbers of the layers that have it there.

    `path` is that of the stack, `pointer` that of the config that describes it. A layer that is `alone` stands in no
    stack, and its path has no number.
    """

    block: Block
    numbers: tuple[int, ...]
    path: str
    pointer: str
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Alternative:
    """Uses that look the same: one node.

    `exact` says that the label's numbers hold for all of them.
    """

    label: Label
    uses: tuple[Use, ...]
    exact: bool = True

    @property
    def numbers(self) -> tuple[int, ...]:
        """The layers, ascending."""
        return tuple(sorted(number for use in self.uses for number in use.numbers))

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The different blocks."""
        return tuple({id(use.block): use.block for use in self.uses}.values())

    @property
    def params(self) -> int:
        """Parameters in all the layers."""
        return sum(of_block(use.block) * len(use.numbers) for use in self.uses)


def alternatives(uses: Sequence[Use]) -> tuple[Alternative, ...]:
    """The uses as few nodes: equal labels are one; past four, equal titles are; past that, the rest is one."""
    labelled = [(label(use.block), use) for use in uses]
    groups = _grouped((named, named, use) for named, use in labelled)
    if len(groups) > MOST_ALTERNATIVES:
        groups = _grouped((named.title, named, use) for named, use in labelled)
    if len(groups) > MOST_ALTERNATIVES:
        kept, rest = groups[: MOST_ALTERNATIVES - 1], groups[MOST_ALTERNATIVES - 1 :]
        others = Label("other", (plural(len(rest), "further kind"),))
        groups = [*kept, Alternative(others, tuple(use for group in rest for use in group.uses), False)]
    return tuple(groups)


def _grouped(keyed: Iterable[tuple[object, Label, Use]]) -> list[Alternative]:
    found: dict[object, tuple[Label, list[Use]]] = {}
    for key, named, use in keyed:
        found.setdefault(key, (named, []))[1].append(use)
    return [Alternative(named, tuple(uses), _is_exact(uses)) for named, uses in found.values()]


def _is_exact(uses: Sequence[Use]) -> bool:
    first = label(uses[0].block)
    return all(label(use.block) == first for use in uses[1:])


def path_of_uses(uses: Sequence[Use]) -> str:
    """The module path of a node: the layers as ranges, then the name of the block."""
    numbers = tuple(sorted(number for use in uses for number in use.numbers))
    block = uses[0].block
    path = join(uses[0].path if uses[0].alone else join(uses[0].path, ranges(numbers)), block.name)
    return path if block.name else f"{path}#{block.role.lstrip('#') or type(block).__name__.lower()}"


def node(
    ctx: Context,
    group: Alternative,
    *,
    suffix: str = "",
    title: Words = (),
    lines: tuple[Words, ...] | None = None,
) -> Node:
    """The node of a group of equal blocks. `suffix` is put behind the title of a norm: "(pre)"."""
    named = group.label
    is_norm = isinstance(group.uses[0].block, Norm | LayerScale)
    title = tuple(f"{word} {suffix}" if suffix and is_norm else word for word in title or named.title)
    made = Node(
        id=ctx.unique(path_of_uses(group.uses)),
        kind=named.kind,
        title=title,
        lines=() if is_norm else (_lines(group) if lines is None else lines),
        mono=named.mono,
        shape="bar" if is_norm else "block",
        params=group.params,
        origins=ctx.origins(group.blocks, group.uses[0].pointer),
        badge=ctx.badge(*group.blocks),
    )
    ctx.drawn.append((made.id, group))
    return made


def _lines(group: Alternative) -> tuple[Words, ...]:
    facts = group.label.line if group.exact else ("sizes vary by layer",)
    block = group.uses[0].block
    if isinstance(block, Moe) and group.exact:
        total, active = of_block(block), active_of_block(block)
        with_size = tuple(f"{said} · {count(total)}" for said in facts)
        return ((*with_size, *facts), (f"{count(active)} active / token", f"{count(active)} active"))
    return tuple(filter(None, (facts, per_layer(group))))


def per_layer(group: Alternative) -> Words:
    """Parameters of one layer, or the range of them."""
    sizes = sorted({of_block(use.block) for use in group.uses})
    if not sizes[-1]:
        return ()
    least, most = count(sizes[0]), count(sizes[-1])
    said = most if least == most else f"{least} – {most}"
    many = len(group.numbers) > 1
    return (f"{said} params / layer", f"{said} / layer", said) if many else (f"{said} params", said)


def side_by_side(ctx: Context, groups: Sequence[Alternative], suffix: str = "") -> tuple[Node, ...]:
    """Nodes that share a place: named by what sets them apart where their shapes are equal, else by their numbers."""
    by_reach = _differ_in_reach(groups)
    limited = any(
        isinstance(block, Attention) and (block.window or block.chunk) for group in groups for block in group.blocks
    )
    return tuple(
        node(
            ctx,
            group,
            suffix=suffix,
            title=group.label.contrast if limited else (),
            lines=_slot_line(group, by_reach),
        )
        for group in groups
    )


def _differ_in_reach(groups: Sequence[Alternative]) -> bool:
    blocks = [group.uses[0].block for group in groups]
    if not all(isinstance(block, Attention | LatentAttention) and group.exact
               for block, group in zip(blocks, groups, strict=True)):  # fmt: skip
        return False
    return len({label(block).line for block in blocks}) == 1 and len({of_block(block) for block in blocks}) == 1


def _slot_line(group: Alternative, by_reach: bool) -> tuple[Words, ...]:
    if isinstance(group.uses[0].block, Moe):
        return _lines(group)
    facts = group.label.distinct if by_reach else group.label.line
    size = per_layer(group)
    if not group.exact:
        return tuple(filter(None, (size,)))
    if by_reach or not size:
        return (facts,) if facts else ()
    return (tuple(f"{said} · {size[-1]}" for said in facts) + facts,) if facts else (size,)


def kind_of(groups: Sequence[Alternative]) -> Kind:
    """One kind for several groups: the first one's if they agree in it."""
    kinds = {group.label.kind for group in groups}
    return groups[0].label.kind if len(kinds) == 1 else "other"
