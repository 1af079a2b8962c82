"""Composite models: a text tower, what stands beside it, and where each is mounted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from archscope.blocks.assembly import Architecture, Tower
from archscope.blocks.base import Block
from archscope.blocks.skeletons import (
    GENERATIVE_TASKS,
    NO_HEADS,
    label_head,
    tied_names,
    vocabulary_head,
)
from archscope.config import Config
from archscope.records import dataclass


@dataclass(frozen=True, slots=True)
class Mount:
    """Names of the parts of a composite model as its class saves them.

    `prefix` stands before every part but the text tower, whose name is `text`; `head` is that of the matrix over the
    vocabulary.
    """

    prefix: str
    text: str
    head: str = "lm_head"

    def __call__(self, name: str) -> str:
        """The full name of a part."""
        return f"{self.prefix}{name}"


FLAT = Mount("", "language_model.model", "language_model.lm_head")
"""Parts at the top, the text tower below `language_model`: how the first composite models were saved."""


def nested(c: Config, *, text: str = "language_model", prefix: str = "model", head: str = "lm_head") -> Mount:
    """Parts below `prefix` in a class with a head, at the top in the base class."""
    at = "" if c.task == "model" else f"{prefix}."
    return Mount(at, f"{at}{text}", head)


def assemble(
    c: Config,
    at: Mount,
    text: Block,
    *beside: Block,
    text_config: Config,
    table: str = "embed_tokens",
    bias: bool = False,
    vocabulary: int | None = None,
    head_width: int | None = None,
    tie: bool | None = None,
    heads: Mapping[str, tuple[Block, ...]] = NO_HEADS,
    label_tasks: Sequence[str] = (),
    generative: Sequence[str] = (),
    extra: tuple[Block, ...] = (),
) -> Architecture:
    """The parts under the class that the config names.

    The base class has no head; generative classes have one over the vocabulary of the text config (`vocabulary` and
    `head_width` where the class has sizes of its own), which is the token table where `tie` (default:
    tie_word_embeddings) is true. `heads` has the heads of other tasks; `label_tasks` are those with the usual head over
    labels, `generative` further ones with that over the vocabulary.
    """
    parts: tuple[Block, ...] = (*beside, text)
    if c.task == "model":
        return Architecture(parts=parts, extra=extra)
    if _is_text_only(c):
        return Architecture(parts=parts, extra=extra, partial=f"{c.model_class} is the text model alone")
    width = text.width if isinstance(text, Tower) else text_config.hidden_size
    width = width if head_width is None else head_width
    if c.task in heads:
        made = heads[c.task]
    elif c.task in label_tasks:
        made = label_head(c, width)
    elif c.task in GENERATIVE_TASKS or c.task in generative:
        tied = bool(c.get("tie_word_embeddings")) if tie is None else tie
        if tied and isinstance(text, Tower) and not any(part.name == table for part in text.parts):
            reason = f"which table of a {text_config.model_type} the head shares is not known"
            return Architecture(parts=parts, extra=extra, partial=reason)
        tied_to = f"{at.text}.{table}.weight" if tied else ""
        made = (vocabulary_head(text_config, width, at.head, bias=bias, tied_to=tied_to, vocabulary=vocabulary),)
    else:
        reason = f"the head of {c.model_class or 'this class'} is not known"
        return Architecture(parts=parts, extra=extra, partial=reason)
    tied_pairs = tuple(pair for part in made for pair in tied_names(part, ""))
    return Architecture(parts=(*parts, *made), tied=tied_pairs, extra=extra)


def _is_text_only(c: Config) -> bool:
    """Whether the type has a class for words alone beside that for words and images, and the config names the first."""
    tasks = {} if c.schema is None else c.schema.tasks
    whole = tasks.get("multimodal_lm") or tasks.get("image_text_to_text")
    return c.task == "causal_lm" and whole is not None and whole != tasks.get("causal_lm")
