"""A model as a card for the terminal: structure, parameters, memory, and where the numbers come from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from archscope.render.compose import compose
from archscope.render.figure import Badge, Column, Figure, Frame, Item, Node, Row, Step, Words, nodes_of
from archscope.render.quantities import count, share, whole
from archscope.report.escape import width as columns_of

if TYPE_CHECKING:
    from archscope.engine import Model

MOST, LEAST = 104, 40
GUTTER = 12
TITLE = 29
NUMBERS = 24
BAR = 6
MOST_ORIGINS = 40
MOST_FINDINGS = 20

_COLOURS: dict[str, int | str] = {
    "emb": "magenta", "attn": "blue", "swa": "cyan", "ssm": "green", "ffn": "yellow", "moe": 208, "moe2": 208,
    "norm": "bright_black", "vis": "magenta", "cache": "blue", "error": "red", "warning": "yellow", "info": "blue",
}  # fmt: skip
_PLAIN = str.maketrans(
    {
        "╭": "+", "╮": "+", "╰": "+", "╯": "+", "─": "-", "│": "|", "┤": "+", "┼": "+", "▶": ">", "⊕": "+", "×": "x",
        "·": "-", "→": "->", "…": "...", "–": "-", "—": "-", "−": "-", "θ": "theta", "√": "sqrt ", "²": "^2", "✖": "x",
        "▲": "!", "●": "i", "█": "#", "▏": ".", "▂": "_", "▒": "=", "░": ":", "▓": "%", "±": "+-", "≤": "<=", "≥": ">=",
    }
)  # fmt: skip
_ICONS = {"error": "✖", "warning": "▲", "info": "●"}
_CELLS = {"full": "█", "low": "▂", "bars": "▒", "dots": "▓", "open": "░"}


def card(model: Model, *, width: int, color: bool, ascii: bool = False) -> str:
    """The card of a model, lines with a newline at the end.

    Args:
        model: the model.
        width: columns of the terminal; the card is at most 104 wide.
        color: whether to write colours.
        ascii: whether to write ASCII characters only.

    Raises: RenderError where the model has no structure.
    """
    return card_of(compose(model), width=width, color=color, ascii=ascii)


def card_of(figure: Figure, *, width: int, color: bool, ascii: bool = False) -> str:
    """The card of a composed figure."""
    return _Card(figure, max(LEAST, min(width, MOST)), color, ascii).text()


class Text(NamedTuple):
    """A stretch of a line with how it is set."""

    text: str
    colour: str = ""
    bold: bool = False
    dim: bool = False


class _Card:
    def __init__(self, figure: Figure, width: int, color: bool, ascii: bool) -> None:
        self.figure = figure
        self.width = width
        self.color = color
        self.ascii = ascii
        self.total = figure.bars[0].total if figure.bars else 0
        self.lines: list[str] = []

    def text(self) -> str:
        """All of it."""
        self.header()
        for column in reversed(self.figure.columns):
            self.line()
            if column.label:
                self.line(Text(column.label, bold=True))
            self.column(column)
        self.panels()
        self.patterns()
        self.components()
        self.memory()
        self.origins()
        self.findings()
        return "\n".join(self.lines) + "\n"

    # Lines

    def say(self, text: str) -> str:
        """A text in the characters that may be used."""
        if not self.ascii:
            return text
        return text.translate(_PLAIN).encode("ascii", "replace").decode("ascii")

    def cut(self, text: str, room: int) -> str:
        """A text in at most so many columns."""
        text = self.say(text)
        if columns_of(text) <= room:
            return text
        end = "..." if self.ascii else "…"
        kept = ""
        for char in text:
            if columns_of(kept + char) > room - len(end):
                break
            kept += char
        return (kept.rstrip() + end)[: max(room, 0)]

    def fit(self, words: Words, room: int) -> str:
        """The first way to say a thing that fits."""
        for said in words:
            if columns_of(self.say(said)) <= room:
                return self.say(said)
        return self.cut(words[-1], room) if words else ""

    def pad(self, text: str, room: int) -> str:
        """A text in exactly so many columns."""
        text = self.cut(text, room)
        return text + " " * (room - columns_of(text))

    def line(self, *texts: Text) -> None:
        """Write one line."""
        self.lines.append("".join(map(self.styled, texts)).rstrip())

    def styled(self, text: Text) -> str:
        """A stretch with its colour, if there are any."""
        said = self.say(text.text)
        if not self.color or not said.strip() or not (text.colour or text.bold or text.dim):
            return said
        import click

        return click.style(said, fg=_COLOURS.get(text.colour), bold=text.bold or None, dim=text.dim or None)

    def wrapped(self, pieces: Sequence[tuple[Text, ...]], indent: int = 0) -> None:
        """Write pieces one after another, two spaces between, on as many lines as they need."""
        line: list[Text] = [Text(" " * indent)]
        used = indent
        for piece in pieces:
            size = sum(columns_of(self.say(text.text)) for text in piece)
            if used > indent and used + 2 + size > self.width:
                self.line(*line)
                line, used = [Text(" " * indent)], indent
            if used > indent:
                line.append(Text("  "))
                used += 2
            line += piece
            used += size
        self.line(*line)

    def heading(self, text: str) -> None:
        """A blank line and a title."""
        self.line()
        self.line(Text(self.cut(text, self.width), bold=True))

    # Parts

    def header(self) -> None:
        """Name, class, facts, and what the reader must know."""
        name = self.cut(self.figure.name, self.width)
        room = self.width - columns_of(name) - 2
        title = [Text(name, bold=True)]
        if room > 8:
            title.append(Text("  " + self.cut(self.figure.model_class, room), dim=True))
        self.line(*title)
        self.wrapped([(Text(f"{chip.label} ", dim=True), Text(self.cut(chip.value, self.width - 12), bold=True))
                      for chip in self.figure.chips])  # fmt: skip
        for remark in self.figure.remarks:
            self.line(Text(self.cut(remark, self.width), dim=True))

    def column(self, column: Column) -> None:
        """One stack, from what goes out down to what comes in."""
        for item in reversed(column.items):
            if isinstance(item, Frame):
                self.frame(item)
            else:
                self.node(item, " " * GUTTER + "│ ", "")

    def frame(self, frame: Frame) -> None:
        """The layers, with their residual lanes."""
        where = f", {frame.where}" if frame.where else ""
        label = self.cut(f"╭ × {whole(frame.count)} ─ {frame.label}{where} ", self.width - 2)
        fill = self.width - 1 - columns_of(label)
        self.line(Text(label, bold=True), Text("─" * fill + "╮", dim=True))
        for step in reversed(frame.steps):
            self.step(step)
        before, after = "╰" + "─" * (GUTTER - 1) + "┼", "─" * (self.width - GUTTER - 2) + "╯"
        self.line(Text(before + after, dim=True))

    def step(self, step: Step) -> None:
        """One sublayer between its add and its tap."""
        joined = step.residual or len(step.branches) > 1
        lane = "│   │       │ " if step.residual else "│           │ "
        for item in reversed(step.after):
            self.item(item, "│           │ ")
        if joined:
            arm = "│   ╭─────▶ ⊕" if step.residual else "│           ⊕"
            self.boxed(Text(arm, dim=True), Text(f" {step.factor}" if step.factor else ""))
        if len(step.branches) > 1:
            self.boxed(Text(lane, dim=True), Text("in parallel, then summed:", dim=True))
        for branch in step.branches:
            for item in reversed(branch):
                self.item(item, lane)
        for item in reversed(step.before):
            self.item(item, lane)
        if step.residual:
            self.boxed(Text("│   ╰───────┤", dim=True))

    def item(self, item: Item, lane: str) -> None:
        """A node, or all nodes of a slot."""
        if isinstance(item, Node):
            self.node(item, lane, "│")
            return
        self.boxed(Text(lane, dim=True), Text(self.fit(item.caption, self.width - len(lane) - 4) + ":", dim=True))
        for node, chip in reversed(list(zip(item.nodes, item.chips, strict=True))):
            self.node(node, lane, "│", chip)

    def boxed(self, *texts: Text) -> None:
        """A line of a frame, with its right edge."""
        used = sum(columns_of(self.say(text.text)) for text in texts)
        self.line(*texts, Text(" " * (self.width - 1 - used)), Text("│", dim=True))

    def node(self, node: Node, lane: str, edge: str, chip: str = "") -> None:
        """One line of a node: title, what it is, parameters, share, bar; findings under it."""
        inside = self.width - len(lane) - len(edge)
        numbers = NUMBERS if inside > 60 and node.params is not None else 0
        title_room = min(TITLE, inside - numbers)
        room = inside - numbers - title_room
        ways = node.lines[0] if node.lines and node.shape != "bar" else (node.suffix,)
        said = self.fit(
            (*(" · ".join(filter(None, (chip, way))) for way in ways), *((chip,) if chip else ())), max(room - 1, 0)
        )
        texts = [
            Text(lane, dim=True),
            Text(self.pad(self.fit(node.title, title_room - 1), title_room), node.kind, bold=node.shape != "bar"),
            Text(self.pad(self.cut(said, max(room - 1, 0)), max(room, 0))),
        ]
        if numbers and node.params is not None:
            portion = share(node.params, self.total)
            bar = self.pad(_bar(node.params, self.total), BAR + 1)
            texts += [Text(f"{self.cut(count(node.params), 9):>7}{portion:>8}  "), Text(bar, node.kind)]
        self.line(*texts, Text(edge, dim=True))
        if node.badge is not None:
            self.badge(node.badge, lane, edge)

    def badge(self, badge: Badge, lane: str, edge: str) -> None:
        """The findings about a node."""
        for detail in badge.details[:3]:
            level = detail.partition(" ")[0]
            said = self.cut(
                f"  {_ICONS.get(level, '●')} {detail.partition(' ')[2]}", self.width - len(lane) - len(edge)
            )
            space = " " * (self.width - len(lane) - len(edge) - columns_of(said))
            self.line(Text(lane, dim=True), Text(said, level), Text(space + edge, dim=True))

    def panels(self) -> None:
        """What stands beside the stack: further towers, prediction layers."""
        for panel in self.figure.panels:
            if panel.chain:
                self.heading(panel.title[0])
                nodes = [node for step in panel.chain for node in step]
                texts = [f"{node.name}" + (f" ({node.lines[0][0]})" if node.lines else "") for node in nodes]
                arrow = " · " if panel.link == "none" and panel.kind != "vis" else " → "
                self.line(Text("  " + self.cut(arrow.join(texts), self.width - 2)))
                if panel.subtitle:
                    self.line(Text("  " + self.fit(panel.subtitle, self.width - 2), dim=True))

    def patterns(self) -> None:
        """How the layers vary, one character a layer (or for several, where there are too many)."""
        for strip in self.figure.strips:
            self.line()
            title = self.cut(strip.title, self.width)
            room = self.width - columns_of(title) - 2
            self.line(Text(title, bold=True), Text("  " + self.cut(strip.text, room) if room > 8 else ""))
            for row in strip.rows:
                self.row(row)
            self.ruler(len(strip.rows[0].cells))
            for row in strip.rows:
                self.wrapped([(Text(_CELLS[one.form], one.kind),
                               Text(self.cut(f" {one.name} × {whole(number)}", self.width - 8)))
                              for one, number in zip(row.categories, row.counts(), strict=True)], 7)  # fmt: skip

    def row(self, row: Row) -> None:
        """The cells of one property."""
        step = self.step_of(len(row.cells))
        texts = [Text(f"{self.cut(row.label, 6):<7}", dim=True)]
        for index in row.cells[::step]:
            category = row.categories[index]
            texts.append(Text(_CELLS[category.form], category.kind))
        self.line(*texts)

    def step_of(self, layers: int) -> int:
        """Layers to a character."""
        return -(-layers // (self.width - 8))

    def ruler(self, layers: int) -> None:
        """Layer numbers under the cells."""
        step = self.step_of(layers)
        marks = ""
        for at in range(0, -(-layers // step), 10):
            text = str(at * step)
            if at + len(text) <= self.width - 8:
                marks = marks.ljust(at) + text
        self.line(Text(" " * 7 + marks, dim=True))

    def components(self) -> None:
        """Parameters by component, with those active per token."""
        if not self.figure.bars or not self.total:
            return
        self.heading("Parameters by component")
        active = {segment.name: segment.value for segment in self.figure.bars[-1].segments}
        several = len(self.figure.bars) > 1
        room = max(8, min(26, self.width - 28))
        for segment in self.figure.bars[0].segments:
            texts = [Text("  "), Text(self.pad(segment.name, room), segment.kind)]
            texts.append(Text(f"{_exact(segment.value):>18}{share(segment.value, self.total):>8}"))
            if several and self.width > 76:
                texts.append(Text(f"   active {count(active.get(segment.name, 0)):>8}", dim=True))
            self.line(*texts)
        self.line(Text("  "), Text(self.pad("total", room)), Text(f"{_exact(self.total):>18}", bold=True))

    def memory(self) -> None:
        """What weights and cache take."""
        if self.figure.memory:
            self.heading("Memory")
        for chip in self.figure.memory:
            self.line(Text(f"  {chip.label:<10}", dim=True), Text(self.cut(chip.value, self.width - 12)))

    def origins(self) -> None:
        """Where the numbers come from: lines of the file in order, then what the file leaves out."""
        nodes = [node for column in self.figure.columns for item in column.items for node in nodes_of(item)]
        nodes += [cell.node for panel in self.figure.panels for cell in panel.cells]
        chips = [chip.origin for chip in self.figure.chips if chip.origin]
        found = list(dict.fromkeys((*chips, *(line for node in nodes for line in node.origins))))
        if not found:
            return
        self.heading("Where the numbers come from")
        found.sort(key=_origin_order)
        for line in found[:MOST_ORIGINS]:
            self.line(Text("  " + self.cut(line, self.width - 2)))
        if len(found) > MOST_ORIGINS:
            self.line(Text(f"  and {len(found) - MOST_ORIGINS} more", dim=True))

    def findings(self) -> None:
        """The list of findings."""
        if not self.figure.findings:
            return
        self.heading("Findings")
        for one in self.figure.findings[:MOST_FINDINGS]:
            head = f"  {_ICONS[one.level]} {one.rule}"
            self.line(Text(self.cut(head, self.width), one.level, bold=True), Text(f"  {one.location}", dim=True))
            for text in _folded(one.message, self.width - 4):
                self.line(Text("    " + self.cut(text, self.width - 4)))
        more = len(self.figure.findings) - MOST_FINDINGS
        if more > 0:
            self.line(Text(f"  and {more} more", dim=True))


def _exact(number: int) -> str:
    """All digits of a number of parameters, as long as it can be one."""
    return whole(number) if abs(number) < 10**16 else count(number)


def _bar(part: int, total: int) -> str:
    """A share as up to six blocks."""
    if part <= 0 or total <= 0:
        return ""
    return "█" * round(BAR * part / total) or "▏"


_LINE = re.compile(r":(\d+) ")


def _origin_order(line: str) -> tuple[int, int, str]:
    found = _LINE.search(line)
    written = found is not None and " (default" not in line
    return (0, int(found[1]), line) if written and found is not None else (1, 0, line)


def _folded(text: str, room: int) -> Iterator[str]:
    """A message in lines at its spaces, three at most."""
    words = text.split(" ")
    for _ in range(3):
        line = words.pop(0)
        while words and columns_of(f"{line} {words[0]}") <= room:
            line = f"{line} {words.pop(0)}"
        if not words:
            yield line
            return
        yield line
    yield "…"
