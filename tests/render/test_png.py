"""PNG from the fonts that come along."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from archscope.render.png import FONTS, png
from archscope.render.widths import ELLIPSIS
from tests.render.drawings import ROOT, drawn

pytest.importorskip("resvg_py")


def test_size_is_twice_the_nominal_one() -> None:
    scene = drawn("llama-3.1-8b")[1]
    data = png(scene)
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">II", data[16:24]) == (2 * scene.width, 2 * scene.height)


def test_auto_is_light_and_dark_is_not() -> None:
    scene = drawn("bert-base")[1]
    light = png(scene, "light")
    assert png(scene, "auto") == light
    assert png(scene, "dark") != light


def test_without_any_font_of_the_system(tmp_path: Path) -> None:
    """The same bytes where fontconfig knows no font at all."""
    code = (
        "import sys, archscope; from archscope.render import draw;"
        "sys.stdout.buffer.write(draw(archscope.load('samples/gpt2'), format='png', theme='light'))"
    )
    empty = tmp_path / "fonts.conf"
    empty.write_text("<fontconfig></fontconfig>")
    bare = {**os.environ, "FONTCONFIG_FILE": str(empty), "HOME": str(tmp_path)}
    made = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=bare, capture_output=True, check=True)
    assert made.stdout == png(drawn("gpt2")[1], "light")


def test_fonts_are_small_and_have_their_licence() -> None:
    fonts = sorted(FONTS.glob("*.ttf"))
    assert len(fonts) == 5
    assert sum(path.stat().st_size for path in fonts) < 80_000
    assert "SIL OPEN FONT LICENSE" in (FONTS / "OFL.txt").read_text("utf-8")


def test_fonts_have_what_the_width_table_has() -> None:
    tools = pytest.importorskip("fontTools.ttLib")
    from archscope.render.advances import BOLD, REGULAR

    for name, table in (("sans-regular", REGULAR), ("sans-bold", BOLD)):
        known = set(tools.TTFont(FONTS / f"{name}.ttf").getBestCmap())
        assert {ord(char) for _, row in table for char in row} <= known
        assert ord(ELLIPSIS) in known
