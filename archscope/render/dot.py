"""A figure as Graphviz source, for those who lay it out or style it themselves.

Nodes carry the ids of the figure (module paths), with "/" where a path has ":", which would name a port.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING

from archscope.errors import RenderError
from archscope.render.dot_tables import Labels
from archscope.render.figure import Column, Figure, Frame, Item, Node, Panel, Step, nodes_of
from archscope.render.theme import Palette, Theme, fill, palette, stroke

if TYPE_CHECKING:
    import graphviz

WIDE, NARROW, INSIDE = 215, 150, 110


def dot(figure: Figure, theme: Theme = "light") -> str:
    """The source, drawn by `dot`. Theme "auto" is light: Graphviz knows no reader's preference.

    Raises: RenderError where the package graphviz is missing.
    """
    try:
        import graphviz
    except ImportError as error:
        raise RenderError("DOT needs the package graphviz: python -m pip install graphviz") from error
    graph = graphviz.Digraph(_quiet(figure.name) or "model")
    _Writer(figure, graph, graphviz.escape, palette("dark" if theme == "dark" else "light")).write()
    return str(graph.source)


def _id(name: str) -> str:
    return name.replace(":", "/")


def _quiet(text: str) -> str:
    return text.replace("\\", "/").replace("\n", " ")


class _Writer:
    def __init__(self, figure: Figure, graph: graphviz.Digraph, escape: Callable[[str], str], colours: Palette) -> None:
        self.figure = figure
        self.graph = graph
        self.escape = escape
        self.colours = colours
        self.labels = Labels(colours)
        self.slots: dict[str, str] = {}
        self.lanes = 0

    def write(self) -> None:
        """Attributes, stacks, panels, what is below, and the edges between them."""
        self.attributes()
        stacks = [self.column(column, index) for index, column in enumerate(self.figure.columns)]
        for crossing in self.figure.crossings:
            if len(stacks) > 1:
                self.edge(stacks[0][1], crossing.target, label=crossing.label, constraint="false")
        above = ""
        for index, panel in enumerate(self.figure.panels):
            ends = self.panel(panel, index)
            # Only an edge keeps clusters above one another.
            if above and ends:
                self.edge(ends[1], above, style="invis")
            above = ends[0] if ends else above
        self.below(above)

    def attributes(self) -> None:
        """Defaults of the graph, of nodes and of edges."""
        colour = self.colours
        self.graph.attr(
            rankdir="BT", newrank="true", compound="true", outputorder="edgesfirst", nodesep="0.18", ranksep="0.22",
            bgcolor=colour["page"], fontname="Helvetica", pad="0.25", splines="true", labelloc="t", labeljust="l",
            label=f"<{self.labels.header(self.figure)}>",
        )  # fmt: skip
        self.graph.attr("node", shape="plain", fontname="Helvetica", fontsize="11", fontcolor=colour["text"])
        self.graph.attr("edge", color=colour["line"], arrowsize="0.6", penwidth="1.3", fontname="Helvetica",
                        fontsize="10", fontcolor=colour["muted"])  # fmt: skip

    # Nodes and edges

    def node(self, graph: graphviz.Digraph, node: Node, width: int, **more: str) -> None:
        """One box, or one circle."""
        tip = self.escape("\n".join((node.name, *(line[0] for line in node.lines if line), *node.origins)))
        attributes = {"tooltip": tip, "id": self.escape(node.id), "class": f"k-{node.kind}", **more}
        if node.shape in ("sum", "product"):
            self.circle(graph, node.id, "+" if node.shape == "sum" else "×", **attributes)
        elif node.shape == "cylinder":
            graph.node(_id(node.id), label=self.escape(node.name), shape="cylinder", style="filled", fontsize="10",
                       height="0.3", fillcolor=self.colours[fill("cache")], color=self.colours[stroke("cache")],
                       **attributes)  # fmt: skip
        else:
            graph.node(_id(node.id), label=f"<{self.labels.node(node, width)}>", **attributes)

    def circle(self, graph: graphviz.Digraph, name: str, sign: str, **more: str) -> None:
        """A sum or a product."""
        colour = self.colours
        graph.node(_id(name), label=sign, shape="circle", fontsize="14", fixedsize="true", width="0.24", style="filled",
                   fillcolor=colour["page"], color=colour["line"], fontcolor=colour["line"], **more)  # fmt: skip

    def edge(self, source: str, target: str, **more: str) -> None:
        """An edge of the whole graph: one that is written in a cluster would pull its ends into it."""
        self.graph.edge(self.end(source), self.end(target), **more)

    def end(self, name: str) -> str:
        """A node, or the slot that it is in."""
        return self.slots.get(name, _id(name))

    # Stacks

    def column(self, column: Column, index: int) -> tuple[str, str]:
        """The stack from bottom to top, each thing linked to the one below; returns its ends."""
        chain: list[tuple[str, bool]] = []
        group = f"main{index}" if index else "main"
        for item in column.items:
            if isinstance(item, Frame):
                chain += self.frame(item, index, group)
            else:
                self.node(self.graph, item, WIDE if item.shape == "block" else NARROW, group=group)
                chain.append((item.id, True))
        for (below, _), (here, headed) in pairwise(chain):
            more = {} if headed else {"arrowhead": "none"}
            self.edge(below, here, weight="100", **more)
        return chain[0][0], chain[-1][0]

    def frame(self, frame: Frame, index: int, group: str) -> list[tuple[str, bool]]:
        """A cluster for the layers; returns its main line as (id, whether an arrow enters it)."""
        line: list[tuple[str, bool]] = []
        with self.graph.subgraph(name=f"cluster_{_id(frame.id)}") as cluster:
            where = f", {frame.where}" if frame.where else ""
            label = self.labels.font(f"{frame.label}{where}", 12, bold=True)
            cluster.attr(
                label=f"<{label}  {self.labels.font(f'× {frame.count:,}', 18, bold=True)}>",
                labeljust="l", labelloc="b", style="rounded,filled", fillcolor=self.colours["panel"],
                color=self.colours["frame"], margin="14",
            )  # fmt: skip
            for step in frame.steps:
                line += self.step(cluster, step, f"{frame.id}#{index}", group)
        return line

    def step(self, graph: graphviz.Digraph, step: Step, frame: str, group: str) -> list[tuple[str, bool]]:
        """One sublayer with its tap, its add and the lane between them."""
        self.lanes += 1
        tap, add = f"{frame}.tap{self.lanes}", f"{frame}.add{self.lanes}"
        line: list[tuple[str, bool]] = []
        if step.residual:
            graph.node(_id(tap), label="", shape="point", width="0.06", group=group, color=self.colours["line"])
            line.append((tap, False))
        for item in step.before:
            line.append((self.item(graph, item, group), True))
        joined = step.residual or len(step.branches) > 1
        if len(step.branches) > 1:
            self.branches(graph, step, line[-1][0] if line else tap, add, group)
        else:
            line += [(self.item(graph, item, group), True) for branch in step.branches for item in branch]
        if joined:
            self.circle(graph, add, "+", group=group)
            line.append((add, True))
        if step.residual:
            self.lane(graph, tap, add, step.factor)
        return line + [(self.item(graph, item, group), True) for item in step.after]

    def branches(self, graph: graphviz.Digraph, step: Step, start: str, add: str, group: str) -> None:
        """Branches side by side from the last node to the add."""
        for index, branch in enumerate(step.branches):
            before = start
            for item in branch:
                here = self.item(graph, item, f"{group}.{index}")
                self.edge(before, here)
                before = here
            if index not in step.apart:
                self.edge(before, add)

    def lane(self, graph: graphviz.Digraph, tap: str, add: str, factor: str) -> None:
        """The residual as three straight lines through two points that are not seen."""
        low, high = f"{tap}.lane", f"{add}.lane"
        for point, beside in ((low, tap), (high, add)):
            graph.node(_id(point), label="", shape="point", width="0.001", style="invis", group="lane")
            with graph.subgraph() as rank:
                rank.attr(rank="same")
                rank.node(_id(point))
                rank.node(_id(beside))
        graph.edge(_id(low), _id(tap), arrowhead="none", penwidth="1.6", minlen="9")
        graph.edge(_id(low), _id(high), arrowhead="none", penwidth="1.6", weight="50")
        graph.edge(_id(high), _id(add), penwidth="1.6", **({"label": factor} if factor else {}))

    def item(self, graph: graphviz.Digraph, item: Item, group: str) -> str:
        """A node or a slot; returns its id."""
        if isinstance(item, Node):
            self.node(graph, item, WIDE if item.shape == "block" else NARROW, group=group)
            return item.id
        ports = [f"a{index}" for index in range(len(item.nodes))]
        for node in item.nodes:
            # An edge to a cluster from a port makes dot 2.43 read garbage: leaders start at the slot itself.
            self.slots[node.id] = _id(item.id)
        tip = self.escape("\n".join((item.caption[0], *(node.name for node in item.nodes))))
        graph.node(
            _id(item.id), label=f"<{self.labels.slot(item, ports)}>", group=group, tooltip=tip, id=self.escape(item.id)
        )
        return item.id

    # Panels

    def panel(self, panel: Panel, index: int) -> tuple[str, str] | None:
        """A cluster of details, joined by a dashed line to what it opens; returns its lowest and its highest node."""
        inside = [cell.node for cell in panel.cells] + [node for step in panel.chain for node in step]
        if not inside:
            return None
        name = f"cluster_p{index}"
        with self.graph.subgraph(name=name) as cluster:
            cluster.attr(label=f"<{self.labels.panel(panel)}>", labeljust="l", labelloc="b", style="rounded,filled",
                         fillcolor=self.colours["panel"], color=self.colours[stroke(panel.kind)],
                         margin="12")  # fmt: skip
            for node in inside:
                self.node(cluster, node, INSIDE)
            for number, entry in enumerate(panel.inputs):
                source = f"{panel.id}.in{number}"
                cluster.node(_id(source), label=f"<{self.labels.font(entry.text, 11, 'muted', mono=True)}>")
                for target in entry.targets:
                    self.inside(cluster, source, target)
            self.wires(cluster, panel)
        for opened in dict.fromkeys(map(self.end, panel.opens)):
            if panel.link == "cone":
                self.edge(opened, inside[0].id, lhead=name, constraint="false", style="dashed", arrowhead="none",
                          color=self.colours[stroke(panel.kind)], penwidth="1.1")  # fmt: skip
        lowest = f"{panel.id}.in0" if panel.inputs else inside[0].id
        last = next((wire.source.partition("@")[0] for wire in panel.wires if not wire.target), inside[-1].id)
        return lowest, last

    def wires(self, cluster: graphviz.Digraph, panel: Panel) -> None:
        """Edges between the cells, or along the chain."""
        for wire in panel.wires:
            if wire.target:
                self.inside(cluster, wire.source, wire.target)
        if panel.link == "none" and panel.kind != "vis":
            return
        for before, here in zip(panel.chain, panel.chain[1:], strict=False):
            for source in before:
                for target in here:
                    self.inside(cluster, source.id, target.id)

    def inside(self, cluster: graphviz.Digraph, source: str, target: str) -> None:
        """An edge of a panel; columns of the grid mean nothing here."""
        cluster.edge(_id(source.partition("@")[0]), _id(target.partition("@")[0]))

    def below(self, panel: str) -> None:
        """The tables at the bottom, under the stack and the lowest panel."""
        self.graph.node("facts", label=f"<{self.labels.facts(self.figure)}>")
        first = next((node for column in self.figure.columns for item in column.items for node in nodes_of(item)), None)
        for above in filter(None, (first.id if first is not None else "", panel)):
            self.edge("facts", above, style="invis")
