"""Graphviz source: the same figure, with ids that scripts can use."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable

import pytest

from archscope.render.dot import dot
from tests.render.drawings import SAMPLES, drawn


@pytest.mark.parametrize("name", SAMPLES)
def test_every_node_of_the_figure_is_there(name: str) -> None:
    figure = drawn(name)[0]
    source = dot(figure)
    for node in (*figure.stack_nodes(), *(cell.node for panel in figure.panels for cell in panel.cells)):
        assert node.name.split("<")[0].split("&")[0] in source
    for panel in figure.panels:
        for cell in panel.cells:
            assert re.search(rf'^\s*"?{re.escape(cell.node.id.replace(":", "/"))}"? \[', source, re.MULTILINE), (
                cell.node.id
            )


def test_frames_are_clusters_and_residuals_have_lanes() -> None:
    source = dot(drawn("llama-3.1-8b")[0])
    assert source.count('subgraph "cluster_model.layers.*"') == 1
    assert source.count("arrowhead=none minlen=9 penwidth=1.6") == 2
    assert "× 32" in source


def test_snapshot(snapshot: Callable[[str, str], None]) -> None:
    snapshot(dot(drawn("llama-3.1-8b")[0]), "llama.dot")


@pytest.mark.skipif(shutil.which("dot") is None, reason="needs Graphviz's dot")
@pytest.mark.parametrize("name", ["llama-3.1-8b", "deepseek-v3", "gemma-3-27b", "t5-small", "falcon", "rwkv"])
def test_graphviz_reads_it(name: str) -> None:
    made = subprocess.run(["dot", "-Tsvg"], input=dot(drawn(name)[0]), capture_output=True, text=True, check=False)
    assert made.returncode == 0
    assert "syntax error" not in made.stderr
    assert "unknown" not in made.stderr
    assert "</svg>" in made.stdout
