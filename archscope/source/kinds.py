"""What kind of JSON file a document is: a model's configuration, or one of the many others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from archscope.diagnostics import Diagnostic, Place, Severity
from archscope.source.document import Document

Kind = Literal[
    "model", "adapter", "diffusers", "original-params", "tokenizer", "processor", "generation", "quantization",
    "weights-index", "sentence-transformers", "timm", "training", "other",
]  # fmt: skip


class _Sign(NamedTuple):
    """Keys that tell a kind: all of `needs` and at least `at_least` of `some`, and none of `without`."""

    kind: Kind
    needs: frozenset[str] = frozenset()
    some: frozenset[str] = frozenset()
    at_least: int = 1
    without: frozenset[str] = frozenset()

    def matches(self, keys: frozenset[str]) -> bool:
        if not self.needs <= keys or self.without & keys:
            return False
        return not self.some or len(self.some & keys) >= self.at_least


def _keys(words: str) -> frozenset[str]:
    return frozenset(words.split())


_WIDTHS = _keys("hidden_size n_embd d_model hidden_dim embed_dim model_dim embedding_size dim")
_DEPTHS = _keys("num_hidden_layers n_layer num_layers n_layers encoder_layers num_encoder_layers depth")
_HEADS = _keys("num_attention_heads n_head num_heads n_heads encoder_attention_heads")
_PARTS = _keys("text_config vision_config audio_config llm_config language_config decoder encoder")
# Even beside a model_type these are no model's configuration.
_STRONG = (
    _Sign("adapter", _keys("peft_type")),
    _Sign("diffusers", _keys("_diffusers_version"), without=_keys("architectures")),
    _Sign("diffusers", _keys("_class_name"), without=_keys("architectures")),
    _Sign("tokenizer", _keys("tokenizer_class"), _keys("added_tokens_decoder model_max_length chat_template"),
          without=_WIDTHS | _PARTS),
    _Sign("tokenizer", some=_keys("normalizer pre_tokenizer post_processor added_tokens_decoder added_tokens"),
          at_least=2, without=_WIDTHS | _keys("architectures")),
)  # fmt: skip
_WEAK = (
    _Sign("adapter", _keys("base_model_name_or_path"), without=_WIDTHS),
    _Sign("original-params", _keys("dim n_layers"), without=_keys("hidden_size n_embd d_model")),
    _Sign("original-params", _keys("dim n_heads multiple_of")),
    _Sign("timm", _keys("architecture"), some=_keys("pretrained_cfg num_classes num_features global_pool")),
    _Sign("quantization", _keys("producer quantization")),
    _Sign("quantization", some=_keys("quant_method bits group_size desc_act sym damp_percent"), at_least=2,
          without=_WIDTHS),
    _Sign("weights-index", _keys("weight_map")),
    _Sign("tokenizer", some=_keys("tokenizer_class added_tokens_decoder model_max_length chat_template"),
          without=_WIDTHS),
    _Sign("processor", some=_keys("image_processor_type feature_extractor_type processor_class image_mean do_resize"),
          without=_WIDTHS),
    _Sign("sentence-transformers", _keys("__version__"), some=_keys("prompts similarity_fn_name")),
    _Sign("sentence-transformers", some=_keys("word_embedding_dimension pooling_mode_mean_tokens")),
    _Sign("sentence-transformers", _keys("max_seq_length do_lower_case"), without=_WIDTHS),
    _Sign("training", some=_keys("log_history best_model_checkpoint per_device_train_batch_size zero_optimization "
                                 "train_micro_batch_size_per_gpu gradient_accumulation_steps"), without=_WIDTHS),
    _Sign("generation", some=_keys("max_new_tokens do_sample temperature top_p top_k _from_model_config max_length "
                                   "eos_token_id bos_token_id transformers_version"), at_least=2,
          without=_WIDTHS | _DEPTHS),
)  # fmt: skip

_WORDS: dict[Kind, str] = {
    "model": "the configuration of a model",
    "adapter": "the configuration of an adapter (PEFT), not of a model",
    "diffusers": "a configuration of the diffusers library, not of a language model",
    "original-params": "a params.json in its publisher's own format, not a config.json of transformers",
    "tokenizer": "the configuration of a tokenizer, not of a model",
    "processor": "the configuration of a preprocessor, not of a model",
    "generation": "a generation configuration, not that of a model",
    "quantization": "a quantisation recipe, not the configuration of a model",
    "weights-index": "an index of weight files, not the configuration of a model",
    "sentence-transformers": "a configuration of sentence-transformers, not of a model",
    "timm": "a configuration of the timm library, not of a language model",
    "training": "settings or records of a training run, not the configuration of a model",
    "other": "not the configuration of a model: no model_type, no architectures, no sizes of layers",
}


def kind_of(document: Document) -> Kind:
    """The kind of a document, by its keys alone."""
    value = document.value
    if not isinstance(value, dict):
        return "other"
    keys = frozenset(value)
    for sign in _STRONG:
        if sign.matches(keys):
            return sign.kind
    if _declares_model(value):
        return "model"
    for sign in _WEAK:
        if sign.matches(keys):
            return sign.kind
    if _PARTS & keys or sum(bool(words & keys) for words in (_WIDTHS, _DEPTHS, _HEADS, _keys("vocab_size"))) >= 2:
        return "model"
    return "other"


def _declares_model(value: Mapping[str, Any]) -> bool:
    return any(value.get(name) not in (None, "", []) for name in ("model_type", "architectures"))


def foreign_diagnostic(document: Document) -> Diagnostic | None:
    """One diagnostic for a document that is no model's configuration; None for one that is.

    A document whose text could not be read as an object has its say in `problems` already, and gets none here.
    """
    if isinstance(document.value, dict):
        kind = kind_of(document)
        if kind == "model" or (kind == "other" and any(p.severity is Severity.ERROR for p in document.problems)):
            return None
        place = document.place(())
        opening = Place(place.file, "", place.line, place.column, place.line, place.column and place.column + 1)
        return Diagnostic("foreign-file", Severity.INFO, f"this is {_WORDS[kind]}", opening,
                          help="nothing to check here; give the config.json of a model")  # fmt: skip
    if any(problem.severity is Severity.ERROR for problem in document.problems):
        return None
    word = _TYPES.get(type(document.value), "a value")
    return Diagnostic("not-an-object", Severity.ERROR, f"the top level is {word}, not an object", document.place(()),
                      help="a config.json is one JSON object")  # fmt: skip


_TYPES = {list: "a list", str: "a string", int: "a number", float: "a number", bool: "a boolean", type(None): "null"}
