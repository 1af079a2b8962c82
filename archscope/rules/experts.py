"""Mixtures of experts: how many there are, how many a token uses, how they are grouped."""

from __future__ import annotations

from collections.abc import Iterator

from archscope.blocks.moe import Moe
from archscope.diagnostics import Severity
from archscope.rules.base import Context, Fails, Finding, Passes, Rule

COUNTS = ("num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts", "num_moe_experts")
TOP = (
    "num_experts_per_tok",
    "moe_topk",
    "moe_k",
    "num_experts_per_token",
    "top_k",
    "num_selected_experts",
    "experts_per_token",
)


def _first(ctx: Context, names: tuple[str, ...]) -> str:
    """The name that the file uses, else the first that the config has."""
    written = [name for name in names if ctx.written(name)]
    present = [name for name in names if name in ctx.config]
    return (written or present or [names[0]])[0]


class MoreActiveExpertsThanThereAre(Rule[Moe]):
    """A token would use more experts than there are.

    ## What it checks
    Experts per token against the number of routed experts of every mixture.

    ## Why it matters
    Choosing the k best of fewer than k fails in the forward pass; transformers checks it for four types only.

    ## How to fix
    Correct whichever of the two is wrong; the router's weight has one row per expert.

    ## References
    Switch Transformers, arXiv 2101.03961; torch.topk.
    """

    name = "too-many-active-experts"
    severity = Severity.ERROR
    requires = ("wrong-type", "out-of-range")
    cases = (
        Passes("mixtral", num_local_experts=8, num_experts_per_tok=2),
        Fails("mixtral", num_local_experts=8, num_experts_per_tok=9, at="/num_experts_per_tok"),
        Fails("mixtral", num_local_experts=8, num_experts_per_tok=0, at="/num_experts_per_tok"),
    )

    def check(self, target: Moe, ctx: Context) -> Iterator[Finding]:
        k, e = int(target.router.top_k), int(target.router.num_experts)
        if 1 <= k <= e:
            return
        message = f"{k} experts per token of {e} experts" if k > 0 else f"{k} experts per token: none would run"
        yield Finding(
            message,
            ctx.at(_first(ctx, TOP)),
            related=[ctx.at(_first(ctx, COUNTS), "experts")],
            help=f"a number from 1 to {e}",
        )


class ExpertGroups(Rule[Moe]):
    """The groups that routing chooses from do not fit the experts.

    ## What it checks
    That the experts divide into the groups, that no more groups are chosen than there are, that the chosen groups hold at
    least as many experts as a token uses, and that a group has the two experts that its score is made of.

    ## Why it matters
    The scores are reshaped into groups and cut to the best of them: wrong numbers fail in the forward pass, or leave a token
    with fewer experts than it should have.

    ## How to fix
    Make n_group a divisor of the experts; topk_group x experts / n_group must be at least the experts per token.

    ## References
    DeepSeek-V3, arXiv 2412.19437 section 2.1.2; transformers models/deepseek_v3/modeling_deepseek_v3.py (the router).
    """

    name = "expert-groups"
    severity = Severity.ERROR
    requires = ("wrong-type", "out-of-range", "too-many-active-experts")
    cases = (
        Passes("deepseek_v3", n_routed_experts=256, n_group=8, topk_group=4),
        Passes("deepseek_v3", n_routed_experts=8, n_group=1, topk_group=1, num_experts_per_tok=8),
        Fails("deepseek_v3", n_routed_experts=250, n_group=8, topk_group=4, at="/n_group"),
        Fails("deepseek_v3", n_routed_experts=256, n_group=4, topk_group=8, at="/topk_group"),
        Fails("deepseek_v3", n_routed_experts=64, n_group=32, topk_group=2, num_experts_per_tok=8, at="/topk_group"),
        Fails("deepseek_v3", n_routed_experts=8, n_group=8, topk_group=4, num_experts_per_tok=2, at="/n_group"),
    )

    def check(self, target: Moe, ctx: Context) -> Iterator[Finding]:
        router = target.router
        e, k, groups, top = int(router.num_experts), int(router.top_k), int(router.groups), int(router.top_groups)
        if groups == 1 and top <= 1:
            return
        counts = _first(ctx, COUNTS)
        if groups < 1 or e % groups:
            message = f"{e} experts do not divide into {groups} groups"
            yield Finding(message, ctx.at("n_group"), related=[ctx.at(counts, "experts")])
        elif not 1 <= top <= groups:
            yield Finding(f"{top} of {groups} groups are chosen", ctx.at("topk_group"), related=[ctx.at("n_group")])
        elif e // groups < 2:
            message = f"{e} experts in {groups} groups leave one to a group; a group is scored by its best two"
            yield Finding(message, ctx.at("n_group"), related=[ctx.at(counts, "experts")])
        elif top * (e // groups) < k:
            yield Finding(
                f"{k} experts per token, but {top} groups of {e // groups} hold only {top * (e // groups)}",
                ctx.at("topk_group"),
                related=[ctx.at("n_group"), ctx.at(_first(ctx, TOP), "experts per token")],
            )
