"""Where every key and value of a document stands."""

from __future__ import annotations

from array import array

from archscope.source.pointer import Path
from archscope.source.text import Span


class SpanNode:
    """Spans inside one object or array.

    Scalars live in a flat array of offsets, four per member of an object (key start, key end, value start, value end)
    and two per item of an array, so that a million values stay cheap.
    """

    __slots__ = ("children", "end", "marks", "slots", "start")

    def __init__(self, start: int, *, is_object: bool) -> None:
        self.start = start
        self.end = start + 1
        self.marks = array("q")
        self.slots: dict[str, int] | None = {} if is_object else None
        self.children: dict[int, SpanNode] = {}

    def slot(self, step: str | int) -> int | None:
        """Number of the member or item that a step names; None if there is none."""
        if self.slots is not None:
            return self.slots.get(str(step))
        if isinstance(step, str):
            if not step.isdecimal():
                return None
            step = int(step[:20])
        return step if 0 <= step < len(self.marks) // 2 else None

    def key_span(self, slot: int) -> Span | None:
        """Span of a member's key with its quotes; None in an array."""
        return None if self.slots is None else Span(self.marks[4 * slot], self.marks[4 * slot + 1])

    def value_span(self, slot: int) -> Span:
        """Span of a member's or an item's value."""
        at = 2 * slot if self.slots is None else 4 * slot + 2
        return Span(self.marks[at], self.marks[at + 1])

    def add(self, start: int, end: int, key: tuple[str, int, int] | None) -> int:
        """Record a value and, in an object, its key; a repeated key takes the new place. Returns its slot."""
        if self.slots is None or key is None:
            self.marks.extend((start, end))
            return len(self.marks) // 2 - 1
        self.marks.extend((key[1], key[2], start, end))
        slot = self.slots[key[0]] = len(self.marks) // 4 - 1
        return slot

    def close(self, slot: int, end: int) -> None:
        """Set where the container in a slot ends."""
        self.marks[2 * slot + 1 if self.slots is None else 4 * slot + 3] = end


class SpanIndex:
    """Spans of a whole document, by path."""

    def __init__(self, root: SpanNode | None, root_span: Span | None) -> None:
        self.root = root
        self.root_span = root_span

    def _parent(self, path: Path) -> tuple[SpanNode, int] | None:
        node = self.root
        for depth, step in enumerate(path, start=1):
            slot = node.slot(step) if node else None
            if node is None or slot is None:
                return None
            if depth == len(path):
                return node, slot
            node = node.children.get(slot)
        return None

    def key(self, path: Path) -> Span | None:
        """Span of the key at a path, quotes included."""
        found = self._parent(path)
        return found[0].key_span(found[1]) if found else None

    def value(self, path: Path) -> Span | None:
        """Span of the value at a path."""
        if not path:
            return self.root_span
        found = self._parent(path)
        return found[0].value_span(found[1]) if found else None
