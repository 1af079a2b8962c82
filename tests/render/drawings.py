"""Models to draw in tests: the samples, default configs of types with unlike structures, and made-up ones."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from archscope.engine import Model, load
from archscope.render.compose import compose
from archscope.render.figure import Figure
from archscope.render.layout import layout
from archscope.render.layout.scene import Scene
from archscope.render.svg import svg

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = tuple(sorted(path.name for path in (ROOT / "samples").iterdir() if (path / "config.json").is_file()))
TYPES = (
    "bart", "bert", "bloom", "clip", "cohere", "cohere2", "convbert", "deepseek_v2", "falcon", "falcon_h1", "fnet",
    "funnel", "gemma2", "gpt2", "gpt_neox", "jamba", "kimi_linear", "llama4", "llava", "longcat_flash", "mamba",
    "mllama", "nemotron_h", "olmo2", "phi", "qwen3_next", "recurrent_gemma", "rwkv", "t5", "vit", "wav2vec2", "whisper",
    "zamba2",
)  # fmt: skip
"""Types that between them have every arrangement that the grammar of figures knows."""


def sample(name: str) -> Model:
    return load(ROOT / "samples" / name)


def model_of(model_type: str, **fields: Any) -> Model:
    """The default config of a type with some fields changed."""
    return load({"model_type": model_type, **fields})


@cache
def drawn(name: str) -> tuple[Figure, Scene, str]:
    """A sample (by its folder) or a type (by its name), composed, placed and written."""
    model = sample(name) if name in SAMPLES else model_of(name)
    figure = compose(model)
    scene = layout(figure)
    return figure, scene, svg(scene)


def real_configs(shared: Path, step: int) -> list[Path]:
    """Every so many of the published configs."""
    found = sorted((shared / "corpus" / "configs").glob("*.json"))[::step]
    return [path for path in found if json.loads(path.read_text("utf-8", "replace") or "{}") is not None]
