"""The distribution: what is in it, and that it works where nothing else is."""

from __future__ import annotations

import email
import json
import os
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import archscope


@pytest.fixture(scope="session")
def wheel(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", str(root), "--no-deps", "--no-build-isolation", "-w", str(folder)]
    run = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_holds_the_package_and_its_data(wheel: Path, root: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        folder = next(name for name in names if name.endswith(".dist-info/METADATA")).rpartition("/")[0]
        metadata = email.message_from_bytes(archive.read(f"{folder}/METADATA"))
        entry_points = archive.read(f"{folder}/entry_points.txt").decode()
    package = root / "archscope"
    inside = (path.relative_to(package) for path in package.rglob("*.py"))
    modules = {f"archscope/{path.as_posix()}" for path in inside if path.parts[0] != "dev"}
    schemas = {f"archscope/schemas/{path.relative_to(root / 'schemas').as_posix()}" for path in
               (root / "schemas").rglob("*.json")}  # fmt: skip
    assert len(schemas) > 800
    assert modules | schemas | {"archscope/py.typed"} <= names
    assert not [name for name in names if name.startswith(("tests/", "samples/", "archscope/dev/"))]
    assert (metadata["Name"], metadata["Version"]) == ("archscope-lint", archscope.__version__)
    assert metadata["License-Expression"] == "Apache-2.0"
    assert f"{folder}/licenses/LICENSE" in names
    assert "archscope = archscope.cli:main" in entry_points


@pytest.mark.slow
def test_the_wheel_works_in_an_empty_environment(wheel: Path, root: Path, tmp_path: Path) -> None:
    """Nothing but the wheel and what it depends on; run from a folder that knows nothing of the checkout."""
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=True)
    scripts = environment / ("Scripts" if sys.platform == "win32" else "bin")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    config = (root / "samples" / "llama-3.1-8b" / "config.json").read_text(encoding="utf-8")
    (elsewhere / "config.json").write_text(config, encoding="utf-8")
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}

    def call(*command: str | Path) -> str:
        run = subprocess.run([str(part) for part in command], capture_output=True, encoding="utf-8", cwd=elsewhere,
                             env={**clean, "PYTHONUTF8": "1"}, check=False)  # fmt: skip
        assert run.returncode == 0, run.stdout + run.stderr
        return run.stdout

    call(scripts / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
    program = scripts / "archscope"
    assert call(program, "--version") == f"archscope {archscope.__version__}\n"
    assert call(program, "check", ".").startswith("no findings in 1 file (structure exact)")
    assert len(json.loads(call(program, "tensors", ".", "--format", "json"))["tensors"]) == 291
    assert "llama" in call(program, "show", ".", "--color", "never").lower()
    assert "indivisible-kv-heads" in call(scripts / "python", "-m", "archscope", "rules")
    call(program, "draw", "config.json", "-o", "model.svg")
    assert (elsewhere / "model.svg").read_text(encoding="utf-8").startswith(("<svg", "<?xml"))
    call(program, "draw", "config.json", "-o", "model.png")
    assert (elsewhere / "model.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    where = call(scripts / "python", "-c", "import archscope; print(archscope.__file__)")
    assert Path(where.strip()).is_relative_to(environment)


def test_the_readme_and_ci_run_the_same_commands(root: Path) -> None:
    readme = (root / "README.md").read_text(encoding="utf-8")
    script = (root / ".ci" / "run").read_text(encoding="utf-8")
    for command in ("pip install '.[test]'", "pytest -n auto"):
        assert command in readme
        assert command in script


def test_nobody_is_told_to_install_the_unrelated_project_of_our_name(root: Path) -> None:
    tracked = [path for pattern in ("*.md", "*.toml", "*.yml", "*.yaml", "**/*.py") for path in root.glob(pattern)]
    assert len(tracked) > 50
    for path in tracked:
        if path == Path(__file__):
            continue
        assert not re.search(r"pip3? install (-\S+ )*archscope(?!-lint)\b", path.read_text(encoding="utf-8")), path


def test_the_tests_use_the_transformers_of_the_snapshot(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (pinned,) = [one for one in project["optional-dependencies"]["test"] if one.startswith("transformers")]
    snapshot = json.loads((root / "schemas" / "common.json").read_text(encoding="utf-8"))["x-transformers"]
    assert pinned == f"transformers=={snapshot}"
    assert "transformers>=5.0" in project["dependencies"]
