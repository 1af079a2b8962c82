"""Writing: standard output, files, complaints."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, Literal, TypeVar

import click

from archscope.errors import InputError
from archscope.report.escape import visible

ColorChoice = Literal["auto", "always", "never"]
_Function = TypeVar("_Function", bound=Callable[..., Any])


def color_option(function: _Function) -> _Function:
    """The `--color` option of a command."""
    option = click.option(
        "--color",
        type=click.Choice(["auto", "always", "never"]),
        default="auto",
        show_default=True,
        help="Colours: auto is on a terminal, unless NO_COLOR is set.",
    )
    return option(function)


def output_option(function: _Function) -> _Function:
    """The `-o` option of a command that prints text."""
    return click.option("-o", "--output", metavar="FILE", help="Write to a file instead of standard output.")(function)


def use_color(choice: ColorChoice, output: str | None) -> bool:
    """Whether to colour what goes to `output` (None is standard output)."""
    if choice != "auto":
        return choice == "always"
    if output not in (None, "-") or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return sys.stdout.isatty()


def forgive_streams() -> None:
    """Let characters that the terminal's encoding lacks come out as escapes instead of an error."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def emit(content: str | bytes, output: str | None = None, *, inputs: tuple[str, ...] = ()) -> None:
    """Write to standard output (None or `-`) or, all or nothing, to a file.

    Args:
        content: text or bytes.
        output: path of the file.
        inputs: files that were read, which must not be overwritten.

    Raises: InputError if the file cannot be written.
    """
    if output in (None, "-"):
        _print(content)
        return
    assert output is not None
    for path in inputs:
        if os.path.exists(path) and os.path.exists(output) and os.path.samefile(path, output):
            raise InputError(f"{output} is the file that was read; give another name for the output")
    data = content.encode("utf-8", "replace") if isinstance(content, str) else content
    try:
        _write_file(output, data)
    except OSError as error:
        raise InputError(f"{output} cannot be written: {error.strerror or error}") from error


def _print(content: str | bytes) -> None:
    try:
        # Not click.echo: it strips colours by a rule of its own, and use_color has decided already.
        if isinstance(content, bytes):
            sys.stdout.flush()
            sys.stdout.buffer.write(content)
        else:
            sys.stdout.write(content)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has seen enough (`| head`). What Python flushes at exit goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _write_file(output: str, data: bytes) -> None:
    if os.path.exists(output) and not os.path.isfile(output) and not os.path.isdir(output):
        # A device or pipe cannot be replaced.
        with open(output, "wb") as file:
            file.write(data)
        return
    import tempfile

    # Replacing a symbolic link would turn it into a file.
    target = os.path.realpath(output)
    descriptor, temporary = tempfile.mkstemp(prefix=".archscope-", dir=os.path.dirname(target))
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.chmod(temporary, _mode(target))
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def _mode(target: str) -> int:
    """Permissions of the file that is replaced, or those that a new file gets."""
    if os.path.exists(target):
        return os.stat(target).st_mode & 0o7777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def complain(message: str) -> None:
    """One error message on standard error."""
    click.echo(f"error: {visible(message)}", err=True)


def report_crash(error: BaseException, where: str = "") -> None:
    """Say that archscope itself broke; the traceback only comes with ARCHSCOPE_DEBUG."""
    about = f" on {where}" if where else ""
    click.echo(f"internal error{about}: {type(error).__name__}: {visible(str(error)[:500])}", err=True)
    if os.environ.get("ARCHSCOPE_DEBUG"):
        import traceback

        click.echo("".join(traceback.format_exception(error)), err=True)
    else:
        click.echo("This is a fault of archscope, not of your file. Please report it, with the file and with what\n"
                   "ARCHSCOPE_DEBUG=1 adds to this message.", err=True)  # fmt: skip
