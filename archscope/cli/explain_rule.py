"""The page of a rule: its documentation and its cases."""

from __future__ import annotations

import inspect
import json
from typing import Any

from archscope.rules.base import Case, Rule


def explain_rule(kind: type[Rule[Any]]) -> str:
    """The documentation of a rule, with one case that it stays silent on and one that it finds."""
    blocks = [f"{kind.name} ({kind.severity})", inspect.cleandoc(kind.__doc__ or "")]
    for outcome, title in (("fails", "## Found here"), ("passes", "## Fine")):
        case = next((case for case in kind.cases if case.outcome == outcome), None)
        if case is not None:
            blocks.append(f"{title}\n\n{_case(case)}")
    return "\n\n".join(blocks) + "\n"


def _case(case: Case) -> str:
    if case.text is not None:
        return _indented(case.text if len(case.text) <= 400 else f"{case.text[:400]}...")
    fields = {"model_type": case.model_type, **case.fields} if case.model_type else dict(case.fields)
    lines = [f"{json.dumps(name)}: {json.dumps(value, default=str)}" for name, value in fields.items()]
    return _indented("{\n  " + ",\n  ".join(lines) + "\n}")


def _indented(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.splitlines())
