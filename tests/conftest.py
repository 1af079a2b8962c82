"""What all tests share: the real files of the workshop, snapshots, and the command line."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent
_SHARED = ROOT.parent / "shared"

# Time says nothing on a busy machine, and continuous integration must not roll dice.
settings.register_profile(
    "archscope", deadline=None, derandomize="CI" in os.environ, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("archscope")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="write snapshots anew instead of comparing with them")


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real files beside the checkout."""
    if not _SHARED.is_dir():
        pytest.skip("needs the real files of ../shared, which are not part of the repository")
    return _SHARED


@pytest.fixture
def snapshot(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compares a text with the file of that name in `snapshots/` beside the test; `pytest --update` writes it."""
    folder = request.path.parent / "snapshots"

    def compare(text: str, name: str) -> None:
        path = folder / name
        if request.config.getoption("--update"):
            folder.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
            return
        assert path.is_file(), f"{path} is missing: run pytest --update and look at it"
        wanted = path.read_text(encoding="utf-8")
        if text != wanted:
            lines = difflib.unified_diff(wanted.splitlines(), text.splitlines(), "snapshot", "now", lineterm="")
            pytest.fail("\n".join(["the output is not that of the snapshot (pytest --update writes it anew)", *lines]))

    return compare
