"""A model repository: the config.json and the files beside it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from archscope.errors import InputError
from archscope.source.document import Document, document_of_bytes, document_of_value
from archscope.source.files import read, read_bytes
from archscope.source.text import SourceText, decode
from archscope.source.weights import INDEX_NAME, Weights

if TYPE_CHECKING:
    from pathlib import Path as FilePath

CONFIG_NAME = "config.json"
MAX_LISTING = 10_000


class Repository:
    """Documents of one model, read when they are asked for.

    A repository is a folder, one file with its folder as surroundings, or a Python value alone.
    """

    def __init__(self, config: Document | None, folder: str | None, config_name: str = CONFIG_NAME) -> None:
        self._config = config
        self._config_name = config_name
        self.folder = folder
        self._opened: dict[str, Document | None] = {}
        self._texts: dict[str, SourceText | None] = {}

    @classmethod
    def open(cls, source: str | FilePath | Mapping[str, Any]) -> Repository:
        """The repository that a path or a dict stands for; nothing is read yet but the kind of the path.

        Raises: InputError if there is no such path.
        """
        if isinstance(source, Mapping):
            return cls(document_of_value("<dict>", source), None)
        path = os.fspath(source)
        try:
            is_folder = os.path.isdir(path)
        except ValueError as error:
            raise InputError(f"{path!r} is not a path: {error}") from error
        if is_folder:
            return cls(None, path)
        folder, name = os.path.split(path)
        return cls(None, folder, name)

    @classmethod
    def of_document(cls, document: Document) -> Repository:
        """The repository that consists of one document, such as standard input."""
        return cls(document, None)

    @cached_property
    def config(self) -> Document:
        """The document of the model's configuration.

        Raises: InputError if it cannot be read.
        """
        if self._config is not None:
            return self._config
        assert self.folder is not None
        path = os.path.join(self.folder, self._config_name)
        if self._config_name == CONFIG_NAME and not os.path.lexists(path) and os.path.isdir(self.folder or "."):
            raise InputError(f"{self.folder or '.'} holds no {CONFIG_NAME}")
        return read(path)

    def document(self, name: str) -> Document | None:
        """The document in a file beside the configuration; None if there is none that may be read.

        `name` is a plain file name. A symbolic link that leads out of the repository is not followed: only the blob
        store of the Hugging Face cache, where every file of a snapshot lives, counts as inside.
        """
        if self.folder is not None and name == self._config_name:
            return self.config
        if name not in self._opened:
            path = self._companion(name)
            self._opened[name] = None if path is None else read(path)
        return self._opened[name]

    def text(self, name: str) -> SourceText | None:
        """The text of a file beside the configuration, such as the model card; None if none may be read."""
        if name not in self._texts:
            path = self._companion(name)
            data = None if path is None else read_bytes(path, path)
            self._texts[name] = None if path is None or data is None else decode(path, data)[0]
        return self._texts[name]

    @cached_property
    def weights(self) -> Weights | None:
        """What the files say of the weights; None if there are neither safetensors files nor an index of them."""
        if self.folder is None:
            return None
        # The name first: to ask the file system about every file of a large folder takes longer than all else.
        named = (name for name in self.listing if name.endswith(".safetensors"))
        names = tuple(name for name in named if self._companion(name) is not None)
        index = self.document(INDEX_NAME)
        if index is None and not names:
            return None
        return Weights(self.folder, names, index)

    def with_text(self, name: str, text: str) -> Repository:
        """The same repository, but for one document (by its full name) whose text is another; nothing is written."""
        changed = Repository(self._config, self.folder, self._config_name)
        changed._opened.update(self._opened)
        changed._texts.update(self._texts)
        document = document_of_bytes(name, text.encode("utf-8"))
        if name == self.config.name:
            changed._config = document
        else:
            changed._config = self.config
            changed._opened[os.path.basename(name)] = document
        return changed

    def is_faithful(self, name: str, text: str) -> bool:
        """Whether a text is, byte for byte, what stands in the file of that name (or the document has no file)."""
        if self.folder is None:
            return True
        data = read_bytes(name, name)
        return data is not None and data == text.encode("utf-8")

    @property
    def opened(self) -> tuple[Document, ...]:
        """The companions that have been read so far."""
        return tuple(document for document in self._opened.values() if document is not None)

    @property
    def opened_texts(self) -> tuple[SourceText, ...]:
        """The texts that have been read so far."""
        return tuple(text for text in self._texts.values() if text is not None)

    def _companion(self, name: str) -> str | None:
        """Path of a file beside the configuration that may be read, else None."""
        if not self._has_companions or name != os.path.basename(name) or name in ("", ".", ".."):
            return None
        path = os.path.join(self.folder or "", name)
        return path if os.path.isfile(path) and self._inside(path) else None

    @property
    def _has_companions(self) -> bool:
        """Whether the files beside it belong to it: those beside a file of another name may be anybody's."""
        return self.folder is not None and self._config_name == CONFIG_NAME

    @cached_property
    def names(self) -> frozenset[str]:
        """The names in `listing`."""
        return frozenset(self.listing)

    @cached_property
    def listing(self) -> tuple[str, ...]:
        """Names of the regular files beside the configuration, sorted; the first 10,000 of them."""
        if not self._has_companions:
            return ()
        names = []
        try:
            with os.scandir(self.folder or ".") as entries:
                for entry in entries:
                    if entry.is_file():
                        names.append(entry.name)
                    if len(names) >= MAX_LISTING:
                        break
        except OSError as error:
            raise InputError(f"{self.folder or '.'} cannot be listed: {error.strerror or error}") from error
        return tuple(sorted(names))

    def _inside(self, path: str) -> bool:
        folder = os.path.realpath(self.folder or ".")
        target = os.path.realpath(path)
        allowed = [folder]
        parent, _ = os.path.split(folder)
        if os.path.basename(parent) == "snapshots":
            allowed.append(os.path.join(os.path.dirname(parent), "blobs"))
        return any(target.startswith(root.rstrip(os.sep) + os.sep) for root in allowed)
