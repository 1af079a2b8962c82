"""The model card against the structure: README.md says one thing, config.json another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from archscope.blocks.attention import Attention
from archscope.blocks.latent_attention import LatentAttention
from archscope.blocks.mlp import Mlp
from archscope.blocks.moe import Moe
from archscope.config import Config
from archscope.costs.parameters import Parameters, count
from archscope.diagnostics import Place, Severity
from archscope.rules.base import Context, Fails, Finding, Passes, Rule
from archscope.source import Document, SourceText
from archscope.structure import Structure

if TYPE_CHECKING:
    from archscope.claims import Claim, Kind

CARD = "README.md"
NAMES: dict[Kind, str] = {
    "layers": "layers",
    "hidden_size": "hidden size",
    "heads": "attention heads",
    "kv_heads": "key/value heads",
    "head_dim": "head width",
    "intermediate_size": "feed-forward width",
    "expert_width": "expert width",
    "vocabulary": "vocabulary",
    "context": "context window",
    "parameters": "parameters",
    "active_parameters": "active parameters",
    "experts": "experts",
    "active_experts": "experts per token",
    "shared_experts": "shared experts",
    "dense_layers": "dense layers",
    "rope_theta": "rotary base",
    "window": "sliding window",
}
FIELDS: dict[Kind, tuple[str, ...]] = {
    "layers": ("num_hidden_layers",),
    "hidden_size": ("hidden_size",),
    "heads": ("num_attention_heads",),
    "kv_heads": ("num_key_value_heads", "num_kv_heads", "num_attention_heads"),
    "head_dim": ("head_dim", "hidden_size"),
    "intermediate_size": ("intermediate_size", "moe_intermediate_size", "ffn_hidden_size"),
    "expert_width": ("moe_intermediate_size", "intermediate_size"),
    "vocabulary": ("vocab_size",),
    "context": ("max_position_embeddings",),
    "experts": ("num_experts", "n_routed_experts", "num_local_experts"),
    "active_experts": ("num_experts_per_tok",),
    "shared_experts": ("n_shared_experts",),
    "dense_layers": ("first_k_dense_replace",),
    "rope_theta": ("rope_theta",),
    "window": ("sliding_window",),
}


class CardContradicted(Rule[Document]):
    """The model card states a number that the config contradicts.

    ## What it checks
    "Label: value" lines, lists and tables of README.md, English and Chinese, for layers, widths, heads, experts, vocabulary,
    context, rotary base and parameters; with the rounding that the notation implies (128K, 7.61B). In a table that compares
    models, the column that agrees most. A fact that the card states twice is reported only if no statement agrees.

    ## Why it matters
    Readers believe the card; engines read the config. One of them is of another model or another release.

    ## How to fix
    Correct whichever is wrong.

    ## References
    https://huggingface.co/docs/hub/model-cards
    """

    name = "card-contradicted"
    severity = Severity.WARNING
    requires = ("wrong-type", "out-of-range")
    cases = (
        Passes("llama", num_hidden_layers=24, files={CARD: "# demo\n- Layers: 24\n- Context Length: 2K\n"}),
        Passes("llama", files={CARD: "| | 7B | 13B |\n|-|-|-|\n| Layers | 32 | 40 |\n| Heads | 32 | 40 |\n"}),
        Fails("llama", num_hidden_layers=24, files={CARD: "# demo\n- **Number of Layers**: 32\n"}, at=""),
        Fails("llama", max_position_embeddings=40960, files={CARD: "- Context Length: 131,072 tokens\n"}, at=""),
    )

    def check(self, target: Document, ctx: Context) -> Iterator[Finding]:
        card = ctx.repository.text(CARD)
        if card is None:
            return
        main = ctx.structure.architecture.main if ctx.structure is not None else None
        config = ctx.root if main is None else ctx.root.at(main.pointer)
        facts = _Facts(ctx.structure, config)
        by_kind: dict[Kind, list[Claim]] = {}
        for claim in _chosen(card, facts):
            by_kind.setdefault(claim.kind, []).append(claim)
        for found in by_kind.values():
            wrong = [claim for claim in found if facts.agrees(claim) is False]
            if len(wrong) == len(found):
                yield _finding(ctx, card, wrong[0], config, facts)


def _finding(ctx: Context, card: SourceText, claim: Claim, config: Config, facts: _Facts) -> Finding:
    written = [config.pointer_of(name) for name in FIELDS.get(claim.kind, ()) if name in config]
    pointer = next((one for one in written if one), config.pointer)
    shown = " or ".join(_number(value) for value in sorted(facts.of(claim.kind))[:3])
    return Finding(
        f"the card says {NAMES[claim.kind]}: {claim.words}, the config comes to {shown}",
        card.place(claim.span),
        related=[ctx.place(pointer, f"{shown} from here")],
        help="correct whichever is wrong",
    )


def _number(value: float) -> str:
    """A number for people: whole ones in full, parameters in millions or billions."""
    if value >= 1e9 and value == int(value):
        return f"{value / 1e9:.3g} B"
    return f"{value / 1e6:.3g} M" if value >= 1e8 else f"{value:,.10g}"


def _chosen(card: SourceText, facts: _Facts) -> list[Claim]:
    """The card's own claims, and those of the model in each table that agrees most with the config."""
    # The patterns of cards take longer to compile than a whole check of a bare config.
    from archscope.claims import claims

    found = claims(card)
    chosen = list(found.own)
    for models in found.tables:
        scored = sorted(((_score(model, facts), -i) for i, model in enumerate(models)), reverse=True)
        (agreeing, contradicting), index = scored[0]
        if agreeing >= 3 and agreeing > -2 * contradicting and (len(scored) < 2 or scored[1][0] != scored[0][0]):
            chosen += models[-index]
    return chosen


def _score(model: tuple[Claim, ...], facts: _Facts) -> tuple[int, int]:
    said = [facts.agrees(claim) for claim in model]
    return sum(one is True for one in said), -sum(one is False for one in said)


class _Facts:
    """The numbers that a claim of each kind may mean."""

    def __init__(self, structure: Structure | None, config: Config) -> None:
        self.structure = structure
        self.config = config
        self._found: dict[Kind, frozenset[float]] = {}

    def of(self, kind: Kind) -> frozenset[float]:
        """Every number that is right for a kind; none where the structure does not tell."""
        if kind not in self._found:
            reader = _READERS.get(kind)
            values = reader(self) if reader is not None else ()
            self._found[kind] = frozenset(float(value) for value in values if isinstance(value, int | float) and value)
        return self._found[kind]

    def agrees(self, claim: Claim) -> bool | None:
        """Whether a claim is right; None where nobody can tell."""
        right = self.of(claim.kind)
        if not right:
            return None
        share = {"parameters": 0.05, "active_parameters": 0.12}.get(claim.kind, 0.0)
        return any(claim.number.means(value, share=share) for value in right)

    def values(self, *names: str) -> list[object]:
        """The values of fields that the config has."""
        return [self.config.get(name) for name in names if not isinstance(self.config.get(name), bool)]

    def mixers(self) -> list[Attention | LatentAttention]:
        """The attention of the text."""
        if self.structure is None:
            return []
        found = (*self.structure.of_type(Attention), *self.structure.of_type(LatentAttention))
        return [
            at.block
            for at in found
            if isinstance(at.block, Attention | LatentAttention) and at.pointer == self.config.pointer
        ]

    def mixtures(self) -> list[Moe]:
        """The mixtures of experts of the text."""
        found = () if self.structure is None else self.structure.of_type(Moe)
        return [at.block for at in found if isinstance(at.block, Moe)]

    def parameters(self) -> Parameters | None:
        """The counts, where every tensor is known."""
        known = self.structure is not None and self.structure.is_exact
        return count(self.structure.architecture) if known and self.structure is not None else None


def _heads(facts: _Facts) -> list[object]:
    return [int(mixer.num_heads) for mixer in facts.mixers()] or facts.values("num_attention_heads")


def _kv_heads(facts: _Facts) -> list[object]:
    return [int(mixer.num_kv_heads) for mixer in facts.mixers() if isinstance(mixer, Attention)]


def _head_dims(facts: _Facts) -> list[object]:
    found: list[object] = []
    for mixer in facts.mixers():
        if isinstance(mixer, Attention):
            found += [int(mixer.head_dim), int(mixer.v_head_dim)]
        else:
            found += [
                int(mixer.nope_dim),
                int(mixer.rope_dim),
                int(mixer.nope_dim + mixer.rope_dim),
                int(mixer.v_head_dim),
            ]
    return found


def _widths(facts: _Facts) -> list[object]:
    blocks = () if facts.structure is None else facts.structure.of_type(Mlp)
    found = [int(at.block.width) for at in blocks if isinstance(at.block, Mlp)]
    found += [int(moe.experts.width) for moe in facts.mixtures()]
    return [*found, *facts.values("intermediate_size", "ffn_hidden_size", "moe_intermediate_size", "n_inner")]


def _contexts(facts: _Facts) -> list[object]:
    found = facts.values("max_position_embeddings", "model_max_length", "max_sequence_length", "seq_length", "n_positions",
                         "max_seq_len", "original_max_position_embeddings")  # fmt: skip
    for rope in facts.config.rope.values():
        before, factor = rope.parameters.get("original_max_position_embeddings"), rope.factor
        found.append(before)
        if isinstance(before, int) and isinstance(factor, int | float):
            found.append(before * factor)
        window = facts.config.get("max_position_embeddings")
        if rope.rope_type in ("linear", "dynamic") and isinstance(window, int) and isinstance(factor, int | float):
            found.append(window * factor)
    return found


def _experts(facts: _Facts) -> list[object]:
    found: list[object] = []
    for moe in facts.mixtures():
        found += [int(moe.experts.count), int(moe.experts.count) + moe.num_shared]
    return found


def _active_experts(facts: _Facts) -> list[object]:
    found: list[object] = []
    for moe in facts.mixtures():
        found += [int(moe.router.top_k), int(moe.router.top_k) + moe.num_shared]
    return found


def _thetas(facts: _Facts) -> list[object]:
    return [rope.rope_theta for rope in facts.config.rope.values()]


def _windows(facts: _Facts) -> list[object]:
    return [mixer.window for mixer in facts.mixers() if mixer.window]


def _parameters(facts: _Facts) -> list[object]:
    found = facts.parameters()
    if found is None:
        return []
    main = sum(number for name, number in found.by_component.items() if name != "tower")
    return [
        found.total,
        found.total - found.embedding_lookup,
        found.total + found.extra,
        main,
        main - found.embedding_lookup,
    ]


def _active(facts: _Facts) -> list[object]:
    found = facts.parameters()
    if found is None or found.active == found.total:
        return []
    head = found.by_component.get("head", 0)
    return [found.active, found.active - found.embedding_lookup, found.active - found.embedding_lookup - head]


_READERS: dict[Kind, Callable[[_Facts], list[object]]] = {
    "layers": lambda facts: facts.values("num_hidden_layers", "num_layers"),
    "hidden_size": lambda facts: facts.values("hidden_size"),
    "heads": _heads,
    "kv_heads": _kv_heads,
    "head_dim": _head_dims,
    "intermediate_size": _widths,
    "expert_width": _widths,
    "vocabulary": lambda facts: facts.values("vocab_size"),
    "context": _contexts,
    "parameters": _parameters,
    "active_parameters": _active,
    "experts": _experts,
    "active_experts": _active_experts,
    "shared_experts": lambda facts: [moe.num_shared for moe in facts.mixtures()],
    "dense_layers": lambda facts: facts.values("first_k_dense_replace"),
    "rope_theta": _thetas,
    "window": _windows,
}


class CardCommandDoesNotSplit(Rule[Structure]):
    """A command of the model card asks for a tensor-parallel degree that the heads do not allow.

    ## What it checks
    --tensor-parallel-size N and its like in README.md against the query heads.

    ## Why it matters
    Whoever copies the command sees the engine refuse to start.

    ## How to fix
    Use one of the degrees that the help lists.

    ## References
    vllm config/model.py (verify_with_parallel_config).
    """

    name = "card-command-does-not-split"
    severity = Severity.WARNING
    requires = ("wrong-type", "out-of-range", "indivisible-kv-heads")
    cases = (
        Passes("llama", num_attention_heads=32, files={CARD: "```\nvllm serve x --tensor-parallel-size 8\n```\n"}),
        Fails(
            "llama",
            hidden_size=3584,
            num_attention_heads=28,
            files={CARD: "```\nvllm serve x --tensor-parallel-size 8\n```\n"},
            at="",
        ),
    )

    def check(self, target: Structure, ctx: Context) -> Iterator[Finding]:
        card, main = ctx.repository.text(CARD), target.architecture.main
        heads = main and ctx.root.at(main.pointer).get("num_attention_heads")
        if card is None or main is None or not isinstance(heads, int) or heads < 1:
            return
        from archscope.claims import commands

        for command in commands(card):
            if command.degree > 1 and heads % command.degree:
                fits = [n for n in range(1, min(heads, 64) + 1) if heads % n == 0]
                yield Finding(
                    f"a command splits over {command.degree} ranks, but {heads} heads do not",
                    card.place(command.span),
                    related=[ctx.place(ctx.root.at(main.pointer).pointer_of("num_attention_heads"))],
                    help=f"possible degrees: {', '.join(map(str, fits))}",
                )
                return


def _place(card: SourceText, start: int, end: int) -> Place:
    from archscope.source import Span

    return card.place(Span(start, end))
