"""Values and where they come from."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from archscope.config import Origin, load_schema, model_types, resolve

VERSION = "transformers 5.24.0"


def test_the_four_origins() -> None:
    config = resolve({"model_type": "llama", "hidden_size": 2048, "num_attention_heads": 16, "torch_dtype": "bfloat16"})
    assert config.origin("hidden_size") == Origin("explicit", "/hidden_size")
    assert config.origin("dtype") == Origin("alias", "/torch_dtype", "torch_dtype")
    assert config.origin("vocab_size") == Origin("default", source=f"LlamaConfig, {VERSION}")
    assert config.origin("head_dim") == Origin(
        "derived", source="hidden_size // num_attention_heads", fields=("hidden_size", "num_attention_heads")
    )
    assert (config.head_dim, config.num_key_value_heads, config.dtype) == (128, 16, "bfloat16")


def test_an_explicit_null_is_filled_by_the_class() -> None:
    config = resolve({"model_type": "llama", "num_key_value_heads": None, "head_dim": 64})
    assert config.num_key_value_heads == 32
    assert config.origin("num_key_value_heads").kind == "derived"
    assert config.origin("head_dim").kind == "explicit"


def test_names_of_the_class_and_canonical_names() -> None:
    config = resolve({"model_type": "gpt2", "n_layer": 3, "hidden_size": 64})
    assert (config.n_layer, config.num_hidden_layers, config.n_embd, config.hidden_size) == (3, 3, 64, 64)
    assert config.origin("num_hidden_layers") == Origin("explicit", "/n_layer")
    assert config.origin("n_embd") == Origin("alias", "/hidden_size", "hidden_size")
    assert "num_attention_heads" in config
    assert config.get("num_attention_heads") == 12


def test_an_alias_beats_its_field_as_in_transformers() -> None:
    config = resolve({"model_type": "gpt2", "n_embd": 64, "hidden_size": 128})
    assert config.n_embd == 128
    assert config.pointer_of("n_embd") == "/hidden_size"


def test_other_keys_are_kept() -> None:
    config = resolve({"model_type": "qwen2", "head_dim": 32, "my~own/key": 1})
    assert config.head_dim == 32
    assert config.origin("my~own/key").pointer == "/my~0own~1key"
    with pytest.raises(AttributeError, match="qwen2 has no field absent"):
        _ = config.absent
    assert config.get("absent", 7) == 7


def test_a_config_cannot_be_changed() -> None:
    config = resolve({"model_type": "llama"})
    with pytest.raises(AttributeError):
        config.hidden_size = 1
    with pytest.raises(TypeError):
        config.values["hidden_size"] = 1  # type: ignore[index]


def test_a_document_or_a_plain_value() -> None:
    raw = {"model_type": "llama", "hidden_size": 64}
    assert resolve(SimpleNamespace(value=raw, name="config.json")).to_dict() == resolve(raw).to_dict()


@pytest.mark.parametrize("value", [None, [], "x", 3, {}, {"model_type": 3}, {"model_type": ["llama"]}])
def test_no_config_at_all(value: Any) -> None:
    config = resolve(value)
    assert config.model_type == ""
    assert config.schema is None
    assert config.model_class == ""


@pytest.mark.parametrize("name", ["Llama", "../models/llama", "llama\0", "LLAMA", "llama.json", "", "con"])
def test_a_type_is_one_of_the_snapshot_to_the_letter(name: str) -> None:
    assert load_schema(name) is None


def test_mistral_with_layer_types_is_a_ministral() -> None:
    config = resolve({"model_type": "mistral", "num_hidden_layers": 2, "layer_types": ["sliding_attention"] * 2})
    assert config.model_type == "ministral"
    assert config.model_class == "MinistralForCausalLM"
    assert config.raw["model_type"] == "mistral"


def test_old_words_for_layers() -> None:
    old = ["mamba", "attention", "deepseek_sparse_attention"]
    config = resolve({"model_type": "llama", "num_hidden_layers": 3, "layer_types": old})
    assert config.layer_types == ["linear_attention", "full_attention", "indexed_attention"]


@pytest.mark.parametrize(
    ("keys", "count"), [({}, 2), ({"num_labels": 3}, 3), ({"id2label": {"0": "a"}}, 1), ({"num_labels": None}, 2)]
)
def test_labels(keys: dict[str, Any], count: int) -> None:
    config = resolve({"model_type": "bert", **keys})
    assert list(config.id2label) == list(range(count))


def test_per_layer_overrides() -> None:
    config = resolve({"model_type": "llama", "per_layer_config": {"3": {"intermediate_size": 64, "hidden_size": 4096}}})
    assert config.per_layer_config == {3: {"intermediate_size": 64}}, "what repeats the value of all layers is dropped"


def test_floats_that_json_has_no_word_for() -> None:
    config = resolve({"model_type": "mamba2", "time_step_limit": [0.0, {"__float__": "Infinity"}]})
    assert config.time_step_limit == [0.0, float("inf")]


# Values that are not taken as written


def test_a_wrong_type_has_a_stand_in() -> None:
    config = resolve({"model_type": "llama", "hidden_size": "2048", "rms_norm_eps": 1, "num_attention_heads": [4]})
    assert (config.hidden_size, config.rms_norm_eps, config.num_attention_heads) == (2048, 1.0, 32)
    assert dict(config.invalid) == {
        "hidden_size": "expected int, got str",
        "rms_norm_eps": "expected float, got int",
        "num_attention_heads": "expected int, got list",
    }
    problem = config.problems["hidden_size"]
    assert (problem.kind, problem.value, problem.pointer, problem.checked) == ("type", "2048", "/hidden_size", True)


def test_null_where_it_is_not_allowed() -> None:
    config = resolve({"model_type": "llama", "intermediate_size": None})
    assert config.intermediate_size == 11008
    assert config.problems["intermediate_size"].kind == "null"


def test_a_range() -> None:
    config = resolve({"model_type": "llama", "initializer_range": 2.0})
    assert config.problems["initializer_range"].kind == "range"
    assert config.invalid["initializer_range"] == "must be at least 0 and at most 1, got 2"
    assert config.initializer_range == 2.0


def test_an_alias_is_not_checked_by_transformers() -> None:
    config = resolve({"model_type": "gpt2", "hidden_size": "64"})
    assert config.n_embd == 64
    assert config.problems["n_embd"].checked is False
    assert config.problems["n_embd"].pointer == "/hidden_size"


def test_base_fields_are_not_checked() -> None:
    assert not resolve({"model_type": "llama", "chunk_size_feed_forward": "0"}).invalid


def test_a_formula_that_the_values_break() -> None:
    config = resolve({"model_type": "llama", "num_attention_heads": 0})
    assert config.head_dim is None
    assert config.invalid["head_dim"] == "cannot be derived: division by zero"


@pytest.mark.parametrize("layers", [10**9, 10**400])
def test_a_billion_layers(layers: int) -> None:
    config = resolve({"model_type": "qwen2", "num_hidden_layers": layers})
    assert config.layer_types is None
    assert config.problems["layer_types"].kind == "size"
    assert config.num_hidden_layers == layers


def test_a_value_that_the_class_computes() -> None:
    config = resolve({"model_type": "falcon", "hidden_size": 64, "num_attention_heads": 4})
    assert config.head_dim == 16
    assert "head_dim" not in config.values
    refused = resolve({"model_type": "falcon", "rotary": True})
    assert refused.problems["rotary"].kind == "read-only"


def test_a_value_that_sets_another() -> None:
    assert resolve({"model_type": "longcat_flash", "num_hidden_layers": 8}).num_layers == 4


# Configs inside configs


def test_sub_configs() -> None:
    raw = {"model_type": "llava", "text_config": {"model_type": "qwen2", "hidden_size": 64}, "vision_config": None}
    config = resolve(raw)
    assert set(config.subs) == {"text_config", "vision_config"}
    text, vision = config.sub("text_config"), config.sub("vision_config")
    assert (text.model_type, text.pointer, text.hidden_size) == ("qwen2", "/text_config", 64)
    assert text.origin("hidden_size").pointer == "/text_config/hidden_size"
    assert (vision.model_type, vision.origin("hidden_size").kind) == ("clip_vision_model", "default")
    assert config.text_config is text
    with pytest.raises(KeyError):
        config.sub("audio_config")


def test_a_sub_config_that_is_none_of_the_known_ones() -> None:
    config = resolve({"model_type": "llava", "text_config": {"model_type": "lama", "hidden_size": 8}})
    assert config.problems["text_config"].pointer == "/text_config/model_type"
    assert config.sub("text_config").schema is None
    assert config.sub("text_config").hidden_size == 8


@pytest.mark.parametrize("value", ["llama", [1], 3])
def test_a_sub_config_that_is_no_object(value: Any) -> None:
    config = resolve({"model_type": "llava", "text_config": value})
    assert config.problems["text_config"].kind == "type"
    assert config.sub("text_config").model_type == "llama"


def test_text_fields_at_the_top_of_older_files() -> None:
    config = resolve({"model_type": "qwen2_vl", "hidden_size": 64, "num_attention_heads": "4", "rope_theta": 1e6})
    text = config.sub("text_config")
    assert (text.hidden_size, text.num_attention_heads, text.rope[""].rope_theta) == (64, 4, 1e6)
    assert text.origin("hidden_size") == Origin("explicit", "/hidden_size")
    assert text.problems["num_attention_heads"].pointer == "/num_attention_heads"


def test_a_class_that_is_no_registered_type() -> None:
    config = resolve({"model_type": "dbrx", "attn_config": {"kv_n_heads": 4}})
    assert config.sub("attn_config").kv_n_heads == 4
    assert config.num_key_value_heads == 4
    assert config.sub("ffn_config").origin("hidden_size").kind == "derived"


def test_an_object_that_older_files_have_beside_the_sub_config() -> None:
    config = resolve({"model_type": "clip", "text_config": {"hidden_size": 1}, "text_config_dict": {"hidden_size": 64}})
    assert config.sub("text_config").hidden_size == 64
    assert config.sub("text_config").pointer_of("hidden_size") == "/text_config_dict/hidden_size"


# Types that the snapshot does not know


def test_unknown_type() -> None:
    config = resolve({"model_type": "mine", "n_layer": 2, "d_model": 64, "architectures": ["MineForCausalLM"]})
    assert (config.schema, config.model_type, config.model_class, config.task) == (
        None,
        "mine",
        "MineForCausalLM",
        "causal_lm",
    )
    assert (config.num_hidden_layers, config.hidden_size, config.n_layer) == (2, 64, 2)
    assert config.origin("hidden_size") == Origin("alias", "/d_model", "d_model")


def test_unknown_type_with_two_spellings_of_one_field() -> None:
    assert "hidden_size" not in resolve({"model_type": "mine", "d_model": 64, "dim": 32})


# The class that is built


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"model_type": "llama"}, ("LlamaForCausalLM", "causal_lm")),
        ({"model_type": "llama", "architectures": []}, ("LlamaForCausalLM", "causal_lm")),
        ({"model_type": "llama", "architectures": ["Mine", 3, "LlamaModel"]}, ("LlamaModel", "model")),
        ({"model_type": "gpt2", "architectures": ["GPT2DoubleHeadsModel"]}, ("GPT2DoubleHeadsModel", "")),
        ({"model_type": "bert"}, ("BertLMHeadModel", "causal_lm")),
        (
            {"model_type": "bert", "architectures": ["BertForSequenceClassification"]},
            ("BertForSequenceClassification", "sequence_classification"),
        ),
        ({"model_type": "qwen2_vl"}, ("Qwen2VLForConditionalGeneration", "image_text_to_text")),
        ({"model_type": "t5"}, ("T5ForConditionalGeneration", "seq_to_seq_causal_lm")),
        ({"model_type": "clip_vision_model"}, ("CLIPVisionModel", "model")),
        ({"model_type": "llama", "architectures": ["MistralForCausalLM"]}, ("MistralForCausalLM", "causal_lm")),
    ],
)
def test_model_class(raw: dict[str, Any], expected: tuple[str, str]) -> None:
    config = resolve(raw)
    assert (config.model_class, config.task) == expected


# The snapshot against itself


def _as_json(value: Any) -> Any:
    return {str(k): _as_json(v) for k, v in value.items()} if isinstance(value, dict) else value


def test_every_default_is_what_the_class_has_with_nothing_given() -> None:
    wrong = []
    for model_type in sorted(model_types()):
        schema = load_schema(model_type)
        assert schema is not None
        config = resolve({"model_type": model_type})
        for name, field in schema.fields.items():
            mine = _as_json(config.get(name))
            if (
                name.startswith("_")
                or name in config.subs
                or name in ("id2label", "label2id")
                or field.effective == mine
            ):
                continue
            if field.effective == field.default and config.origin(name).kind != "default":
                continue  # a class that refuses to be made with nothing given, or a value that no JSON holds
            wrong.append(f"{model_type}.{name}: {mine!r:.80} for {field.effective!r:.80}")
    assert not wrong
