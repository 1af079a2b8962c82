"""Per-layer lists and the windows of sliding layers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from archscope.config import Config
from archscope.config.schema import common
from archscope.diagnostics import Severity
from archscope.rules.base import Context, Fails, Finding, Passes, Rule

LISTS = ("layer_types", "mlp_layer_types")
NEXT_TOKEN_LAYERS = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules")


class LayerTypesLength(Rule[Config]):
    """A per-layer list does not have one entry for each layer.

    ## What it checks
    layer_types and mlp_layer_types against num_hidden_layers. A list that also counts next-token-prediction layers is said
    to do so.

    ## Why it matters
    transformers refuses the file where it checks (it does not check mlp_layer_types without layer_types, and then fails with
    an IndexError, or leaves entries unused).

    ## How to fix
    One entry for each of num_hidden_layers; next-token-prediction layers are not counted.

    ## References
    transformers configuration_utils.py (validate_layer_type).
    """

    name = "layer-types-length"
    severity = Severity.ERROR
    requires = ("wrong-type", "out-of-range")
    cases = (
        Passes("qwen3", num_hidden_layers=2, layer_types=["full_attention"] * 2),
        Fails("qwen3", num_hidden_layers=3, layer_types=["full_attention"] * 2, at="/layer_types"),
        Fails("gpt_oss", num_hidden_layers=1, layer_types=["full_attention"] * 2, at="/layer_types"),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        count = target.get("num_hidden_layers")
        for name in LISTS:
            found = _written_list(target, name)
            if found is None or not isinstance(count, int) or len(found) == count or not _counts_layers(target):
                continue
            extra = next((target.get(n) for n in NEXT_TOKEN_LAYERS if isinstance(target.get(n), int)), 0)
            also = len(found) == count + extra and extra > 0
            yield Finding(
                f"{name} has {len(found)} entries for {count} layers"
                + (f": it also counts the {extra} next-token-prediction layers" if also else ""),
                ctx.place(f"{target.pointer}/{name}"),
                related=[ctx.at("num_hidden_layers", "layers")],
                help="one entry for each of num_hidden_layers",
                severity=Severity.WARNING if also else None,
            )


def _written_list(config: Config, name: str) -> list[Any] | None:
    """The list as the file has it (the resolved one may be cut, rewritten or derived)."""
    found = config.raw.get(name)
    return found if isinstance(found, list) else None


def _counts_layers(config: Config) -> bool:
    """Whether the number of layers is a field of its own here, not the length of the list."""
    return config.schema is not None and config.origin("num_hidden_layers").kind in ("explicit", "alias", "default")


class UnknownLayerType(Rule[Config]):
    """A per-layer list has a word that names no kind of layer.

    ## What it checks
    The words of layer_types and mlp_layer_types against those that transformers knows, old names included. Where the class
    rewrites the list, only slips of the pen are reported: it may know words of its own.

    ## Why it matters
    transformers refuses the file, or has no block for the word.

    ## How to fix
    Use one of the words that the help names.

    ## References
    transformers configuration_utils.py (ALLOWED_LAYER_TYPES).
    """

    name = "unknown-layer-type"
    severity = Severity.ERROR
    requires = ("wrong-type",)
    cases = (
        Passes("qwen3", num_hidden_layers=2, layer_types=["full_attention"] * 2),
        Fails("qwen3", num_hidden_layers=1, layer_types=["full_atention"], at="/layer_types/0"),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        if target.schema is None:
            return
        shared = common()
        allowed = {
            "layer_types": {*shared.layer_types, *shared.legacy_layer_types},
            "mlp_layer_types": {*shared.mlp_layer_types},
        }
        for name in LISTS:
            words = allowed[name] | _own_words(target, name)
            written = _written_list(target, name) or []
            rewritten = name in target and target.get(name) != written
            for index, word in enumerate(written):
                if rewritten and isinstance(word, str) and not _near(word, words):
                    continue
                if not isinstance(word, str) or word not in words:
                    yield self._finding(target, ctx, name, index, word, words)
                    break

    def _finding(self, target: Config, ctx: Context, name: str, index: int, word: object, words: set[str]) -> Finding:
        near = _near(str(word), words)
        return Finding(
            f"{str(word)[:40]!r} names no kind of layer",
            ctx.place(f"{target.pointer}/{name}/{index}"),
            help=f"did you mean {near[0]!r}?" if near else f"known: {', '.join(sorted(words))}",
        )


def _near(word: str, words: set[str]) -> list[str]:
    """The known word nearest to one, in a list; none where none is near."""
    from difflib import get_close_matches

    return [word] if word in words else get_close_matches(word, sorted(words), n=1)


def _own_words(config: Config, name: str) -> set[str]:
    """Words that the type's own default uses."""
    schema = config.schema
    field = schema.fields.get(name) if schema is not None else None
    found = field.effective if field is not None else None
    return {word for word in found if isinstance(word, str)} if isinstance(found, list) else set()


class SlidingWithoutWindow(Rule[Config]):
    """Layers slide, but there is no window for them.

    ## What it checks
    Layers of type sliding_attention (or chunked_attention) against sliding_window (or attention_chunk_size), which must be a
    whole number of at least 1.

    ## Why it matters
    transformers builds the model and fails in the forward pass, or attends to everything.

    ## How to fix
    Write the window that the model was trained with.

    ## References
    transformers masking_utils.py (create_sliding_window_causal_mask).
    """

    name = "sliding-without-window"
    severity = Severity.ERROR
    requires = ("wrong-type", "unknown-layer-type")
    cases = (
        Passes("gpt_oss", num_hidden_layers=2, sliding_window=128),
        Fails("gpt_oss", num_hidden_layers=2, sliding_window=None, at="/sliding_window"),
        Fails("gemma2", num_hidden_layers=2, sliding_window=0, at="/sliding_window"),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        types = target.get("layer_types")
        if target.schema is None or not isinstance(types, list | tuple):
            return
        for word, name in (("sliding_attention", "sliding_window"), ("chunked_attention", "attention_chunk_size")):
            if word not in types or name not in target:
                continue
            window = target.get(name)
            if not isinstance(window, int) or isinstance(window, bool) or window < 1:
                count = sum(1 for one in types if one == word)
                yield Finding(
                    f"{count} layers are {word}, but {name} is {'null' if window is None else window}",
                    ctx.at(name),
                    related=[ctx.at("layer_types")] if ctx.written("layer_types") else [],
                )
