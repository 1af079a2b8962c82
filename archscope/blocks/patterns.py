"""Repeating patterns in the order of layers."""

from __future__ import annotations

LONGEST_PATTERN = 64
"""Layers of the longest pattern that is looked for."""


def best_pattern(order: tuple[int, ...], at: int) -> tuple[int, int]:
    """Length and repeats of the pattern that covers most from `at` on; the shorter one of equals."""
    best = (1, 1)
    limit = len(order) - at
    for length in range(1, min(LONGEST_PATTERN, limit) + 1):
        repeats = 1
        pattern = order[at : at + length]
        while order[at + repeats * length : at + (repeats + 1) * length] == pattern:
            repeats += 1
        if (repeats > 1 or length == 1) and repeats * length > best[0] * best[1]:
            best = (length, repeats)
        if best[0] * best[1] == limit:
            break
    return best
