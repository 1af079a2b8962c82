"""What the snapshot knows of keys and classes."""

from __future__ import annotations

from functools import lru_cache

from archscope.config.schema import Schema, common, load_schema, model_types

OLD_BASE_KEYS = (
    "tie_encoder_decoder cross_attention_hidden_size pruned_heads torchscript use_bfloat16 tf_legacy_loss finetuning_task "
    "task_specific_params tokenizer_class prefix bad_words_ids is_decoder add_cross_attention tie_word_embeddings"
).split()
"""Keys of every config in transformers 4."""


@lru_cache(maxsize=256)
def known_keys(model_type: str) -> frozenset[str]:
    """Every key that a config of this type may have: fields, aliases, legacy names, keys that its code reads."""
    shared = common()
    schema: Schema | None = load_schema(model_type)
    own: set[str] = set()
    if schema is not None:
        own = {*schema.fields, *schema.aliases, *schema.also_reads, *schema.sub_configs, *schema.properties}
    legacy = {
        *OLD_BASE_KEYS,
        "rope_scaling",
        "rope_theta",
        "torch_dtype",
        "auto_map",
        "quantization_config",
        "num_labels",
        "model_type",
    }
    return frozenset(own | legacy | shared.base_keys | shared.generation_keys)


def types_with_class(architectures: object) -> list[str]:
    """The model types that have the first class named in architectures."""
    if not isinstance(architectures, list) or not architectures or not isinstance(architectures[0], str):
        return []
    wanted = architectures[0]
    stem = wanted.split("For")[0].removesuffix("Model").lower()
    near = [t for t in model_types() if t.replace("_", "").replace("-", "") == stem]
    found = []
    for model_type in sorted(near):
        schema = load_schema(model_type)
        if schema is not None and wanted in {*schema.tasks.values(), *schema.other_models}:
            found.append(model_type)
    return found
