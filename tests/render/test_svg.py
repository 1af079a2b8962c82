"""The finished SVG: what it is made of, and that nothing in it meets what it should not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from archscope.engine import load
from archscope.render.compose import compose
from archscope.render.layout import layout
from archscope.render.svg import escape, svg
from tests.render import measure
from tests.render.drawings import SAMPLES, TYPES, drawn, model_of, sample

LARGEST = 100_000


@pytest.mark.parametrize("name", [*SAMPLES, *TYPES])
def test_nothing_meets_what_it_should_not(name: str) -> None:
    _, scene, text = drawn(name)
    assert _faults(scene, text) == []
    assert len(text.encode()) <= LARGEST


def _faults(scene: measure.Scene, text: str) -> list[str]:
    root = measure.parse(text)
    return [
        *measure.problems_of_markup(root),
        *measure.overlapping_texts(root),
        *measure.texts_outside(root),
        *measure.covered_texts(root),
        *measure.hidden_texts(root),
        *measure.overlapping_nodes(scene),
        *measure.loose_heads(scene),
        *measure.crossed_nodes(scene),
        *measure.crossed_texts(scene),
    ]


def test_published_configs(shared: Path) -> None:
    """Every tenth of the real files; the others are drawn by the slow test."""
    assert _draw_all(sorted((shared / "corpus" / "configs").glob("*.json"))[::10]) > 20


@pytest.mark.slow
def test_all_published_configs(shared: Path) -> None:
    assert _draw_all(sorted((shared / "corpus" / "configs").glob("*.json"))) > 300


def _draw_all(paths: list[Path]) -> int:
    number = 0
    for path in paths:
        model = load(path)
        if model.structure is not None:
            scene = layout(compose(model))
            assert _faults(scene, svg(scene)) == [], path.name
            number += 1
    return number


@pytest.mark.parametrize("name", SAMPLES)
def test_the_same_bytes_in_every_run(name: str) -> None:
    first = drawn(name)[2]
    assert svg(layout(compose(sample(name)))) == first


def test_ids_are_of_one_figure_only() -> None:
    texts = [drawn(name)[2] for name in SAMPLES]
    ids = [re.findall(r' id="([^"]*)"', text) for text in texts]
    assert all(len(set(some)) == len(some) for some in ids)
    flat = [one for some in ids for one in some]
    assert len(set(flat)) == len(flat)


def test_titles_for_those_who_do_not_see_it() -> None:
    text = drawn("llama-3.1-8b")[2]
    root = measure.parse(text)
    assert root.get("role") == "img"
    named = {element.get("id") for element in root if element.get("id")}
    assert set((root.get("aria-labelledby") or "").split()) == named
    description = root.findtext(f"{measure.SVG}desc") or ""
    assert "32 decoder blocks" in description
    assert "8,030,261,248 parameters" in description


def test_provenance_in_the_tooltip() -> None:
    root = measure.parse(drawn("llama-3.1-8b")[2])
    nodes = {g.get("data-id"): g for g in root.iter(f"{measure.SVG}g") if g.get("class") == "node"}
    attention = nodes["model.layers.0-31.self_attn"]
    assert attention.get("data-kind") == "attn"
    title = attention.findtext(f"{measure.SVG}title") or ""
    assert re.search(r"^config\.json:\d+ num_key_value_heads = 8$", title, re.MULTILINE)
    assert "head_dim = 128 (derived: hidden_size // num_attention_heads)" in title


def test_a_default_is_marked() -> None:
    figure = compose(model_of("llama"))
    assert {chip.label: chip.value for chip in figure.chips}["context"] == "2,048 (default)"
    rope = [cell.node for panel in figure.panels for cell in panel.cells if cell.node.name == "RoPE"]
    assert rope[0].lines[0][0] == "θ = 10,000 (default)"


def test_themes() -> None:
    scene = drawn("llama-3.1-8b")[1]
    auto, light, dark = (svg(scene, theme) for theme in ("auto", "light", "dark"))
    assert "prefers-color-scheme" in auto
    assert "<style>" not in light
    assert "<style>" not in dark
    assert 'fill="#0D1117"' in dark
    assert 'fill="#FFFFFF"' in auto
    without_classes = re.sub(r' class="[kfs]-[^"]*"|<style>.*</style>\n', "", auto)
    assert re.sub(r"as[0-9a-f]{8}", "", without_classes) == re.sub(r"as[0-9a-f]{8}", "", light)


def test_every_class_of_the_automatic_theme_has_a_rule() -> None:
    auto = drawn("deepseek-v3")[2]
    style = re.search(r"<style>(.*)</style>", auto)
    assert style is not None
    used = {name for some in re.findall(r' class="([kfs]-[^"]*)"', auto) for name in some.split()}
    assert used == set(re.findall(r"\.([kfs]-[\w-]+)\{", style[1]))


def test_escape() -> None:
    assert escape("<0.1 % & \"'") == "&lt;0.1 % &amp; &quot;&#39;"
