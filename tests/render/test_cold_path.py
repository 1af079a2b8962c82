"""What a drawing imports: nothing that another format needs, and nothing heavy."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.render.drawings import ROOT

HEAVY = ("transformers", "torch", "networkx", "pydantic", "rich", "importlib.metadata")


@pytest.mark.parametrize(
    ("ask", "absent"),
    [
        (
            "archscope.load('samples/llama-3.1-8b').draw()",
            (*HEAVY, "graphviz", "resvg_py", "archscope.render.terminal"),
        ),
        ("archscope.load('samples/llama-3.1-8b').draw(format='dot')", (*HEAVY, "resvg_py", "archscope.render.layout")),
        (
            "from archscope.render.terminal import card; card(archscope.load('samples/gpt2'), width=80, color=False)",
            (*HEAVY, "graphviz", "resvg_py", "archscope.render.layout"),
        ),
    ],
)
def test_imports(ask: str, absent: tuple[str, ...]) -> None:
    code = f"import sys, archscope; {ask}; print([n for n in {absent!r} if n in sys.modules])"
    made = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert made.stdout.strip() == "[]"
