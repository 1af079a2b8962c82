"""Paths of keys and indices, and their RFC 6901 spelling."""

from __future__ import annotations

import re

Path = tuple[str | int, ...]

_INDEX = re.compile(r"0|[1-9][0-9]*")


def pointer(path: Path) -> str:
    """The RFC 6901 pointer of a path: `("rope_scaling", "factor")` is `/rope_scaling/factor`."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def path_of(text: str) -> Path:
    """The path that a pointer spells; steps that look like array indices become ints.

    A pointer does not say whether `0` is a key or an index, so `Document.value_span` takes either for either.

    Raises: ValueError if `text` is not empty and does not start with a slash.
    """
    if not text:
        return ()
    if not text.startswith("/"):
        raise ValueError(f"not an RFC 6901 pointer: {text!r}")
    steps = (step.replace("~1", "/").replace("~0", "~") for step in text[1:].split("/"))
    return tuple(int(step) if _INDEX.fullmatch(step) else step for step in steps)
