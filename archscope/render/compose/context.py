"""What composing a figure needs beside the blocks: where values come from, what was found, and ids that are taken."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from archscope.blocks.base import Block
from archscope.config import Config
from archscope.render.compose.badges import Badges
from archscope.render.figure import Badge
from archscope.source import Document, path_of
from archscope.structure import Structure

if TYPE_CHECKING:
    from archscope.render.compose.places import Alternative

MOST_ORIGINS = 12
LONGEST_VALUE = 60


class Context:
    """One figure being composed: the structure, the file that it comes from, the findings about it.

    `drawn` has what the nodes of the stacks stand for, along the flow, each with the node's id; `remarks` what the
    figure leaves out.
    """

    def __init__(self, structure: Structure, document: Document, badges: Badges) -> None:
        self.structure = structure
        self.config = structure.config
        self.document = document
        self.badges = badges
        self.file = os.path.basename(document.name) or document.name
        self.remarks: list[str] = []
        self.drawn: list[tuple[str, Alternative]] = []
        self._taken: dict[str, int] = {}
        self._configs: dict[str, Config] = {}
        self._origins: dict[tuple[str, str], str] = {}

    def unique(self, wanted: str) -> str:
        """The id, with a number behind it where it is taken already."""
        number = self._taken[wanted] = self._taken.get(wanted, 0) + 1
        return wanted if number == 1 else f"{wanted}#{number}"

    def config_at(self, pointer: str) -> Config:
        """The config that stands at a pointer."""
        if pointer not in self._configs:
            self._configs[pointer] = self.config.at(pointer)
        return self._configs[pointer]

    def badge(self, *blocks: Block, part: str = "") -> Badge | None:
        """What was found about any of the blocks, or about one part of what they do."""
        return self.badges.of(blocks, part)

    def origins(self, blocks: Iterable[Block], pointer: str) -> tuple[str, ...]:
        """A line for each field that the blocks depend on: where it is written, or why it has its value."""
        fields = dict.fromkeys(name for block in blocks for name in block.fields)
        said = (self.origin(name, pointer) for name in fields)
        return tuple(line for line in said if line)[:MOST_ORIGINS]

    def origin(self, name: str, pointer: str) -> str:
        """Where one field of the config at a pointer comes from; "" for a field that it does not have."""
        key = (pointer, name)
        if key not in self._origins:
            self._origins[key] = self._origin(name, self.config_at(pointer))
        return self._origins[key]

    def _origin(self, name: str, config: Config) -> str:
        if name not in config:
            return ""
        origin = config.origin(name)
        value = shown(config.get(name))
        if origin.pointer:
            line = self.document.place(path_of(origin.pointer)).line
            at = self.file if line is None else f"{self.file}:{line}"
            written = origin.pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
            return f"{at} {written} = {value}"
        reason = f"{origin.kind}: {origin.source}" if origin.source else origin.kind
        return f"{name} = {value} ({reason})"

    def rope_origins(self, pointer: str) -> tuple[str, ...]:
        """A line for each key that the file writes about the rotary embedding."""
        found = {}
        for rope in self.config_at(pointer).rope.values():
            for key, where in rope.pointers.items():
                line = self.document.place(path_of(where)).line
                at = self.file if line is None else f"{self.file}:{line}"
                found[where] = f"{at} {key} = {shown(rope.get(key))}"
        return tuple(found.values())[:MOST_ORIGINS]

    def is_default(self, name: str, pointer: str) -> bool:
        """Whether the file leaves a field out and the class fills it in."""
        config = self.config_at(pointer)
        return name in config and config.origin(name).kind == "default"


def shown(value: object) -> str:
    """A value of a config as JSON writes it, cut where it is long."""
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 256:
        return "a number of more than 77 digits"
    if isinstance(value, list | tuple | dict) and len(value) > LONGEST_VALUE:
        return f"{len(value)} values"
    text = json.dumps(value, ensure_ascii=False, default=lambda other: type(other).__name__)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"
