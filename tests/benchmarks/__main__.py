"""How fast archscope is, as ratios: `python -m tests.benchmarks`.

Cold: the wall time of `archscope check FILE` against that of a Python that only imports click and pydantic. Warm: how
many configurations a second load and check through the library, one after another, on one core. Each number is the best
of several runs, so that other work on the machine counts as little as possible.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import archscope

ROOT = Path(__file__).resolve().parents[2]
RUNS = 15
COLD_LIMIT = 2.0
WARM_LIMIT = 300


def best_wall_seconds(*arguments: str) -> float:
    """Seconds of the quickest run of this Python with some arguments."""
    # Compiled modules are part of every installation; where nothing may be written they would be compiled each time.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        subprocess.run([sys.executable, *arguments], cwd=ROOT, env=environment, check=True, capture_output=True)
        times.append(time.perf_counter() - start)
    return min(times)


def warm_per_second(configs: list[dict[str, object]]) -> float:
    """Configurations loaded and checked a second."""
    for config in configs:
        _ = archscope.load(config).diagnostics
    best = 0.0
    for _ in range(3):
        start = time.perf_counter()
        for config in configs:
            _ = archscope.load(config).diagnostics
        best = max(best, len(configs) / (time.perf_counter() - start))
    return best


def warm_files_per_second(paths: list[Path]) -> float:
    """Files read, loaded and checked a second, their schemas being known already."""
    for path in paths:
        _ = archscope.load(path).diagnostics
    start = time.perf_counter()
    for path in paths:
        _ = archscope.load(path).diagnostics
    return len(paths) / (time.perf_counter() - start)


def main() -> None:
    """Print the measurements."""
    sample = "samples/llama-3.1-8b/config.json"
    base = best_wall_seconds("-c", "import click, pydantic")
    check = best_wall_seconds("-m", "archscope", "check", sample)
    print(f"cold check {check * 1000:.0f} ms, import of click and pydantic {base * 1000:.0f} ms: "
          f"{check / base:.2f} x (at most {COLD_LIMIT})")  # fmt: skip
    paths = sorted(ROOT.glob("samples/*/config.json"))
    configs = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    warm = warm_per_second(configs * 20)
    print(
        f"warm, {len(configs)} samples as dicts: {warm:.0f} a second: {warm / WARM_LIMIT:.2f} x (at least {WARM_LIMIT})"
    )
    corpus = sorted((ROOT.parent / "shared" / "corpus" / "configs").glob("*.json"))
    if corpus:
        rate = warm_files_per_second(corpus)
        print(f"warm, {len(corpus)} real files: {rate:.0f} a second: {rate / WARM_LIMIT:.2f} x (at least {WARM_LIMIT})")
    unit = 1 if sys.platform == "darwin" else 1024
    print(f"memory at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
