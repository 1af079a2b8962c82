"""The special tokens of a repository's tokenizer files: their words and ids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from archscope.records import dataclass

if TYPE_CHECKING:
    from archscope.source.document import Document
    from archscope.source.repository import Repository

TOKENIZER_CONFIG = "tokenizer_config.json"
ROLES = ("bos", "eos", "pad", "unk", "sep", "cls", "mask")


@dataclass(frozen=True, slots=True)
class Tokens:
    """What tokenizer_config.json (and tokenizer.json) say of special tokens.

    ids: word to id of every token that the files give an id; words: role ("eos") to word.
    """

    document: Document
    ids: Mapping[str, int]
    words: Mapping[str, str]

    def id_of(self, role: str) -> int | None:
        """The id of the token in a role; None where the files do not say."""
        word = self.words.get(role)
        return None if word is None else self.ids.get(word)

    def word_of(self, number: int) -> str | None:
        """The word with an id; None where the files do not say."""
        return next((word for word, one in self.ids.items() if one == number), None)


def tokens(repository: Repository) -> Tokens | None:
    """The special tokens of a repository; None without tokenizer_config.json."""
    document = repository.document(TOKENIZER_CONFIG)
    if document is None or not document.mapping:
        return None
    words = {role: word for role in ROLES if (word := _word(document.mapping.get(f"{role}_token"))) is not None}
    ids = _decoder(document.mapping.get("added_tokens_decoder"))
    if any(word not in ids for word in words.values()):
        ids = {**_vocabulary(repository), **ids}
    return Tokens(document, ids, words)


def _word(value: Any) -> str | None:
    if isinstance(value, dict):
        value = value.get("content")
    return value if isinstance(value, str) and value else None


def _decoder(value: Any) -> dict[str, int]:
    found: dict[str, int] = {}
    for key, entry in value.items() if isinstance(value, dict) else ():
        word = _word(entry)
        if word is not None and key.isdecimal() and len(key) < 10:
            found.setdefault(word, int(key))
    return found


def _vocabulary(repository: Repository) -> dict[str, int]:
    """Words and ids of tokenizer.json: the added tokens, and those of the model's vocabulary that are special words."""
    document = repository.document("tokenizer.json")
    mapping = document.mapping if document is not None else {}
    found: dict[str, int] = {}
    model = mapping.get("model")
    vocabulary = model.get("vocab") if isinstance(model, dict) else None
    if isinstance(vocabulary, dict):
        found.update({word: number for word, number in vocabulary.items() if _is_id(number) and word[:1] in "<["})
    elif isinstance(vocabulary, list):
        found.update({entry[0]: index for index, entry in enumerate(vocabulary) if _is_piece(entry)})
    added = mapping.get("added_tokens")
    for entry in added if isinstance(added, list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("content"), str) and _is_id(entry.get("id")):
            found[entry["content"]] = entry["id"]
    return found


def _is_id(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_piece(entry: Any) -> bool:
    return isinstance(entry, list) and bool(entry) and isinstance(entry[0], str) and entry[0][:1] in ("<", "[")
