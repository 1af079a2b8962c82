"""The command line: a thin client of the library, and the only place that prints, reads argv and sets exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from archscope.cli.app import app
from archscope.cli.exits import COULD_NOT_RUN, INTERNAL_ERROR
from archscope.cli.output import complain, forgive_streams, report_crash
from archscope.errors import ArchscopeError

__all__ = ["main", "run"]


def main() -> NoReturn:
    """Run the command that argv asks for, and exit."""
    status = run(sys.argv[1:])
    # Python would flush once more at exit and print a traceback if the reader of a pipe has gone.
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(status)


def run(arguments: Sequence[str]) -> int:
    """Run one command; returns the exit status and never raises for what a user or a file did."""
    forgive_streams()
    try:
        status = app.main(args=list(arguments), prog_name="archscope", standalone_mode=False)
        return status if isinstance(status, int) else 0
    except click.ClickException as error:
        error.show()
        return COULD_NOT_RUN
    except ArchscopeError as error:
        complain(str(error))
        return COULD_NOT_RUN
    except (click.Abort, KeyboardInterrupt):
        complain("interrupted")
        return 130
    except Exception as error:
        report_crash(error)
        return INTERNAL_ERROR
