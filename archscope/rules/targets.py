"""The consumers that a check is asked to satisfy, and the versions in their names."""

from __future__ import annotations

import re

from archscope.rules.base import Context


def parse_version(text: object) -> tuple[int, int, int] | None:
    """The first three numbers of a version, None where it has none."""
    found = re.match(r"(\d{1,6})\.(\d{1,6})(?:\.(\d{1,6}))?", text) if isinstance(text, str) else None
    return None if found is None else (int(found[1]), int(found[2]), int(found[3] or 0))


def reads_version_4(ctx: Context) -> bool:
    """Whether transformers before 5, or a reader of its age, is a target."""
    return any(re.match(r"transformers\s*(<|<=|==|~=)\s*(=\s*)?(4\b|5(\.0)*$)", one) for one in ctx.options.targets)
