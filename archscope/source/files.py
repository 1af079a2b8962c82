"""Opening files that nobody vouches for."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from archscope.diagnostics import Diagnostic, Place, Severity
from archscope.errors import InputError
from archscope.source.document import Document, document_of_bytes
from archscope.source.limits import MAX_BYTES

if TYPE_CHECKING:
    from pathlib import Path as FilePath
    from typing import BinaryIO

# O_NONBLOCK: opening a FIFO that nobody writes to would wait for ever. The last two exist on Windows or Unix only.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def read(path: str | FilePath, name: str | None = None) -> Document:
    """The document in a regular file.

    Args:
        path: where the file is.
        name: what diagnostics call it; the path as given by default.

    Raises: InputError if there is no such file, it is not a regular file, or it may not be read.
    """
    name = os.fspath(path) if name is None else name
    data = read_bytes(path, name)
    if data is None:
        message = f"the file is larger than {MAX_BYTES // 1024 // 1024} MiB, which no configuration is"
        return Document(name, None, None, (Diagnostic("file-too-large", Severity.ERROR, message, Place(name)),))
    return document_of_bytes(name, data)


def read_bytes(path: str | FilePath, name: str, limit: int = MAX_BYTES) -> bytes | None:
    """The bytes of a regular file; None if there are more than `limit`.

    Raises: InputError as `read` does.
    """
    with open_regular(path, name) as file:
        if os.fstat(file.fileno()).st_size > limit:
            return None
        try:
            data = file.read(limit + 1)
        except OSError as error:
            raise InputError(_reason(name, error)) from error
    return data if len(data) <= limit else None


def open_regular(path: str | FilePath, name: str) -> BinaryIO:
    """A regular file, open for reading.

    Raises: InputError as `read` does.
    """
    try:
        kind = os.stat(path).st_mode
        if not stat.S_ISREG(kind):
            raise InputError(f"{name} is {_kind_name(kind)}, not a regular file")
        descriptor = os.open(path, _FLAGS)
    except (OSError, ValueError) as error:
        raise InputError(_reason(name, error)) from error
    file = os.fdopen(descriptor, "rb")
    # Asked again of what was opened: the path may name something else by now.
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        file.close()
        raise InputError(f"{name} is {_kind_name(status.st_mode)}, not a regular file")
    return file


def _kind_name(mode: int) -> str:
    return next((words for test, words in _KINDS if test(mode)), "no file")


def _reason(name: str, error: OSError | ValueError) -> str:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return f"{name} does not exist"
    if isinstance(error, PermissionError):
        return f"{name} may not be read: permission denied"
    if isinstance(error, OSError):
        return f"{name} cannot be read: {error.strerror or error}"
    return f"{name!r} is not a path: {error}"
