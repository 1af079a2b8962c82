"""A placed figure as SVG.

Only what every consumer has: rect, circle, path, polygon, text, g, title, desc and style; no markers, filters,
variables, links or scripts. Presentation attributes carry the theme, and classes only override them for readers who
prefer dark.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable

from archscope.render.layout.lines import head_points, number
from archscope.render.layout.scene import Circle, Group, Head, Paint, Path, Polygon, Rect, Scene, Shape, Text
from archscope.render.theme import DARK, Palette, Theme, fill, palette, stroke

SANS = "Helvetica, Arial, 'Liberation Sans', Arimo, sans-serif"
MONO = "'SFMono-Regular', Menlo, Consolas, 'Liberation Mono', Cousine, monospace"


def escape(text: str) -> str:
    """Text that is safe inside an element and inside a quoted attribute."""
    return (
        text.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace('"', "&quot;")
        .replace("'", "&#39;")
    )


def svg(scene: Scene, theme: Theme = "auto") -> str:
    """The document, with a newline at its end."""
    writer = _Writer(palette(theme), classes=theme == "auto")
    body = "\n".join(writer.shapes(scene.shapes))
    name = f"as{zlib.crc32((scene.title + body).encode('utf-8', 'replace')):08x}"
    width, height = number(scene.width), number(scene.height)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" id="{name}" width="{width}" height="{height}"'
        f' viewBox="0 0 {width} {height}" role="img" aria-labelledby="{name}-title {name}-desc"'
        f' font-family="{SANS}">',
        f'<title id="{name}-title">{escape(scene.title)}</title>',
        f'<desc id="{name}-desc">{escape(scene.description)}</desc>',
    ]
    if theme == "auto":
        lines.append(f"<style>{_dark_rules(name, writer.used)}</style>")
    return "\n".join((*lines, body, "</svg>", ""))


def _dark_rules(name: str, used: Iterable[str]) -> str:
    """What changes for readers who prefer dark."""
    rules = []
    for css in sorted(used):
        use, colour = css[0], css[2:]
        if use == "k":
            said = f"fill:{DARK[fill(colour)]};stroke:{DARK[stroke(colour)]}"
        else:
            said = f"{'fill' if use == 'f' else 'stroke'}:{DARK[colour]}"
        rules.append(f"#{name} .{css}{{{said}}}")
    return f"@media (prefers-color-scheme: dark){{{''.join(rules)}}}"


class _Writer:
    def __init__(self, colours: Palette, *, classes: bool) -> None:
        self.colours = colours
        self.classes = classes
        self.used: set[str] = set()

    def shapes(self, shapes: Iterable[Shape]) -> Iterable[str]:
        for shape in shapes:
            if isinstance(shape, Group):
                yield self.group(shape)
            else:
                yield self.shape(shape)

    def group(self, group: Group) -> str:
        label = f' role="img" aria-label="{escape(group.label)}"' if group.label else ""
        data = "".join(f' data-{key}="{escape(value)}"' for key, value in group.data)
        title = f"<title>{escape(group.title)}</title>" if group.title else ""
        inner = "\n".join(self.shapes(group.shapes))
        return f'<g class="{group.name}"{data}{label}>{title}\n{inner}\n</g>'

    def shape(self, shape: Shape) -> str:
        match shape:
            case Rect(box, paint, radius):
                rx = f' rx="{number(radius)}"' if radius else ""
                place = (
                    f'x="{number(box.x)}" y="{number(box.y)}" width="{number(box.width)}" height="{number(box.height)}"'
                )
                return f"<rect {place}{rx}{self.paint(paint)}/>"
            case Circle(x, y, radius, paint):
                return f'<circle cx="{number(x)}" cy="{number(y)}" r="{number(radius)}"{self.paint(paint)}/>'
            case Path(data, paint, round_caps):
                caps = ' stroke-linecap="round"' if round_caps else ""
                return f'<path d="{data}"{self.paint(paint)}{caps}/>'
            case Polygon(points, paint):
                return f'<polygon points="{_points(points)}"{self.paint(paint)}/>'
            case Head():
                return f'<polygon points="{_points(head_points(shape))}"{self.paint(Paint(fill="line"))}/>'
            case Text():
                return self.text(shape)
        raise TypeError(shape)

    def paint(self, paint: Paint) -> str:
        parts = []
        names = []
        if paint.fill:
            parts.append(f' fill="{self.colours[paint.fill]}"')
            names.append(f"f-{paint.fill}")
            if paint.fill_opacity != 1:
                parts.append(f' fill-opacity="{number(paint.fill_opacity)}"')
        else:
            parts.append(' fill="none"')
        if paint.stroke:
            parts.append(f' stroke="{self.colours[paint.stroke]}" stroke-width="{number(paint.width)}"')
            names.append(f"s-{paint.stroke}")
            if paint.dash:
                parts.append(f' stroke-dasharray="{paint.dash}"')
            if paint.stroke_opacity != 1:
                parts.append(f' stroke-opacity="{number(paint.stroke_opacity)}"')
        kind = paint.fill.removesuffix("-fill")
        if paint.fill == fill(kind) and paint.stroke == stroke(kind):
            names = [f"k-{kind}"]
        return "".join(parts) + self.named(names)

    def named(self, names: list[str]) -> str:
        """What the dark rules know an element by: fill, stroke, or both of one kind."""
        if not self.classes or not names:
            return ""
        self.used.update(names)
        return f' class="{" ".join(names)}"'

    def text(self, text: Text) -> str:
        parts = [f'<text x="{number(text.x)}" y="{number(text.y)}" font-size="{number(text.size)}"']
        if text.mono:
            parts.append(f' font-family="{MONO}"')
        if text.bold:
            parts.append(' font-weight="bold"')
        if text.italic:
            parts.append(' font-style="italic"')
        if text.anchor != "start":
            parts.append(f' text-anchor="{text.anchor}"')
        parts.append(f' fill="{self.colours[text.colour]}"{self.named([f"f-{text.colour}"])}')
        return f"{''.join(parts)}>{escape(text.text)}</text>"


def _points(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{number(x)},{number(y)}" for x, y in points)
