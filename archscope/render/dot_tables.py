"""HTML-like labels of Graphviz: nodes, slots, headers and the tables below a figure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from archscope.render.figure import Bar, Figure, Finding, Glyph, HeadParts, Heads, Node, Panel, Slot, Strip
from archscope.render.quantities import count, share, whole
from archscope.render.theme import Palette, fill, stroke

MOST_CELLS = 240
MOST_FINDINGS = 8
BAR_WIDTH = 600


def escape(text: str) -> str:
    """Text inside an HTML-like label."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def in_words(glyph: Glyph) -> str:
    """What the small picture of a node says."""
    if isinstance(glyph, Heads):
        return f"{whole(glyph.num_heads)} Q heads over {whole(glyph.num_kv_heads)} KV heads"
    if isinstance(glyph, HeadParts):
        parts = f"q, k {whole(glyph.plain)} nope + {whole(glyph.rotary)} rope · v {whole(glyph.value)}"
        return f"{whole(glyph.num_heads)} heads · {parts}"
    return f"{whole(glyph.active)} of {whole(glyph.count)} active"


class Labels:
    """Labels in the colours of one theme."""

    def __init__(self, colours: Palette) -> None:
        self.colours = colours

    def font(self, text: str, size: float = 11, colour: str = "text", *, bold: bool = False, italic: bool = False,
             mono: bool = False) -> str:  # fmt: skip
        """A stretch of text."""
        said = escape(text) or " "
        said = f"<B>{said}</B>" if bold else said
        said = f"<I>{said}</I>" if italic else said
        face = ' FACE="Courier"' if mono else ""
        return f'<FONT POINT-SIZE="{size:g}" COLOR="{self.colours[colour]}"{face}>{said}</FONT>'

    def table(self, rows: Iterable[str], **attributes: object) -> str:
        """A table of cells that are written already."""
        said = "".join(f' {name.upper()}="{value}"' for name, value in attributes.items())
        return f"<TABLE{said}>{''.join(f'<TR>{row}</TR>' for row in rows)}</TABLE>"

    def node(self, node: Node, width: int, chip: str = "") -> str:
        """A box: title, lines, the finding above them."""
        bold = node.shape != "bar"
        title = self.font(node.name, 13 if width > 160 else 12, bold=bold, mono=node.mono)
        if node.suffix:
            title += "  " + self.font(node.suffix, 10, "muted", mono=True)
        if chip:
            title += "  " + self.font(f"({chip})", 11, "muted")
        lines = [title, *(self.font(line[0]) for line in node.lines if line)]
        if node.glyph is not None:
            lines.append(self.font(in_words(node.glyph)))
        if node.badge is not None:
            lines.insert(0, self.font(f"{node.badge.level}: {node.badge.label}", 10, node.badge.level, bold=True))
        edge = node.badge.level if node.badge is not None else stroke(node.kind)
        return self.table(
            [f'<TD WIDTH="{width}">{"<BR/>".join(lines)}</TD>'],
            border=2 if node.badge is not None else 1,
            cellborder=0,
            cellspacing=0,
            cellpadding=3,
            style="ROUNDED",
            bgcolor=self.colours[fill(node.kind)],
            color=self.colours[edge],
        )

    def slot(self, slot: Slot, ports: Sequence[str]) -> str:
        """Alternatives in one dotted box, each with a port of its own; the first to occur at the bottom."""
        rows = [f'<TD ALIGN="LEFT">{self.font(slot.caption[0], 10, "muted", italic=True)}</TD>']
        word = "or" if slot.mode == "one" else "and"
        for index, (node, chip, port) in enumerate(reversed(list(zip(slot.nodes, slot.chips, ports, strict=True)))):
            if index:
                rows.append(f'<TD ALIGN="LEFT">{self.font(word, 10, "muted", italic=True)}</TD>')
            rows.append(f'<TD PORT="{port}">{self.node(node, 215, chip)}</TD>')
        return self.table(rows, border=1, cellborder=0, cellspacing=0, cellpadding=3, style="ROUNDED,DOTTED",
                          color=self.colours["frame"])  # fmt: skip

    def header(self, figure: Figure) -> str:
        """Name, class and facts."""
        name = self.font(figure.name, 20, bold=True) + "   " + self.font(figure.model_class, 12, "muted", mono=True)
        facts = "   ".join(
            f"{self.font(chip.label, 11, 'muted')} {self.font(chip.value, 12, bold=True)}" for chip in figure.chips
        )
        rows = [name, facts, *(self.font(remark, 11, "muted", italic=True) for remark in figure.remarks)]
        return self.table([f'<TD ALIGN="LEFT">{row}</TD>' for row in rows], border=0, cellborder=0, cellpadding=3)

    def panel(self, panel: Panel) -> str:
        """Title of a panel's cluster."""
        rows = [self.font(panel.title[0], 13, bold=True)]
        rows += [self.font(line[0], 11, "muted") for line in (panel.subtitle, panel.note) if line]
        return self.table([f'<TD ALIGN="LEFT">{row}</TD>' for row in rows], border=0, cellborder=0, cellpadding=0)

    def facts(self, figure: Figure) -> str:
        """Layer patterns, bars and findings, one table below another."""
        rows = [row for strip in figure.strips for row in self.strip(strip)]
        if figure.bars and all(one.value > 0 for bar in figure.bars for one in bar.segments):
            rows.append(self.font("Parameters by component", 13, bold=True))
            rows += [self.bar(bar) for bar in figure.bars]
            rows.append(self.legend(figure.bars[0]))
        rows += [self.finding(finding) for finding in figure.findings[:MOST_FINDINGS]]
        more = len(figure.findings) - MOST_FINDINGS
        if more > 0:
            rows.append(self.font(f"and {more} more", 11, "muted"))
        return self.table([f'<TD ALIGN="LEFT">{row}</TD>' for row in rows], border=0, cellborder=0, cellpadding=3)

    def strip(self, strip: Strip) -> list[str]:
        """Title and a row of cells for each property."""
        rows = [self.font(strip.title, 13, bold=True) + "  " + self.font(strip.text, 11, "muted")]
        for row in strip.rows:
            step = -(-len(row.cells) // MOST_CELLS)
            cells = [row.categories[index].kind for index in row.cells[::step]]
            full = [row.categories[index].form == "full" for index in row.cells[::step]]
            wide = max(4, 600 // max(len(cells), 1))
            drawn = "".join(
                self.cell(wide, 16, kind, stroke(kind) if solid else fill(kind))
                for kind, solid in zip(cells, full, strict=True)
            )
            label = f"<TD>{self.font(row.label, 11, 'muted')}</TD>"
            rows.append(self.table([f"{label}{drawn}<TD></TD>"], border=0, cellborder=0, cellspacing=1, cellpadding=0))
            legend = [
                self.cell(11, 11, one.kind, stroke(one.kind) if one.form == "full" else fill(one.kind))
                + f"<TD>{self.font(f'{one.name} × {whole(number)}')}</TD>"
                for one, number in zip(row.categories, row.counts(), strict=True)
            ]
            rows.append(self.table(["".join(legend) + "<TD></TD>"], border=0, cellspacing=3, cellpadding=0))
        return rows

    def cell(self, width: int, height: int, kind: str, colour: str) -> str:
        """A coloured cell of a fixed size."""
        return (
            f'<TD FIXEDSIZE="TRUE" WIDTH="{width}" HEIGHT="{height}" BORDER="1" COLOR="{self.colours[stroke(kind)]}"'
            f' BGCOLOR="{self.colours[colour]}"></TD>'
        )

    def bar(self, bar: Bar) -> str:
        """Segments in proportion; an empty cell at the end takes what the table stretches."""
        cells = "".join(
            self.cell(max(4, BAR_WIDTH * one.value // bar.total), 16, one.kind, fill(one.kind)) for one in bar.segments
        )
        label = f"<TD>{self.font(f'{bar.label} {count(bar.total)}', 11, bold=True)}</TD>"
        return self.table([f"{label}{cells}<TD></TD>"], border=0, cellspacing=0, cellpadding=0)

    def legend(self, bar: Bar) -> str:
        """What the colours of a bar mean."""
        cells = []
        for one in bar.segments:
            portion = self.font(share(one.value, bar.total), 11, "muted")
            said = f"{self.font(one.name)} {self.font(count(one.value), bold=True)} {portion}"
            cells.append(f"{self.cell(11, 11, one.kind, fill(one.kind))}<TD>{said}</TD>")
        rows = ["".join(cells[at : at + 4]) + "<TD></TD>" for at in range(0, len(cells), 4)]
        return self.table(rows, border=0, cellspacing=3, cellpadding=0)

    def finding(self, finding: Finding) -> str:
        """One line of the list of findings."""
        head = self.font(f"{finding.level} {finding.rule}", 11, finding.level, bold=True)
        return f"{head}  {self.font(finding.message)}  {self.font(finding.location, 10, 'muted', mono=True)}"
