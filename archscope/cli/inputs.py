"""From the paths of a command line to the files to read."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from glob import glob, has_magic
from typing import NamedTuple

from archscope.errors import InputError
from archscope.source import Repository, document_of_bytes
from archscope.source.limits import MAX_BYTES
from archscope.source.repository import CONFIG_NAME

_SKIPPED = {"node_modules", "__pycache__", "site-packages", "venv"}


class Input(NamedTuple):
    """A file to read: its path (None is standard input), its name in reports, and whether the user named it."""

    path: str | None
    name: str
    named: bool

    def repository(self) -> Repository:
        """What the library loads.

        Raises: InputError where there is nothing to read.
        """
        if self.path is not None:
            return Repository.open(self.path)
        # One byte more than fits, so that the library sees that there is too much; never more.
        data = sys.stdin.buffer.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise InputError(f"{self.name} is larger than {MAX_BYTES // 1024 // 1024} MiB, which no configuration is")
        return Repository.of_document(document_of_bytes(self.name, data))


class Found(NamedTuple):
    """The files of a command line, without repetitions, and what is wrong with some of its paths."""

    inputs: tuple[Input, ...]
    errors: tuple[str, ...]


def find_inputs(paths: Sequence[str], stdin_filename: str | None = None) -> Found:
    """Every file that the paths stand for: files as they are, config.json below folders, matches of globs, `-`."""
    inputs: dict[str, Input] = {}
    errors = []
    for path in paths:
        try:
            for found in _expand(path, stdin_filename):
                key = os.path.normpath(found.path) if found.path is not None else "-"
                inputs.setdefault(key, found)
        except InputError as error:
            errors.append(str(error))
    return Found(tuple(inputs.values()), tuple(errors))


def one_input(path: str, stdin_filename: str | None = None) -> Input:
    """The one file that a path stands for: a file, the config.json of a folder, or `-`."""
    if path == "-":
        return Input(None, stdin_filename or "<stdin>", True)
    return Input(path, path, True)


def _expand(path: str, stdin_filename: str | None) -> Iterator[Input]:
    if path == "-":
        yield one_input(path, stdin_filename)
    elif os.path.isdir(path):
        yield from _below(path)
    elif os.path.lexists(path) or not has_magic(path):
        # A missing file is found out, and named, when it is read.
        yield Input(path, path, True)
    else:
        yield from _matches(path)


def _matches(pattern: str) -> Iterator[Input]:
    matches = sorted(glob(pattern, recursive=True))
    if not matches:
        raise InputError(f"no file matches {pattern}")
    for match in matches:
        if os.path.isdir(match):
            yield from (Input(file, file, False) for file in _configs(match))
        else:
            yield Input(match, match, False)


def _below(folder: str) -> Iterator[Input]:
    files = list(_configs(folder))
    if not files:
        raise InputError(f"there is no {CONFIG_NAME} in {folder} or below it")
    for file in files:
        yield Input(file, file, False)


def _configs(folder: str) -> Iterator[str]:
    """Every config.json below a folder, in order; hidden folders and those of other people's packages are left out."""
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _SKIPPED)
        if CONFIG_NAME in files:
            yield os.path.join(parent, CONFIG_NAME)
