"""The width of feed-forward blocks, stated as what it really is."""

from __future__ import annotations

from collections.abc import Iterator

from archscope.blocks.assembly import Tower
from archscope.blocks.mlp import Mlp
from archscope.diagnostics import Severity
from archscope.rules.base import Context, Fails, Finding, Passes, Rule


class GatedFourTimes(Rule[Mlp]):
    """A gated feed-forward block uses exactly four times the hidden size.

    ## What it checks
    The effective ratio m/d of every gated feed-forward block of the text. Four is the habit of plain blocks (two matrices,
    8d² parameters); a gated one has three (3dm), and costs as much at m = 8d/3.

    ## Why it matters
    Nothing is wrong with it: several good models do so. But 3 x d x 4d is 12d², half as much again as the "4x" that people
    carry over from plain blocks. Worth knowing when a width was chosen by habit.

    ## How to fix
    Nothing to fix if it is meant. For the size of a plain 4d block use m near 8d/3, rounded to a multiple that suits the
    hardware.

    ## References
    GLU variants, arXiv 2002.05202 section 2 (the 2/3 rule).
    """

    name = "gated-ffn-four-times"
    severity = Severity.INFO
    requires = ("out-of-range", "wrong-type")
    cases = (
        Passes("llama", hidden_size=4096, intermediate_size=11008),
        Fails("llama", hidden_size=4096, intermediate_size=16384, at="/intermediate_size"),
        Passes("gpt2", n_embd=768),
    )

    def check(self, target: Mlp, ctx: Context) -> Iterator[Finding]:
        if not target.gated or target.role == "shared" or target.width != 4 * target.hidden:
            return
        around = ctx.placed.trail if ctx.placed is not None else ()
        if any(isinstance(block, Tower) and not block.is_main for block in around):
            return
        if not ctx.written("intermediate_size") or target.width != ctx.config.get("intermediate_size"):
            return
        d, m = int(target.hidden), int(target.width)
        yield Finding(
            f"the gated feed-forward block is 4 x hidden ({m} = 4 x {d}): 3dm = {3 * d * m:,} parameters a layer, "
            f"1.5 x the 8d² = {8 * d * d:,} of a plain 4x block",
            ctx.at("intermediate_size"),
            related=[ctx.at("hidden_size", "d")],
            help=f"parity with a plain 4x block is at m = 8d/3 = {round(8 * d / 3)}",
        )
