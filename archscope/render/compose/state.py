"""The panel of a mixer with a state of fixed size: Mamba, linear attention, short convolution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from archscope.blocks.base import Block, Weight
from archscope.blocks.leaves import Norm
from archscope.blocks.ssm import StateMixer
from archscope.costs.parameters import of_block
from archscope.render.compose.context import Context
from archscope.render.compose.grid import Grid, at, stream, widths
from archscope.render.compose.labels import label
from archscope.render.compose.places import Alternative
from archscope.render.figure import Panel, Words
from archscope.render.quantities import count, in_bytes, whole

STATE_BYTES = 4
"""Recurrent states are kept in float32."""
USUAL = ("in_proj", "conv", "norm", "out_proj", "")
GATES = ("z", "gate", "g")
STEPS = ("dt", "delta")
MOST_INPUTS = 4


def key(block: StateMixer) -> object:
    """Blocks with equal keys share a panel."""
    parts = tuple((part.name, part.role, part.in_width, part.out_width) for part in block.parts)
    return ("state", block.mechanism, block.state_elements, parts)


def is_usual(block: StateMixer) -> bool:
    """Whether the grid has a place for everything in the block: one input matrix that is cut into streams."""
    return bool(block.split) and not block.wiring and all(part.role in USUAL for part in block.parts)


def state_line(block: StateMixer) -> tuple[Words, ...]:
    """What the recurrence keeps in a layer."""
    if not block.state_elements:
        return ()
    size = in_bytes(block.state_elements * STATE_BYTES)
    return ((f"state {size} fp32 per layer", f"state {size}"),)


def panel(ctx: Context, groups: Sequence[tuple[str, Alternative]], pointer: str) -> Panel:
    """Input projections, convolution, the scan over the state, norm, output projection."""
    block = groups[0][1].uses[0].block
    assert isinstance(block, StateMixer)
    inputs = _inputs(block)
    columns = 3 if len(inputs) <= 1 else min(len(inputs), MOST_INPUTS)
    grid = Grid(ctx, groups[0][0], pointer, "ssm", columns)
    bypass, streams = _project(grid, block, inputs)
    streams = _convolve(grid, block, streams)
    last = _scan(grid, block, streams, columns, bypass)
    _leave(grid, block, last, bypass)
    return Panel(
        id=f"{groups[0][0]}#panel",
        kind="ssm",
        title=label(block).title,
        subtitle=_subtitle(block),
        columns=columns,
        cells=tuple(grid.cells),
        wires=tuple(grid.wires),
        inputs=tuple(grid.inputs),
        opens=tuple(node_id for node_id, _ in groups),
    )


def _subtitle(block: StateMixer) -> Words:
    if block.num_heads and block.head_dim and block.state_size:
        state = f"fixed state {whole(block.num_heads)} × {whole(block.head_dim)} × {whole(block.state_size)}"
    elif block.state_elements:
        state = f"fixed state of {whole(block.state_elements)} values"
    else:
        state = f"keeps {whole(block.conv_elements)} values" if block.conv_elements else "fixed state"
    return (f"{state}, no KV cache · {count(of_block(block))} params / layer", f"{state}, no KV cache", state)


def _inputs(block: StateMixer) -> tuple[Block, ...]:
    """The projections of the input, from left to right."""
    named = tuple(part for part in block.parts if part.role.startswith("in_proj"))
    return named or tuple(part for part in block.parts[:1] if not isinstance(part, Weight))


def _project(grid: Grid, block: StateMixer, inputs: Sequence[Block]) -> tuple[str, dict[str, tuple[str, float, float]]]:
    """The bottom row. Returns where the gate leaves it, and for each other stream (end, column, span)."""
    streams: dict[str, tuple[str, float, float]] = {}
    bypass = ""
    if len(inputs) > 1:
        for column, part in enumerate(inputs[:MOST_INPUTS]):
            streams[part.name] = (grid.part(part, column), column, 1)
        grid.enters(stream(block.in_width), *(end for end, _, _ in streams.values()))
        return bypass, streams
    if not inputs:
        return bypass, streams
    split = block.split if 1 < len(block.split) <= 3 else ()
    made = _wide(grid, inputs[0], split)
    grid.enters(stream(block.in_width), made)
    if not split:
        return bypass, {"x": (made, 0, grid.columns)}
    # The gate goes to the left, past the scan; what is left of the row is shared by the others.
    gate = next((name for name, _ in split if name in GATES), "")
    others = [name for name, _ in split if name != gate]
    bypass = at(made, 0) if gate else ""
    first = 1 if gate else 0
    for place, name in enumerate(others):
        span = grid.columns - first if len(others) == 1 else 1
        streams[name] = (
            at(made, first + place) if span == 1 else f"{made}@{first + (span - 1) / 2}",
            first + place,
            span,
        )
    return bypass, streams


def _wide(grid: Grid, part: Block, split: Sequence[tuple[str, int]]) -> str:
    made = grid.part(part, 0, grid.columns)
    if split:
        cell = grid.cells.pop()
        pieces = " + ".join(f"{name} {whole(width)}" for name, width in split)
        lines: tuple[Words, ...] = ((f"{whole(part.in_width or 0)} → {pieces}", widths(part)), (count(of_block(part)),))
        grid.put(replace(cell.node, lines=lines), cell.column, cell.span)
    return made


def _convolve(
    grid: Grid, block: StateMixer, streams: dict[str, tuple[str, float, float]]
) -> dict[str, tuple[str, float, float]]:
    conv = block.find("conv")
    steps = [name for name in streams if name in STEPS]
    if conv is None and not steps:
        return streams
    grid.next_row()
    moved = dict(streams)
    main = next((name for name in streams if name not in STEPS), "")
    if conv is not None and main:
        end, column, span = streams[main]
        said = f"conv1d, k = {whole(block.conv_kernel)}, SiLU" if block.conv_kernel else conv.name
        made = grid.op(
            "conv",
            (f"causal {said}", said, said.removesuffix(", SiLU"), "conv1d"),
            column,
            span,
            kind="ssm",
            shape="bar",
        )
        grid.wire(end, made)
        moved[main] = (made, column, span)
    for name in steps:
        end, column, span = streams[name]
        made = grid.op(f"softplus_{name}", (f"softplus({name})", name), column, span, shape="bar")
        grid.wire(end, made)
        moved[name] = (made, column, span)
    return moved


_SCANS = {"Mamba-2": "Selective state space (SSD)"}


def _scan(
    grid: Grid, block: StateMixer, streams: dict[str, tuple[str, float, float]], columns: int, bypass: str
) -> str:
    grid.next_row()
    first = 1 if bypass else 0
    title = _SCANS.get(block.mechanism, f"{label(block).title[0]} recurrence" if block.state_elements else "Gating")
    lines = list(state_line(block))
    drawn = ("in_proj", "conv", "norm", "out_proj")
    loose = [part.name for part in block.parts if not part.role.startswith(drawn) and part.name]
    if loose:
        lines.append((", ".join(loose[:6]) + (", …" if len(loose) > 6 else ""), f"{len(loose)} further tensors"))
    made = grid.op("scan", (title,), first, columns - first, kind="ssm", lines=tuple(lines))
    for end, column, span in streams.values():
        grid.wire(end, f"{made}@{column + (span - 1) / 2:g}")
    return made


def _leave(grid: Grid, block: StateMixer, last: str, bypass: str) -> None:
    norm = block.find("norm")
    if norm is not None or bypass:
        grid.next_row()
        name = label(norm).title[0] if isinstance(norm, Norm) else "norm" if norm is not None else ""
        said = f"gated {name}" if bypass and name else name or "× gate"
        if norm is not None:
            made = grid.norm(norm, 0, grid.columns, title=(said,))
        else:
            made = grid.op("gate", (said,), 0, grid.columns, shape="bar")
        middle = (grid.columns + (1 if bypass else 0)) / 2 - 0.5
        grid.wire(last, f"{made}@{middle:g}")
        if bypass:
            grid.wire(bypass, at(made, 0))
        last = made
    out = block.find("out_proj")
    if out is not None:
        grid.next_row()
        made = grid.part(out, (grid.columns - grid.wide) / 2, grid.wide)
        grid.wire(last, made)
        last = made
    grid.wire(last, "")
