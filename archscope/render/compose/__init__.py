"""From a model to what its figure says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from archscope.blocks.assembly import Stack, Tower
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, Group
from archscope.blocks.latent_attention import LatentAttention
from archscope.blocks.layer_scale import LayerScale
from archscope.blocks.leaves import Conv, Embedding, Linear, Norm
from archscope.blocks.mlp import Mlp
from archscope.blocks.moe import Moe
from archscope.blocks.ssm import StateMixer
from archscope.costs.parameters import count
from archscope.errors import RenderError
from archscope.render.compose import attention, feed_forward, flow, latent, state
from archscope.render.compose.badges import Badges, listed
from archscope.render.compose.chains import beside, prediction
from archscope.render.compose.columns import columns
from archscope.render.compose.context import Context
from archscope.render.compose.harmless import harmless
from archscope.render.compose.header import chips, memory, name_of
from archscope.render.compose.outline import Outline, outline
from archscope.render.compose.pattern import strip
from archscope.render.compose.places import Alternative
from archscope.render.compose.prose import describe
from archscope.render.compose.shares import bars
from archscope.render.figure import Column, Crossing, Figure, Panel, Strip

if TYPE_CHECKING:
    from archscope.engine import Model

__all__ = ["compose"]

MOST_PANELS = 5
Named = tuple[str, Alternative]
Maker = Callable[[Context, Sequence[Named], str], Panel]


def compose(model: Model) -> Figure:
    """Everything that the figure of a model says.

    Raises: RenderError where the model has no structure.
    """
    structure = model.structure
    if structure is None:
        raise RenderError(_why_not(model))
    ctx = Context(structure, model.document, Badges(structure, model.diagnostics))
    plan = outline(structure.architecture)
    parameters = count(structure.architecture)
    stacks = columns(ctx, plan)
    name = name_of(model.document, structure.config.model_type)
    strips = _strips(plan)
    details = _details(ctx, stacks)
    further = beside(ctx, plan)
    remarks = (*_trust(model), *ctx.remarks)
    figure = Figure(
        name=name,
        model_class=structure.config.model_class or structure.config.model_type,
        source=ctx.file,
        chips=chips(ctx, plan, parameters),
        columns=stacks,
        panels=(*prediction(ctx, structure.architecture), *details, *further),
        strips=strips,
        bars=bars(structure, parameters),
        findings=listed(model.diagnostics),
        description=describe(name, stacks, strips, parameters.total, remarks),
        crossings=_crossings(ctx, stacks),
        remarks=remarks,
        memory=memory(ctx, plan, parameters),
    )
    return harmless(figure)


def _why_not(model: Model) -> str:
    if model.is_foreign:
        return f"{model.document.name} is not the configuration of a model, so there is nothing to draw"
    model_type = model.config.model_type
    if not model_type:
        said = f"{model.document.name} does not say its model_type, so there is nothing to draw"
        return f"{said}; run `archscope check` on it"
    errors = sum(one.severity.value == "error" for one in model.diagnostics)
    if errors:
        return f"no structure follows from {model.document.name}: run `archscope check` on it and mend its errors first"
    return f"archscope has no builder for model type {model_type[:80]!r}, so there is no structure to draw"


def _trust(model: Model) -> tuple[str, ...]:
    structure = model.structure
    assert structure is not None
    said = [structure.architecture.partial] if structure.architecture.partial else []
    parts = [(at, _reason(at.block)) for at in structure.opaque]
    said += [f"{at.path or at.block.name}: {why}" for at, why in parts if why not in said][:3]
    if model.fidelity != "exact":
        said.insert(0, f"fidelity: {model.fidelity}")
    return tuple(said)


def _reason(block: Block) -> str:
    return str(getattr(block, "reason", "")) or "tensors not known"


def _strips(plan: Outline) -> tuple[Strip, ...]:
    found = []
    several = len(plan.stacks) > 1
    for part in plan.stacks:
        stacks = part.block.parts if isinstance(part.block, Tower) else ()
        for stack in stacks:
            if isinstance(stack, Stack):
                title = f"Layer pattern, {part.block.name or stack.name}" if several else "Layer pattern"
                made = strip(stack, title)
                found += [made] if made is not None else []
    return tuple(found)


def _crossings(ctx: Context, stacks: Sequence[Column]) -> tuple[Crossing, ...]:
    if len(stacks) < 2:
        return ()
    for node_id, group in ctx.drawn:
        block = group.uses[0].block
        if isinstance(block, Attention) and block.is_cross:
            return (Crossing(node_id, "keys and values"),)
    return ()


# Panels of the mechanisms


def _details(ctx: Context, stacks: Sequence[Column]) -> tuple[Panel, ...]:
    """A panel for each mechanism of the stacks, from top to bottom; blocks of one shape share one."""
    subjects: dict[object, tuple[Maker, list[Named]]] = {}
    sparse = any(isinstance(group.uses[0].block, Moe) for _, group in ctx.drawn)
    for node_id, group in reversed(ctx.drawn):
        maker, key = _maker(group.uses[0].block)
        # Beside experts of the same make a dense block has nothing new to show.
        told = sparse and maker is feed_forward.panel
        if maker is not None and key is not None and not told:
            subjects.setdefault(key, (maker, []))[1].append((node_id, group))
    made = [
        maker(ctx, tuple(groups), groups[0][1].uses[0].pointer)
        for maker, groups in list(subjects.values())[:MOST_PANELS]
    ]
    if len(subjects) > len(made):
        ctx.remarks.append(f"{len(subjects) - len(made)} further mechanisms have no detail here")
    return tuple(made)


def _maker(block: Block) -> tuple[Maker | None, object | None]:
    """The panel that fits a block: one of the known grids, else one drawn from the block's own edges."""
    if isinstance(block, Attention) and attention.is_usual(block):
        return attention.panel, attention.key(block)
    if isinstance(block, LatentAttention) and latent.is_usual(block):
        return latent.panel, latent.key(block)
    if isinstance(block, StateMixer) and state.is_usual(block):
        return state.panel, state.key(block)
    if isinstance(block, Mlp) and feed_forward.is_usual(block):
        return feed_forward.panel, feed_forward.key(block)
    if isinstance(block, Moe):
        return feed_forward.moe_panel, feed_forward.moe_key(block)
    if isinstance(block, Norm | LayerScale | Linear | Conv | Embedding | Group):
        return None, None
    return flow.panel, flow.key(block)
