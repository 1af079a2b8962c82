"""tokenizer_config.json by itself, and against the positions of the model."""

from __future__ import annotations

from collections.abc import Iterator

from archscope.diagnostics import Severity
from archscope.rules.base import Context, Fails, Finding, Options, Passes, Rule
from archscope.rules.targets import reads_version_4
from archscope.source import Document

TOKENIZER = "tokenizer_config.json"
OLD = Options(targets=("transformers<5",))


def _config(ctx: Context) -> Document | None:
    return ctx.repository.document(TOKENIZER)


class TokenizerClassForOldReader(Rule[Document]):
    """The tokenizer class exists in transformers 5 only, and an older reader is a target.

    ## What it checks
    With --targets: tokenizer_class TokenizersBackend and its kin.

    ## Why it matters
    transformers 4 and converters that go by the name refuse the tokenizer.

    ## How to fix
    PreTrainedTokenizerFast, or the class of the family.

    ## References
    transformers 5 migration guide, tokenizers.
    """

    name = "tokenizer-class-for-old-reader"
    severity = Severity.WARNING
    cases = (
        Passes("qwen3", files={TOKENIZER: '{"tokenizer_class": "TokenizersBackend"}'}),
        Fails(
            "qwen3", files={TOKENIZER: '{"tokenizer_class": "TokenizersBackend"}'}, options=OLD, at="/tokenizer_class"
        ),
    )

    def check(self, target: Document, ctx: Context) -> Iterator[Finding]:
        document = _config(ctx)
        others = [one for one in ctx.options.targets if not one.startswith("transformers")]
        if document is None or not (reads_version_4(ctx) or others):
            return
        found = document.mapping.get("tokenizer_class")
        if isinstance(found, str) and found in NEW_CLASSES:
            yield Finding(
                f"{found} exists in transformers >= 5 only",
                document.place(("tokenizer_class",)),
                help="PreTrainedTokenizerFast, or the class of the family",
            )


NEW_CLASSES = ("TokenizersBackend", "SentencePieceBackend", "MistralCommonBackend", "PythonBackend")


class ExtraSpecialTokensList(Rule[Document]):
    """extra_special_tokens is a list, and a reader before transformers 5 is a target.

    ## What it checks
    With --targets naming transformers before 5: a list where that release wants an object.

    ## Why it matters
    It calls .keys() on the list and fails.

    ## How to fix
    additional_special_tokens for such readers.

    ## References
    transformers 4 tokenization_utils_base.py (extra_special_tokens).
    """

    name = "extra-special-tokens-list"
    severity = Severity.WARNING
    cases = (
        Passes("qwen3", files={TOKENIZER: '{"extra_special_tokens": ["<a>"]}'}),
        Fails("qwen3", files={TOKENIZER: '{"extra_special_tokens": ["<a>"]}'}, options=OLD, at="/extra_special_tokens"),
    )

    def check(self, target: Document, ctx: Context) -> Iterator[Finding]:
        document = _config(ctx)
        if document is None or not reads_version_4(ctx):
            return
        if isinstance(document.mapping.get("extra_special_tokens"), list):
            yield Finding(
                "extra_special_tokens is a list, which transformers < 5 cannot read",
                document.place(("extra_special_tokens",)),
                help="write the list as additional_special_tokens",
            )


class BothSpecialTokenLists(Rule[Document]):
    """Two keys list special tokens, of which one is dropped.

    ## What it checks
    additional_special_tokens beside extra_special_tokens, both with entries.

    ## Why it matters
    transformers 5 drops the first where the second is present: its tokens are split into pieces.

    ## How to fix
    Merge them into one.

    ## References
    transformers 5 tokenization_utils_base.py.
    """

    name = "both-special-token-lists"
    severity = Severity.WARNING
    cases = (
        Passes("qwen3", files={TOKENIZER: '{"additional_special_tokens": ["<a>"]}'}),
        Fails(
            "qwen3",
            files={TOKENIZER: '{"additional_special_tokens": ["<a>"], "extra_special_tokens": {"image_token": "<i>"}}'},
            at="/additional_special_tokens",
        ),
    )

    def check(self, target: Document, ctx: Context) -> Iterator[Finding]:
        document = _config(ctx)
        if document is None:
            return
        old, new = document.mapping.get("additional_special_tokens"), document.mapping.get("extra_special_tokens")
        if not isinstance(old, list) or not old or not new or not isinstance(new, list | dict):
            return
        listed = set(map(str, new.values() if isinstance(new, dict) else new))
        lost = [one for one in old if _word(one) not in listed]
        if lost:
            yield Finding(
                f"transformers 5 drops the {len(lost)} tokens of additional_special_tokens that extra_special_tokens lacks",
                document.place(("additional_special_tokens",)),
                related=[document.place(("extra_special_tokens",))],
                help="merge them into one",
            )


def _word(value: object) -> str:
    return str(value.get("content")) if isinstance(value, dict) else str(value)


METHODS = frozenset(
    "add_special_tokens add_tokens apply_chat_template batch_decode batch_encode_plus build_inputs_with_special_tokens "
    "convert_ids_to_tokens convert_tokens_to_ids convert_tokens_to_string decode encode encode_plus get_vocab "
    "num_special_tokens_to_add pad prepare_for_model save_pretrained save_vocabulary tokenize truncate_sequences".split()
)
"""Names of a tokenizer's methods. Source: transformers 5.24.0 tokenization_utils_base.py."""


class TokenizerMethodAsKey(Rule[Document]):
    """A key of tokenizer_config.json has the name of a method.

    ## What it checks
    Keys against the names of the tokenizer's methods.

    ## Why it matters
    Keys become attributes: the method would be overwritten, so transformers refuses the file.

    ## How to fix
    Delete the key.

    ## References
    transformers tokenization_utils_base.py ("conflicts with the method").
    """

    name = "tokenizer-method-as-key"
    severity = Severity.ERROR
    cases = (
        Passes("t5", files={TOKENIZER: '{"add_bos_token": true}'}),
        Fails("t5", files={TOKENIZER: '{"add_special_tokens": true}'}, at="/add_special_tokens"),
    )

    def check(self, target: Document, ctx: Context) -> Iterator[Finding]:
        document = _config(ctx)
        for key in document.mapping if document is not None else ():
            if key in METHODS and document is not None:
                message = f"{key} is a method of the tokenizer; recent transformers refuse the key"
                yield Finding(message, document.place((key,), key=True), help="delete the key")


OFFSET_TYPES = frozenset(
    "roberta xlm-roberta xlm-roberta-xl camembert roberta-prelayernorm data2vec-text ibert mpnet xmod bertweet luke "
    "longformer layoutlmv3 mra esm".split()
)
"""Types whose positions start after the padding id, so that the first pad_token_id + 1 rows are never used."""


class TokenizerPastPositions(Rule[Document]):
    """The tokenizer lets through more tokens than the model has positions for.

    ## What it checks
    model_max_length against the positions of types whose positions start after the padding id (514 rows for 512 tokens):
    absent, or larger than the usable rows.

    ## Why it matters
    A long text is not cut, and the model fails with an index error at the last positions.

    ## How to fix
    Write model_max_length: max_position_embeddings - pad_token_id - 1.

    ## References
    https://github.com/run-llama/llama_index/issues/10461
    """

    name = "tokenizer-past-positions"
    severity = Severity.WARNING
    cases = (
        Passes("roberta", max_position_embeddings=514, pad_token_id=1, files={TOKENIZER: '{"model_max_length": 512}'}),
        Fails(
            "roberta",
            max_position_embeddings=514,
            pad_token_id=1,
            files={TOKENIZER: '{"tokenizer_class": "RobertaTokenizer"}'},
            at="/model_max_length",
        ),
        # What transformers writes where nobody set a limit.
        Fails(
            "roberta",
            max_position_embeddings=514,
            pad_token_id=1,
            files={TOKENIZER: '{"model_max_length": 1000000000000000019884624838656}'},
            at="/model_max_length",
        ),
    )

    def check(self, target: Document, ctx: Context) -> Iterator[Finding]:
        document, config = _config(ctx), ctx.root
        if document is None or config.model_type not in OFFSET_TYPES or not document.mapping:
            return
        rows, pad = config.get("max_position_embeddings"), config.get("pad_token_id")
        if type(rows) is not int or type(pad) is not int or not 0 <= pad < 10 or rows <= pad + 1:
            return
        usable, said = rows - pad - 1, document.mapping.get("model_max_length")
        if said is None or (isinstance(said, int | float) and said > usable):
            yield Finding(
                f"model_max_length is {'not there' if said is None else f'{said:g}'}, but of {rows} positions {usable} are "
                "usable: they start after the padding id",
                document.place(("model_max_length",)),
                related=[ctx.place("/max_position_embeddings")],
                help=f"write model_max_length: {usable}",
            )
