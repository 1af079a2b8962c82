"""The settings that go with the files of a command line."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from archscope.cli.inputs import Input
from archscope.cli.output import complain
from archscope.diagnostics import Diagnostic
from archscope.settings import Settings, Suppression, find, read


class SettingsFinder:
    """Finds the settings of each file, once per folder, and remembers which suppressions had work."""

    def __init__(self, path: str | None, isolated: bool) -> None:
        self._given = Settings() if isolated else read(path) if path is not None else None
        self._by_folder: dict[str, Settings] = {}
        self._used: set[Suppression] = set()

    def of(self, file: str | None) -> Settings:
        """The settings of a file; those of the working folder for standard input."""
        if self._given is not None:
            return self._given
        path = file if file is not None else "-"
        folder = os.path.abspath(path) if os.path.isdir(path) else os.path.dirname(os.path.abspath(path))
        if folder not in self._by_folder:
            self._by_folder[folder] = find(os.path.join(folder, "config.json"))
        return self._by_folder[folder]

    def applied(self, settings: Settings, diagnostics: Iterable[Diagnostic], file: str) -> tuple[Diagnostic, ...]:
        """The diagnostics that the settings leave."""
        kept, used = settings.applied(diagnostics, file)
        self._used |= used
        return kept

    @property
    def fail_on(self) -> str | None:
        """The strictest limit of all settings that were used."""
        order = ("info", "warning", "error", "never")
        found = [one.fail_on for one in self._all() if one.fail_on is not None]
        return min(found, key=order.index) if found else None

    def unused(self) -> tuple[str, ...]:
        """A line for each suppression that silenced nothing."""
        return tuple(
            f"{one.path}: {suppression} silences nothing"
            for one in self._all()
            for suppression in one.suppressions
            if suppression not in self._used
        )

    def _all(self) -> tuple[Settings, ...]:
        if self._given is not None:
            return (self._given,)
        return tuple({one.path: one for one in self._by_folder.values() if one.path}.values())


def mend(inputs: Sequence[Input]) -> None:
    """Apply the safe fixes of files, and say what was done."""
    from archscope.fixing import fix, write

    for one in inputs:
        if one.path is None:
            complain("standard input cannot be mended in place; use `archscope fix -`")
            continue
        fixed = fix(one.repository())
        write(fixed)
        for name in fixed.changed:
            complain(f"{name}: {', '.join(title for _, title in fixed.applied)}")
