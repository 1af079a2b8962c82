"""Who may import whom, and what an import costs."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import archscope

PACKAGE = Path(archscope.__file__).parent
# From left to right; a room imports from its own and from those on its left. Rooms of one rank do not know each other.
RANKS = (
    ("records",),
    ("errors", "diagnostics"),
    ("source",),
    ("config",),
    ("blocks",),
    ("families",),
    ("structure",),
    ("costs",),
    ("claims",),
    ("rules",),
    ("report",),
    ("render",),
    ("introspect",),
    ("fallback",),
    ("fallback",),
    ("engine",),
    ("verification", "fixing", "settings"),
    ("cli",),
    ("__main__", "dev"),
)
RANK = {room: rank for rank, rooms in enumerate(RANKS) for room in rooms}
# Beside what every module of a room may import: the parts of it that its other modules stand on.
SHARED = {"families": {"registry", "index"}, "rules": {"base", "examples", "rotary", "runner", "stored", "targets"}}


def modules() -> list[Path]:
    found = sorted(PACKAGE.rglob("*.py"))
    assert len(found) > 50
    return found


def dotted(path: Path) -> tuple[str, ...]:
    """The name of a module below the package, ("source", "text")."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def imports(path: Path) -> Iterator[tuple[str, ...]]:
    """The modules of archscope that a module imports when it runs, whether at its top or inside a function."""
    pending: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            pending += node.orelse
            continue
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            base = node.module or ""
            names = [f"{base}.{alias.name}" if is_module(f"{base}.{alias.name}") else base for alias in node.names]
        for name in names:
            if name.split(".")[0] == "archscope" and name != "archscope":
                yield tuple(name.split(".")[1:])
        pending += ast.iter_child_nodes(node)


def is_module(name: str) -> bool:
    path = PACKAGE.parent.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def test_every_room_has_a_rank() -> None:
    rooms = {dotted(path)[0] for path in modules() if dotted(path)}
    assert rooms <= set(RANK), "give the new room its place in RANKS"


@pytest.mark.parametrize("path", modules(), ids=lambda path: ".".join(dotted(path)) or "archscope")
def test_imports_point_to_the_left(path: Path) -> None:
    here = dotted(path)
    if not here:
        # The package itself only names what it offers; its subprocess tests are below.
        return
    for there in imports(path):
        if there[0] == here[0]:
            continue
        assert RANK[there[0]] < RANK[here[0]], f"{'.'.join(here)} imports {'.'.join(there)}"


@pytest.mark.parametrize("room", ["families", "rules"])
def test_families_and_rules_do_not_know_each_other(room: str) -> None:
    for path in sorted((PACKAGE / room).glob("*.py")):
        here = dotted(path)
        if len(here) == 1 or here[1] in SHARED[room]:
            continue
        for there in imports(path):
            assert there[0] != "families" or room == "families", f"{'.'.join(here)} imports {'.'.join(there)}"
            if there[0] == room and len(there) > 1:
                assert there[1] in SHARED[room], f"{'.'.join(here)} imports {'.'.join(there)}"


def test_nobody_prints_or_runs_text() -> None:
    for path in modules():
        if dotted(path)[:1] in (("cli",), ("dev",)):
            continue
        calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
        names = {ast.unparse(call.func) for call in calls}
        # The records compile their own constructors, of names that are ours.
        allowed = {"exec"} if dotted(path) == ("records",) else set()
        assert not names & {"print", "sys.exit", "exit", "click.echo", "eval", "exec"} - allowed, path


def test_the_package_offers_what_it_says() -> None:
    assert sorted(archscope.__all__) == archscope.__all__
    for name in archscope.__all__:
        assert getattr(archscope, name) is not None
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        _ = archscope.nothing_of_the_kind


HEAVY = {"transformers", "torch", "networkx", "numpy", "rich", "graphviz", "resvg_py", "huggingface_hub", "safetensors",
         "pydantic", "importlib.metadata", "asyncio", "email", "http", "urllib.request", "ssl", "unittest"}  # fmt: skip
# pydantic, click and networkx may come where they are the tool for the job.
COSTS = {
    "import archscope": HEAVY | {"click", "json", "archscope.engine"},
    "import archscope; archscope.load": HEAVY | {"click", "archscope.rules", "archscope.render"},
    "import archscope; archscope.load(SAMPLE).diagnostics": HEAVY | {"click", "archscope.render"},
    "import archscope; archscope.load(SAMPLE).parameters": HEAVY | {"click", "archscope.render"},
    "from archscope.cli import run; assert run(['check', SAMPLE]) == 0": HEAVY
    | {"archscope.render", "archscope.source.careful"},
    "from archscope.cli import run; assert run(['check', SAMPLE, '--format', 'json']) == 0": HEAVY
    | {"archscope.render"},
    "from archscope.cli import run; assert run(['--version']) == 0": HEAVY | {"archscope.engine"},
    "from archscope.cli import run; assert run(['tensors', SAMPLE]) == 0": HEAVY | {"archscope.render"},
    "from archscope.cli import run; assert run(['show', SAMPLE]) == 0": {
        "transformers",
        "torch",
        "networkx",
        "huggingface_hub",
    },
    "from archscope.cli import run; assert run(['draw', SAMPLE, '-o', '-']) == 0": {
        "transformers",
        "torch",
        "huggingface_hub",
        "rich",
    },
}


@pytest.mark.parametrize("code", COSTS)
def test_what_is_not_needed_is_not_imported(code: str, root: Path) -> None:
    sample = str(root / "samples" / "llama-3.1-8b" / "config.json")
    lines = [
        f"import sys; sys.path.insert(0, {str(PACKAGE.parent)!r})",
        f"SAMPLE = {sample!r}",
        code,
        "print('loaded:', *sys.modules)",
    ]
    # -I: neither the environment nor the working folder adds modules.
    command = [sys.executable, "-I", "-X", "utf8", "-c", "\n".join(lines)]
    run = subprocess.run(command, capture_output=True, encoding="utf-8", cwd=root, check=False)
    assert run.returncode == 0, run.stderr
    loaded = set(run.stdout.rpartition("loaded:")[2].split())
    assert not loaded & COSTS[code]
