"""Applies the machine-applicable fixes of diagnostics, and leaves every other byte as it is.

Fixing goes in rounds: the fixes of a check that do not overlap are applied, and the result is checked again, until no fix is
left. Only UTF-8 files whose text writes back to the same bytes are touched; they are replaced atomically.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import tempfile
from collections.abc import Iterable, Mapping

from archscope.diagnostics import Diagnostic, Edit, Fix
from archscope.engine import Model
from archscope.errors import InputError
from archscope.records import dataclass
from archscope.source import Repository

MOST_ROUNDS = 20


@dataclass(frozen=True, slots=True)
class Fixed:
    """What fixing one model came to.

    `before` and `after` are the texts of the files that change, by name; `applied` the titles of the fixes with their rules;
    `left_alone` the files with fixes that could not be written back unharmed.
    """

    before: Mapping[str, str]
    after: Mapping[str, str]
    applied: tuple[tuple[str, str], ...]
    left_alone: tuple[str, ...]

    @property
    def changed(self) -> tuple[str, ...]:
        """The names of the files that change."""
        return tuple(name for name, text in self.after.items() if text != self.before[name])

    def diff(self) -> str:
        """The changes as a unified diff."""
        pieces = []
        for name in self.changed:
            old, new = self.before[name].splitlines(keepends=True), self.after[name].splitlines(keepends=True)
            for line in difflib.unified_diff(old, new, name, name):
                pieces.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
        return "".join(pieces)


def fix(repository: Repository, *, unsafe: bool = False) -> Fixed:
    """The texts of a repository's files after all fixes; nothing is written.

    Args:
        repository: where the model is.
        unsafe: apply fixes too that may change the model, or are guesses.
    """
    before: dict[str, str] = {}
    after: dict[str, str] = {}
    applied: list[tuple[str, str]] = []
    left_alone: set[str] = set()
    seen: set[str] = set()
    for _ in range(MOST_ROUNDS):
        model = Model(repository, repository.config)
        texts = {name: document.text for name, document in model.documents.items() if document.text is not None}
        chosen, skipped = _choose(model.check(), set(texts), unsafe)
        left_alone |= skipped
        for name in {edit.file for _, one in chosen for edit in one.edits} - left_alone:
            text = texts[name].text if name not in after else after[name]
            if name not in before and not repository.is_faithful(name, text):
                left_alone.add(name)
                continue
            before.setdefault(name, text)
            edits = [e for _, one in chosen if _files(one) == {name} for e in one.edits]
            after[name] = apply(text, edits)
            applied += [(rule, one.title) for rule, one in chosen if _files(one) == {name}]
            repository = repository.with_text(name, after[name])
        state = repr(sorted(after.items()))
        if not chosen or state in seen:
            break
        seen.add(state)
    return Fixed(before, after, tuple(applied), tuple(sorted(left_alone)))


def _files(one: Fix) -> set[str]:
    return {edit.file for edit in one.edits}


def _choose(diagnostics: Iterable[Diagnostic], known: set[str], unsafe: bool) -> tuple[list[tuple[str, Fix]], set[str]]:
    """The fixes to apply together: the first of each diagnostic that is allowed and overlaps none before it."""
    chosen: list[tuple[str, Fix]] = []
    taken: list[Edit] = []
    unknown: set[str] = set()
    for diagnostic in diagnostics:
        for one in diagnostic.fixes:
            if not one.edits or not (one.safe or unsafe):
                continue
            if not _files(one) <= known:
                unknown |= _files(one) - known
                continue
            if any(_overlap(edit, other) for edit in one.edits for other in taken):
                continue
            chosen.append((diagnostic.rule, one))
            taken += one.edits
            break
    return chosen, unknown


def _overlap(one: Edit, other: Edit) -> bool:
    if one.file != other.file:
        return False
    return one.start <= other.end and other.start <= one.end


def apply(text: str, edits: Iterable[Edit]) -> str:
    """The text with edits made, last first; they must not overlap."""
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def write(fixed: Fixed) -> None:
    """Replace the files that change, each at once: a reader sees the old or the new one, never a part.

    Raises: InputError where a file cannot be written, or is no longer what was read.
    """
    for name in fixed.changed:
        path = os.path.realpath(name)
        try:
            with open(path, "rb") as file:
                if file.read() != fixed.before[name].encode("utf-8"):
                    raise InputError(f"{name} has changed since it was read; nothing was written to it")
            _replace(path, fixed.after[name].encode("utf-8"))
        except OSError as error:
            raise InputError(f"{name} cannot be written: {error.strerror or error}") from error


def _replace(path: str, data: bytes) -> None:
    descriptor, temporary = tempfile.mkstemp(dir=os.path.dirname(path), prefix=f".{os.path.basename(path)}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, os.stat(path).st_mode & 0o7777)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
