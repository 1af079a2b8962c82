"""Faults of the text itself. The source room finds them while it reads; the rules here say what they mean."""

from __future__ import annotations

from collections.abc import Iterator

from archscope.diagnostics import Severity
from archscope.rules.base import Context, Fails, Finding, Passes, Rule
from archscope.source import Document

COMPANIONS = (
    "generation_config.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "preprocessor_config.json",
    "processor_config.json",
    "hf_quant_config.json",
    "quantize_config.json",
    "adapter_config.json",
    "model.safetensors.index.json",
)
"""The JSON files beside config.json that are read with it."""


def _read(ctx: Context, name: str) -> Iterator[Finding]:
    """What the reader has reported under a name, in config.json and the files beside it."""
    beside = (ctx.repository.document(companion) for companion in COMPANIONS if companion in ctx.repository.names)
    for document in (ctx.document, *beside):
        for problem in document.problems if document is not None else ():
            if problem.rule != name:
                continue
            yield Finding(
                problem.message,
                problem.place,
                related=problem.related,
                help=problem.help,
                fixes=problem.fixes,
                severity=problem.severity,
            )


class InvalidJson(Rule[Document]):
    """The text is not JSON.

    ## What it checks
    The file as Python's json module reads it: quotes, commas, brackets, numbers, escapes, what follows the last bracket.

    ## Why it matters
    transformers stops with "is not a valid JSON file" and no place. archscope says where, and reads on as far as it can.

    ## How to fix
    Mend the text at the place shown. Python's True, False and None are true, false and null in JSON; strings have double
    quotes.

    ## References
    RFC 8259; transformers configuration_utils.py, PreTrainedConfig._dict_from_json_file.
    """

    name = "invalid-json"
    severity = Severity.ERROR
    cases = (
        Passes(text='{"model_type": "llama"}'),
        Fails(text='{"model_type": "llama", "use_cache": True}', at="/use_cache"),
    )

    def check(self, target: Document, ctx: Context) -> Iterator[Finding]:
        yield from _read(ctx, self.name)


class TrailingComma(Rule[Document]):
    """A comma stands before a closing bracket.

    ## What it checks
    Commas with nothing after them in objects and lists.

    ## Why it matters
    JavaScript and Python allow them, JSON does not: transformers refuses the whole file.

    ## How to fix
    Delete the comma.

    ## References
    RFC 8259 section 4.
    """

    name = "trailing-comma"
    severity = Severity.ERROR
    cases = (
        Passes(text='{"model_type": "llama"}'),
        Fails(text='{"model_type": "llama", }', at=""),
    )

    def check(self, target: Document, ctx: Context) -> Iterator[Finding]:
        yield from _read(ctx, self.name)


class JsonComment(Rule[Document]):
    """The file has a comment.

    ## What it checks
    // and /* */ outside strings.

    ## Why it matters
    JSON has no comments: transformers refuses the whole file.

    ## How to fix
    Delete the comment, or move it to the model card.

    ## References
    RFC 8259.
    """

    name = "json-comment"
    severity = Severity.ERROR
    cases = (
        Passes(text='{"model_type": "llama", "_name_or_path": "https://example.org"}'),
        Fails(text='{"model_type": "llama" // the lineage\n}', at=""),
    )

    def check(self, target: Document, ctx: Context) -> Iterator[Finding]:
        yield from _read(ctx, self.name)


class NonfiniteNumber(Rule[Document]):
    """A number is NaN or Infinity.

    ## What it checks
    The words NaN, Infinity and -Infinity, which Python's json module reads and writes.

    ## Why it matters
    They are not JSON: strict readers (Rust, JavaScript, Go) refuse the file. transformers reads them.

    ## How to fix
    Write a finite number, or null where the field allows it; transformers 5 writes {"__float__": "Infinity"}.

    ## References
    RFC 8259 section 6.
    """

    name = "nonfinite-number"
    severity = Severity.WARNING
    cases = (
        Passes("llama", rms_norm_eps=1e-5),
        Fails(text='{"model_type": "llama", "time_step_limit": [0.0, Infinity]}', at="/time_step_limit/1"),
    )

    def check(self, target: Document, ctx: Context) -> Iterator[Finding]:
        yield from _read(ctx, self.name)


class DuplicateKey(Rule[Document]):
    """A key is written twice in one object.

    ## What it checks
    Every object of the file; two equal values are a warning, two different ones an error.

    ## Why it matters
    Most readers take the last value without a word, some the first: the author meant one of them.

    ## How to fix
    Keep the one that is meant.

    ## References
    RFC 8259 section 4.
    """

    name = "duplicate-key"
    severity = Severity.ERROR
    cases = (
        Passes(text='{"model_type": "llama", "text": {"model_type": "x"}}'),
        Fails(text='{"model_type": "llama", "use_cache": true, "use_cache": false}', at="/use_cache"),
    )

    def check(self, target: Document, ctx: Context) -> Iterator[Finding]:
        yield from _read(ctx, self.name)


class ByteOrderMark(Rule[Document]):
    """The file starts with a byte order mark.

    ## What it checks
    The first bytes of the file.

    ## Why it matters
    Python's json module refuses it, and transformers with it.

    ## How to fix
    Save the file as UTF-8 without a byte order mark.

    ## References
    RFC 8259 section 8.1.
    """

    name = "byte-order-mark"
    severity = Severity.ERROR
    cases = (
        Passes(text='{"model_type": "llama"}'),
        Fails(text='\ufeff{"model_type": "llama"}', at=""),
    )

    def check(self, target: Document, ctx: Context) -> Iterator[Finding]:
        yield from _read(ctx, self.name)


class WrongEncoding(Rule[Document]):
    """The file is not UTF-8.

    ## What it checks
    The bytes of the file: UTF-16 and UTF-32, bytes that no UTF-8 text has, binary data.

    ## Why it matters
    JSON files are UTF-8; transformers reads them so and fails, or reads other characters than were meant.

    ## How to fix
    Save the file as UTF-8.

    ## References
    RFC 8259 section 8.1.
    """

    name = "wrong-encoding"
    severity = Severity.ERROR
    cases = (
        Passes(text='{"model_type": "llama", "_name_or_path": "café"}'),
        Fails(text='{"model_type": "llama"}', encoding="utf-16", at=""),
    )

    def check(self, target: Document, ctx: Context) -> Iterator[Finding]:
        yield from _read(ctx, self.name)


class TooDeep(Rule[Document]):
    """Objects and lists are nested deeper than any config.

    ## What it checks
    The depth of the file, and the number of its values.

    ## Why it matters
    No config nests more than a few levels; Python's json module fails at about a thousand.

    ## How to fix
    This is likely not a config, or was written by mistake: look at the place shown.

    ## References
    Python documentation, json, "Implementation limitations".
    """

    name = "too-deep"
    severity = Severity.ERROR
    cases = (
        Passes(text='{"model_type": "llama", "a": [[[1]]]}'),
        Fails(text='{"model_type": "llama", "a": ' + "[" * 400 + "]" * 400 + "}", at="/a" + "/0" * 199),
    )

    def check(self, target: Document, ctx: Context) -> Iterator[Finding]:
        yield from _read(ctx, self.name)
