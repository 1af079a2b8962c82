"""The consistency pass over the structure's edges, as a rule."""

from __future__ import annotations

from collections.abc import Iterator

from archscope.diagnostics import Severity
from archscope.rules.base import Context, Fails, Finding, Passes, Rule
from archscope.structure import Structure
from archscope.structure.structure import Mismatch


class WidthMismatch(Rule[Structure]):
    """Two blocks that are joined do not have the same width.

    ## What it checks
    Every edge of the structure graph: what a block gives out against what the next one takes in. The widths come from the
    fields of the config, so that two fields that contradict each other meet at an edge.

    ## Why it matters
    The model may well be built, since each matrix is made for itself; the first forward pass fails with a shape error.

    ## How to fix
    Change one of the fields that the message and the related places name.

    ## References
    The modeling file of the type in transformers.
    """

    name = "width-mismatch"
    severity = Severity.ERROR
    requires = ("out-of-range", "wrong-type", "indivisible-hidden-size", "indivisible-kv-heads")
    cases = (
        Passes("mamba2", hidden_size=64, expand=2, num_heads=8, head_dim=16),
        Fails("mamba2", hidden_size=64, expand=2, num_heads=8, head_dim=8, at="/expand"),
    )

    def check(self, target: Structure, ctx: Context) -> Iterator[Finding]:
        for mismatch in target.mismatches():
            yield self._finding(mismatch, ctx)

    def _finding(self, mismatch: Mismatch, ctx: Context) -> Finding:
        at, flow = mismatch.at, mismatch.flow
        config = ctx.root.at(at.pointer)
        names = [name for block in (at.block, *reversed(at.trail)) for name in block.fields if name in config]
        written = [name for name in dict.fromkeys(names) if config.pointer_of(name)]
        places = [ctx.place(config.pointer_of(name), f"{name} = {config.get(name)!r:.40}") for name in written[:4]]
        source, target = flow.source.role.lstrip("#"), flow.target.role.lstrip("#")
        path = at.path or type(at.block).__name__
        primary = ctx.place(config.pointer_of(written[0])) if written else ctx.place(at.pointer)
        message = f"in {path}, {source} gives {flow.source.width} values and {target} takes {flow.target.width}"
        return Finding(message, primary, related=places[1:])
