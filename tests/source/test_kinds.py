"""Telling a model's configuration from the other JSON files of this world."""

from __future__ import annotations

from typing import Any

import pytest

from archscope.diagnostics import Severity
from archscope.source import document_of_text, document_of_value, foreign_diagnostic, kind_of

KINDS: list[tuple[str, Any]] = [
    ("model", {"model_type": "llama"}),
    ("model", {"architectures": ["LlamaForCausalLM"]}),
    ("model", {"hidden_size": 8, "num_hidden_layers": 2}),
    ("model", {"n_embd": 8, "n_layer": 2, "n_head": 2}),
    ("model", {"text_config": {}}),
    ("model", {"model_type": "distilbert", "dim": 8, "n_layers": 2, "n_heads": 2}),
    ("model", {"model_type": "x", "tokenizer_class": "LlamaTokenizer", "quantization_config": {"bits": 4}}),
    ("adapter", {"peft_type": "LORA", "base_model_name_or_path": "a/b", "r": 8}),
    ("adapter", {"base_model_name_or_path": "a/b", "lora_alpha": 16}),
    ("diffusers", {"_class_name": "UNet2DConditionModel", "_diffusers_version": "0.30.0"}),
    ("diffusers", {"_class_name": "WanModel", "_diffusers_version": "0.30.0", "model_type": "i2v"}),
    ("original-params", {"dim": 4096, "n_layers": 32, "n_heads": 32, "vocab_size": 32000}),
    ("original-params", {"dim": 4096, "multiple_of": 256, "n_heads": 32, "n_layers": 32}),
    ("tokenizer", {"tokenizer_class": "LlamaTokenizer", "model_max_length": 4096}),
    ("tokenizer", {"model_type": "bpe", "normalizer": {}, "pre_tokenizer": {}, "vocab_size": 32000}),
    ("processor", {"image_processor_type": "SiglipImageProcessor", "do_resize": True}),
    ("generation", {"_from_model_config": True, "eos_token_id": 2, "transformers_version": "4.40.0"}),
    ("generation", {"do_sample": True, "temperature": 0.6}),
    ("quantization", {"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "NVFP4"}}),
    ("quantization", {"bits": 4, "group_size": 128, "desc_act": False}),
    ("weights-index", {"metadata": {"total_size": 1}, "weight_map": {"a": "model.safetensors"}}),
    ("sentence-transformers", {"__version__": {"pytorch": "2"}, "prompts": {}, "similarity_fn_name": "cosine"}),
    ("sentence-transformers", {"max_seq_length": 512, "do_lower_case": False}),
    ("timm", {"architecture": "resnet50", "num_classes": 1000, "pretrained_cfg": {}}),
    ("training", {"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 3}}),
    ("other", {}),
    ("other", {"name": "my-app", "version": "1.0.0", "scripts": {"build": "x"}}),
    ("other", {"model_type": None, "architectures": []}),
    ("other", [1, 2]),
    ("other", "text"),
    ("other", None),
]


@pytest.mark.parametrize(("kind", "value"), KINDS, ids=[f"{kind}-{index}" for index, (kind, _) in enumerate(KINDS)])
def test_kinds_are_told_apart_by_their_keys(kind: str, value: Any) -> None:
    document = document_of_value("config.json", value)
    assert kind_of(document) == kind
    diagnostic = foreign_diagnostic(document)
    assert (diagnostic is None) == (kind == "model")


def test_a_foreign_file_gets_one_note_at_its_start() -> None:
    diagnostic = foreign_diagnostic(document_of_text("x.json", '{\n  "peft_type": "LORA"\n}'))
    assert diagnostic is not None
    assert (diagnostic.rule, diagnostic.severity) == ("foreign-file", Severity.INFO)
    assert (diagnostic.line, diagnostic.column, diagnostic.place.end_column) == (1, 1, 2)
    assert "PEFT" in diagnostic.message


@pytest.mark.parametrize(("text", "word"), [("[]", "list"), ("1", "number"), ("null", "null"), ("true", "boolean")])
def test_a_top_level_that_is_no_object_is_an_error(text: str, word: str) -> None:
    diagnostic = foreign_diagnostic(document_of_text("x.json", text))
    assert diagnostic is not None
    assert (diagnostic.rule, diagnostic.severity) == ("not-an-object", Severity.ERROR)
    assert word in diagnostic.message


@pytest.mark.parametrize("text", ["", "{", "[1,", "<html>"])
def test_unreadable_text_says_only_why_it_is_unreadable(text: str) -> None:
    document = document_of_text("x.json", text)
    assert document.problems
    assert foreign_diagnostic(document) is None
