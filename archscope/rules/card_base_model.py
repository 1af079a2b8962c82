"""The base model that the card names against the config."""

from __future__ import annotations

import re
from collections.abc import Iterator

from archscope.diagnostics import Severity
from archscope.rules.base import Context, Fails, Finding, Passes, Rule
from archscope.source import Document, Span

CARD = "README.md"
BASE_EPS = (
    (re.compile(r"llama-?[23](?![\d])|llama-?3\.\d", re.IGNORECASE), "llama", 1e-5),
    (re.compile(r"mistral-7b", re.IGNORECASE), "mistral", 1e-5),
)
"""Base models with the epsilon that they were released with."""


class EpsilonOfTheBaseModel(Rule[Document]):
    """The epsilon of the norms is the class default, and not that of the base model which the card names.

    ## What it checks
    rms_norm_eps against the released value of the base_model in the front matter of README.md, for lineages where the class
    default is another.

    ## Why it matters
    The difference is small and nobody notices: outputs drift from the base model's.

    ## How to fix
    Write the epsilon of the base model.

    ## References
    https://huggingface.co/meta-llama/Llama-2-7b-hf/blob/main/config.json
    """

    name = "epsilon-of-the-base-model"
    severity = Severity.INFO
    cases = (
        Passes("llama", rms_norm_eps=1e-5, files={CARD: "---\nbase_model: meta-llama/Llama-2-7b-hf\n---\n"}),
        Fails(
            "llama",
            rms_norm_eps=1e-6,
            files={CARD: "---\nbase_model: meta-llama/Llama-2-7b-hf\n---\n"},
            at="/rms_norm_eps",
        ),
    )

    def check(self, target: Document, ctx: Context) -> Iterator[Finding]:
        card, value = ctx.repository.text(CARD), ctx.root.get("rms_norm_eps")
        if card is None or not isinstance(value, float) or not card.text.startswith("---"):
            return
        matter = card.text[:20_000].split("\n---", 1)[0]
        found = re.search(r"^base_model:\s*(?:\n\s*-\s*)?([^\s#]+)", matter, re.MULTILINE)
        for pattern, model_type, released in BASE_EPS:
            default = ctx.root.schema.fields["rms_norm_eps"].default if ctx.root.schema is not None else None
            if (
                found
                and ctx.root.model_type == model_type
                and pattern.search(found[1])
                and value == default != released
            ):
                yield Finding(
                    f"rms_norm_eps is {value:g}, the class default; {found[1][:60]} has {released:g}",
                    ctx.place("/rms_norm_eps"),
                    related=[card.place(Span(found.start(1), found.end(1)))],
                    help=f"write {released:g}",
                )
