"""Special tokens: config.json, generation_config.json and the tokenizer's files against each other."""

from __future__ import annotations

import json
from collections.abc import Iterator

from archscope.config import Config
from archscope.diagnostics import Place, Severity
from archscope.rules.base import Context, Fails, Finding, Passes, Rule
from archscope.source import Document
from archscope.source.tokens import Tokens, tokens

TOKENIZER = "tokenizer_config.json"
GENERATION = "generation_config.json"


def _tokenizer(**words: tuple[str, int]) -> str:
    """The text of a tokenizer_config.json with these special tokens, for examples."""
    return json.dumps(
        {
            **{f"{role}_token": word for role, (word, _) in words.items()},
            "added_tokens_decoder": {
                str(number): {"content": word, "special": True} for word, number in words.values()
            },
        }
    )


def _ids(value: object) -> list[int]:
    found = value if isinstance(value, list) else [value]
    return [one for one in found if type(one) is int]


def _text(ctx: Context) -> Config:
    """The config that holds the token ids: the text part of a composite model where the whole has none."""
    root = ctx.root
    for name in ("text_config", "llm_config", "language_config"):
        if name in root.subs and "eos_token_id" not in root.raw and "pad_token_id" not in root.raw:
            return root.sub(name)
    return root


def _vocabulary(ctx: Context) -> int | None:
    for config in (ctx.root, *ctx.root.subs.values()):
        found = config.get("vocab_size")
        if type(found) is int and found > 0:
            return found
    return None


class TokenIdAgainstTokenizer(Rule[Document]):
    """A token id of the config is another token in the tokenizer.

    ## What it checks
    bos, eos and pad ids of config.json against the ids that the tokenizer's files give to its bos, eos and pad tokens. A list
    of end tokens may hold more; a token that the tokenizer does not have is not compared.

    ## Why it matters
    Generation stops at the wrong token or never, batches are padded with a token that means something. It is an error where
    the end is the tokenizer's token for the start.

    ## How to fix
    Take the id of the tokenizer.

    ## References
    https://github.com/huggingface/transformers/issues/22222 (the first Llama conversions).
    """

    name = "token-id-against-tokenizer"
    severity = Severity.WARNING
    cases = (
        Passes(
            "llama", bos_token_id=1, eos_token_id=[2, 5], files={TOKENIZER: _tokenizer(bos=("<s>", 1), eos=("</s>", 2))}
        ),
        Fails(
            "llama",
            bos_token_id=1,
            eos_token_id=1,
            files={TOKENIZER: _tokenizer(bos=("<s>", 1), eos=("</s>", 2))},
            at="/eos_token_id",
        ),
        Fails(
            "llama",
            bos_token_id=1,
            eos_token_id=2,
            pad_token_id=7,
            files={TOKENIZER: _tokenizer(bos=("<s>", 1), eos=("</s>", 2), pad=("<pad>", 3))},
            at="/pad_token_id",
        ),
    )

    def check(self, target: Document, ctx: Context) -> Iterator[Finding]:
        table = tokens(ctx.repository)
        if table is None:
            return
        config, rows = _text(ctx), _vocabulary(ctx)
        generation = ctx.repository.document(GENERATION)
        for role in ("bos", "eos", "pad"):
            name = f"{role}_token_id"
            said, wanted = _ids(config.raw.get(name)), table.id_of(role)
            if not said or wanted is None or wanted in said or not 0 <= said[0] < (rows or said[0] + 1):
                continue
            if role != "bos" and generation is not None and wanted in _ids(generation.mapping.get(name)):
                continue
            if role == "pad" and said[0] in _ids(config.raw.get("eos_token_id")):
                continue
            yield self._finding(ctx, config, table, role, said[0], wanted)

    def _finding(self, ctx: Context, config: Config, table: Tokens, role: str, said: int, wanted: int) -> Finding:
        other = table.word_of(said)
        starts = other is not None and role == "eos" and other == table.words.get("bos") != table.words.get("eos")
        what = f" ({_shown(other)})" if other else ""
        return Finding(
            f"{role}_token_id is {said}{what}, but the tokenizer's {role} token {_shown(table.words[role])} is {wanted}",
            ctx.place(f"{config.pointer}/{role}_token_id"),
            related=[table.document.place((f"{role}_token",))],
            help=f"write {wanted}",
            severity=Severity.ERROR if starts else None,
        )


def _shown(word: str | None) -> str:
    return repr(word[:40]) if word else "?"


class TokenizerTokenWithoutRow(Rule[Document]):
    """A special token of the tokenizer has no row in the token table.

    ## What it checks
    The ids of the tokenizer's bos, eos, pad and unk tokens against vocab_size.

    ## Why it matters
    The first text with such a token fails with an index error, on a GPU with an obscure one.

    ## How to fix
    Resize the token table (to a multiple of 64), or use a token that has a row.

    ## References
    transformers modeling_utils.py (resize_token_embeddings).
    """

    name = "tokenizer-token-without-row"
    severity = Severity.ERROR
    cases = (
        Passes("llama", vocab_size=32000, files={TOKENIZER: _tokenizer(pad=("<pad>", 31999))}),
        Fails("llama", vocab_size=32000, files={TOKENIZER: _tokenizer(pad=("<pad>", 32000))}, at="/pad_token_id"),
    )

    def check(self, target: Document, ctx: Context) -> Iterator[Finding]:
        table, rows = tokens(ctx.repository), _vocabulary(ctx)
        if table is None or rows is None:
            return
        for role in ("bos", "eos", "pad", "unk"):
            number = table.id_of(role)
            if number is not None and number >= rows:
                yield Finding(
                    f"the tokenizer's {role} token {_shown(table.words[role])} is {number}, past the {rows} rows of the table",
                    ctx.place(f"{_text(ctx).pointer}/{role}_token_id"),
                    related=[table.document.place((f"{role}_token",)), ctx.place(f"{_text(ctx).pointer}/vocab_size")],
                    help=f"resize the table to {-(-(number + 1) // 64) * 64} rows, or use a token that has one",
                )


class StopTokensOnlyInGeneration(Rule[Document]):
    """generation_config.json stops at tokens that config.json does not know.

    ## What it checks
    eos_token_id of both files. Ids that are the padding or the first token are left alone: base models stop there, and chat
    models list it besides. So is a config.json that has the tokenizer's own eos token, if generation_config.json has one of
    its ids.

    ## Why it matters
    Readers of config.json alone (converters, older engines) run past the end of the turn.

    ## How to fix
    Put the whole list into config.json too.

    ## References
    https://github.com/ggml-org/llama.cpp/issues/6903
    """

    name = "stop-tokens-only-in-generation"
    severity = Severity.WARNING
    cases = (
        Passes("llama", eos_token_id=[2, 9], files={GENERATION: '{"eos_token_id": [2, 9]}'}),
        Passes("llama", bos_token_id=9, eos_token_id=2, files={GENERATION: '{"eos_token_id": [2, 9]}'}),
        Fails("llama", eos_token_id=2, files={GENERATION: '{"eos_token_id": [2, 9]}'}, at="/eos_token_id"),
        Fails("llama", eos_token_id=2, files={GENERATION: '{"eos_token_id": 9}'}, at="/eos_token_id"),
    )

    def check(self, target: Document, ctx: Context) -> Iterator[Finding]:
        document, config = ctx.repository.document(GENERATION), _text(ctx)
        said = _ids(config.raw.get("eos_token_id"))
        if document is None or not said:
            return
        harmless = {*_ids(config.raw.get("bos_token_id")), *_ids(config.raw.get("pad_token_id"))}
        table = tokens(ctx.repository)
        both = set(said) & set(_ids(document.mapping.get("eos_token_id")))
        if both and table is not None and table.id_of("eos") in said:
            return
        harmless |= {*_ids(document.mapping.get("bos_token_id")), *_ids(document.mapping.get("pad_token_id"))}
        extra = [one for one in _ids(document.mapping.get("eos_token_id")) if one not in said and one not in harmless]
        if extra:
            yield Finding(
                f"generation_config.json stops at {', '.join(map(str, extra[:4]))}, which config.json does not: only at "
                f"{', '.join(map(str, said[:4]))}",
                ctx.place(f"{config.pointer}/eos_token_id"),
                related=[document.place(("eos_token_id",))],
                help="put the whole list into config.json too",
            )


class StopTokenOfTheTemplate(Rule[Document]):
    """Generation does not stop at the token that the chat template ends a turn with.

    ## What it checks
    The tokenizer's eos token, where the chat template has it, against the stop tokens of generation_config.json (or of
    config.json without one).

    ## Why it matters
    The model ends its turn and goes on as the user: every answer runs to the length limit.

    ## How to fix
    Add the tokenizer's eos id to eos_token_id.

    ## References
    transformers generation/stopping_criteria.py (EosTokenCriteria).
    """

    name = "stop-token-of-the-template"
    severity = Severity.WARNING
    cases = (
        Passes(
            "llama",
            eos_token_id=2,
            files={
                TOKENIZER: _tokenizer(eos=("<|im_end|>", 2)).replace("{", '{"chat_template": "<|im_end|>", ', 1),
                GENERATION: '{"eos_token_id": [2]}',
            },
        ),
        Fails(
            "llama",
            eos_token_id=4,
            files={
                TOKENIZER: _tokenizer(eos=("<|im_end|>", 5)).replace("{", '{"chat_template": "<|im_end|>", ', 1),
                GENERATION: '{"eos_token_id": [4]}',
            },
            at="/eos_token_id",
            also=("token-id-against-tokenizer",),
        ),
    )

    def check(self, target: Document, ctx: Context) -> Iterator[Finding]:
        table, generation = tokens(ctx.repository), ctx.repository.document(GENERATION)
        number = table.id_of("eos") if table is not None else None
        if table is None or number is None or generation is None:
            return
        stops = _ids(generation.mapping.get("eos_token_id"))
        if stops and number not in stops and table.words["eos"] in _template(ctx, table):
            yield Finding(
                f"the chat template ends a turn with {_shown(table.words['eos'])} ({number}), which is not among the stop "
                f"tokens {', '.join(map(str, stops[:6]))}",
                generation.place(("eos_token_id",)),
                related=[table.document.place(("eos_token",))],
                help=f"add {number} to eos_token_id",
            )


def _template(ctx: Context, table: Tokens) -> str:
    found = table.document.mapping.get("chat_template")
    if isinstance(found, str):
        return found
    if isinstance(found, list):
        return " ".join(str(one.get("template")) for one in found if isinstance(one, dict))
    text = ctx.repository.text("chat_template.jinja")
    return "" if text is None else text.text


class SamplingWithoutSwitch(Rule[Document]):
    """Sampling settings stand in generation_config.json, but sampling is not switched on.

    ## What it checks
    temperature, top_p, top_k, min_p and typical_p other than their neutral values, while do_sample is not true.

    ## Why it matters
    The settings have no effect, and save_pretrained raises: the model cannot be saved again after fine-tuning.

    ## How to fix
    do_sample true, or drop the sampling settings.

    ## References
    transformers generation/configuration_utils.py (GenerationConfig.validate).
    """

    name = "sampling-without-switch"
    severity = Severity.ERROR
    cases = (
        Passes("llama", files={GENERATION: '{"do_sample": true, "temperature": 0.6}'}),
        Passes("llama", files={GENERATION: '{"temperature": 1.0, "top_p": 1.0}'}),
        Fails("llama", files={GENERATION: '{"temperature": 0.9, "top_p": 0.6}'}, at="/do_sample"),
    )

    def check(self, target: Document, ctx: Context) -> Iterator[Finding]:
        document = ctx.repository.document(GENERATION)
        if document is None or document.mapping.get("do_sample") is True:
            return
        found = [name for name, neutral in NEUTRAL.items() if _differs(document.mapping.get(name), neutral)]
        if found:
            shown = ", ".join(f"{name} {document.mapping[name]:g}" for name in found)
            yield Finding(
                f"{shown} without do_sample: true: no effect, and save_pretrained raises",
                document.place(("do_sample",)),
                related=[document.place((name,)) for name in found],
                help='"do_sample": true, or drop the sampling settings',
            )


NEUTRAL = {"temperature": (1.0, 0.0), "top_p": (1.0,), "top_k": (50, 0), "min_p": (0.0,), "typical_p": (1.0,)}


def _differs(value: object, neutral: tuple[float, ...]) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value not in neutral


class GenerationTokenType(Rule[Document]):
    """A token id in generation_config.json is no whole number.

    ## What it checks
    Fields that end in _token_id: a whole number, a list of them, or null.

    ## Why it matters
    Comparing a string with an id is never true: generation does not stop.

    ## How to fix
    Write the number without quotes.

    ## References
    transformers generation/configuration_utils.py.
    """

    name = "generation-token-type"
    severity = Severity.ERROR
    cases = (
        Passes("llama", files={GENERATION: '{"eos_token_id": [2, 3], "pad_token_id": null}'}),
        Fails("llama", files={GENERATION: '{"eos_token_id": "2"}'}, at="/eos_token_id"),
    )

    def check(self, target: Document, ctx: Context) -> Iterator[Finding]:
        document = ctx.repository.document(GENERATION)
        for name, value in document.mapping.items() if document is not None else ():
            if not name.endswith("_token_id") or value is None:
                continue
            wrong = [one for one in (value if isinstance(value, list) else [value]) if type(one) is not int]
            if wrong and document is not None:
                yield Finding(
                    f"{name[:60]} is {wrong[0]!r:.40}, no whole number",
                    document.place((name,)),
                    related=[Place(ctx.document.name, f"/{name}")] if name in ctx.root.raw else [],
                )
