"""Settings of a project: archscope.toml, or [tool.archscope] in pyproject.toml.

select = ["indivisible-kv-heads"]          # these rules only
ignore = ["legacy-rope-type-key", "token-id-out-of-range@/pad_token_id"]
fail-on = "warning"
tensor-parallel = 8
targets = ["transformers<5"]

[per-path]                                 # by glob, from the folder of the settings
"models/old/*" = ["missing-architectures"]

[severity]
gated-ffn-four-times = "warning"
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from fnmatch import fnmatchcase
from typing import Any

from archscope.diagnostics import Diagnostic, Severity
from archscope.errors import UsageError
from archscope.records import dataclass

FILE_NAME = "archscope.toml"
PYPROJECT = "pyproject.toml"
MAX_BYTES = 1_000_000
KEYS = ("select", "ignore", "fail-on", "tensor-parallel", "targets", "per-path", "severity")
LEVELS = ("error", "warning", "info", "never")
ALWAYS = "internal-error"
"""A broken rule is never silenced."""


@dataclass(frozen=True, slots=True)
class Suppression:
    """A rule that is left out, everywhere (pointer None) or at one place, in files that match a glob ("" for all)."""

    rule: str
    pointer: str | None = None
    glob: str = ""

    def covers(self, diagnostic: Diagnostic, relative: str) -> bool:
        """Whether it silences a diagnostic of a file, whose path from the settings' folder is `relative`."""
        if diagnostic.rule != self.rule or (self.pointer is not None and diagnostic.pointer != self.pointer):
            return False
        return not self.glob or fnmatchcase(relative, self.glob) or fnmatchcase(relative, f"{self.glob}/*")

    def __str__(self) -> str:
        at = "" if self.pointer is None else f"@{self.pointer}"
        return f"{self.rule}{at}" + (f" in {self.glob}" if self.glob else "")


@dataclass(frozen=True, slots=True)
class Settings:
    """What a check goes by. `path` is the file that they come from, "" for none."""

    path: str = ""
    select: frozenset[str] = frozenset()
    suppressions: tuple[Suppression, ...] = ()
    severity: Mapping[str, Severity] = field(default_factory=dict)
    fail_on: str | None = None
    tensor_parallel: int | None = None
    targets: tuple[str, ...] = ()

    def applied(self, diagnostics: Iterable[Diagnostic], file: str) -> tuple[tuple[Diagnostic, ...], set[Suppression]]:
        """The diagnostics that are left of a file's, with their severities, and the suppressions that had work."""
        folder = os.path.dirname(os.path.abspath(self.path)) if self.path else os.getcwd()
        relative = os.path.relpath(os.path.abspath(file), folder).replace(os.sep, "/")
        kept, used = [], set()
        for one in diagnostics:
            if one.rule != ALWAYS:
                silencing = [s for s in self.suppressions if s.covers(one, relative)]
                used.update(silencing)
                if silencing or (self.select and one.rule not in self.select):
                    continue
            kept.append(replace(one, severity=self.severity[one.rule]) if one.rule in self.severity else one)
        return tuple(kept), used


def find(file: str) -> Settings:
    """The settings nearest to a file: in its folder or one above it; empty ones where there are none.

    Raises: UsageError for settings that cannot be read or say what does not exist.
    """
    folder = os.path.dirname(os.path.abspath(file))
    while True:
        own = os.path.join(folder, FILE_NAME)
        if os.path.isfile(own):
            return read(own)
        project = os.path.join(folder, PYPROJECT)
        if os.path.isfile(project) and "archscope" in _tool(project):
            return read(project)
        parent = os.path.dirname(folder)
        if parent == folder or os.path.isdir(os.path.join(folder, ".git")):
            return Settings()
        folder = parent


def read(path: str) -> Settings:
    """The settings in a file.

    Raises: UsageError for what cannot be read, an unknown key or rule (with the nearest known one), or a wrong value.
    """
    table = _load(path) if os.path.basename(path) != PYPROJECT else _tool(path).get("archscope", {})
    if not isinstance(table, dict):
        raise UsageError(f"{path}: [tool.archscope] is not a table")
    for key in table:
        if key not in KEYS:
            raise UsageError(f"{path}: there is no setting {key!r}{_near(key, KEYS)}")
    select, ignore = _names(path, table, "select"), _names(path, table, "ignore")
    suppressions = [_suppression(path, entry, "") for entry in ignore]
    for glob, entries in _table(path, table, "per-path").items():
        suppressions += [_suppression(path, entry, glob) for entry in _strings(path, f"per-path.{glob}", entries)]
    for name in select:
        _known(path, name)
    fail_on, ranks = table.get("fail-on"), table.get("tensor-parallel")
    if fail_on is not None and fail_on not in LEVELS:
        raise UsageError(f"{path}: fail-on is {fail_on!r}, not one of {', '.join(LEVELS)}")
    if ranks is not None and (type(ranks) is not int or ranks < 1):
        raise UsageError(f"{path}: tensor-parallel is {ranks!r}, not a whole number of ranks")
    return Settings(
        path=path,
        select=frozenset(select),
        suppressions=tuple(suppressions),
        severity=_severities(path, table),
        fail_on=fail_on,
        tensor_parallel=ranks,
        targets=tuple(_names(path, table, "targets")),
    )


def _severities(path: str, table: Mapping[str, Any]) -> dict[str, Severity]:
    found = {}
    for name, level in _table(path, table, "severity").items():
        _known(path, name)
        if level not in LEVELS[:3]:
            raise UsageError(f"{path}: the severity of {name} is {level!r}, not one of {', '.join(LEVELS[:3])}")
        found[name] = Severity(level)
    return found


def _suppression(path: str, entry: str, glob: str) -> Suppression:
    name, at, pointer = entry.partition("@")
    _known(path, name)
    if at and pointer and not pointer.startswith("/"):
        raise UsageError(f"{path}: {entry!r} has no JSON pointer after the @; write {name}@/{pointer}")
    return Suppression(name, pointer if at else None, glob)


def _known(path: str, name: str) -> None:
    from archscope.rules import rule

    try:
        rule(name)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error


def _names(path: str, table: Mapping[str, Any], key: str) -> list[str]:
    return _strings(path, key, table.get(key, []))


def _strings(path: str, key: str, value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise UsageError(f"{path}: {key} is not a list of strings")
    return value


def _table(path: str, table: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = table.get(key, {})
    if not isinstance(value, dict):
        raise UsageError(f"{path}: {key} is not a table")
    return value


def _tool(path: str) -> Mapping[str, Any]:
    tool = _load(path).get("tool", {})
    return tool if isinstance(tool, dict) else {}


def _load(path: str) -> Mapping[str, Any]:
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise UsageError(f"{path} is larger than {MAX_BYTES:,} bytes")
        return tomllib.loads(data.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not TOML: {error}") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from error


def _near(name: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else f"; the settings are {', '.join(known)}"
