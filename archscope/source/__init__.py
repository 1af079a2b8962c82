"""From bytes to plain values that know where they stand."""

from archscope.source.document import Document, document_of_bytes, document_of_text, document_of_value
from archscope.source.files import read
from archscope.source.kinds import Kind, foreign_diagnostic, kind_of
from archscope.source.parser import parse
from archscope.source.pointer import Path, path_of, pointer
from archscope.source.repository import Repository
from archscope.source.text import SourceText, Span
from archscope.source.weights import Shard, StoredTensor, Weights

__all__ = [
    "Document",
    "Kind",
    "Path",
    "Repository",
    "Shard",
    "SourceText",
    "Span",
    "StoredTensor",
    "Weights",
    "document_of_bytes",
    "document_of_text",
    "document_of_value",
    "foreign_diagnostic",
    "kind_of",
    "parse",
    "path_of",
    "pointer",
    "read",
]
