"""What the installed transformers itself builds for a config, on torch's meta device: no weights, no memory.

Opt-in: needs torch (the extra `verify`). Used for model types that archscope has no builder for, by `archscope verify`,
and to make the goldens of the tests. Only classes of the installed transformers are built; remote code never runs.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Mapping
from typing import Any

from archscope.errors import IntrospectionError
from archscope.records import dataclass

Shape = tuple[int, ...]

TABLES = (
    "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES",
    "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES",
    "MODEL_FOR_MULTIMODAL_LM_MAPPING_NAMES",
    "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES",
    "MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES",
    "MODEL_FOR_MASKED_LM_MAPPING_NAMES",
    "MODEL_MAPPING_NAMES",
)
COMPOSITE_TABLES = TABLES[1:3]


@dataclass(frozen=True, slots=True)
class Instance:
    """One class as transformers builds it.

    `shapes` are the tensors as saved on disk; `buffers` those of them that are no parameters; `parameters` counts unique
    parameters; `tied` are names that are not saved, since they share a tensor.
    """

    model_class: str
    shapes: Mapping[str, Shape]
    buffers: frozenset[str]
    parameters: int
    tied: tuple[str, ...]
    transformers: str


def available() -> bool:
    """Whether torch and transformers are installed, without importing them."""
    return all(importlib.util.find_spec(name) is not None for name in ("torch", "transformers"))


def knows(model_type: str) -> bool:
    """Whether the installed transformers has a model type. Imports its tables, but no torch."""
    tables: Any = importlib.import_module("transformers.models.auto.configuration_auto")
    return model_type in tables.CONFIG_MAPPING_NAMES


def instantiate(raw: Mapping[str, Any]) -> Instance:
    """Build the class that a config names on the meta device, and read its tensors.

    Raises: IntrospectionError where torch or the class is missing, or transformers refuses the values.
    """
    if not available():
        raise IntrospectionError("torch is not installed: install this distribution with its extra `verify`")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    import torch
    import transformers

    try:
        config = _config(raw)
        model_class = _class_for(config, raw)
        with torch.device("meta"):
            model = model_class._from_config(config, dtype=torch.bfloat16)
        model.tie_weights()
        return _read(model, model_class.__name__, transformers.__version__)
    except IntrospectionError:
        raise
    except Exception as error:
        # Any class of transformers may raise anything at all over values that come from a file.
        raise IntrospectionError(f"transformers cannot build it: {type(error).__name__}: {error}") from error


def _config(raw: Mapping[str, Any]) -> Any:
    from transformers import CONFIG_MAPPING

    model_type = raw.get("model_type")
    if not isinstance(model_type, str) or model_type not in CONFIG_MAPPING:
        raise IntrospectionError(f"the installed transformers has no model type {model_type!r}")
    plain = {key: value for key, value in raw.items() if key != "quantization_config"}
    return CONFIG_MAPPING[model_type].from_dict(plain)


def _class_for(config: Any, raw: Mapping[str, Any]) -> Any:
    """The first class of `architectures` that transformers has, else the auto tables', composite classes first."""
    import transformers
    from transformers.models.auto import modeling_auto

    for name in raw.get("architectures") or ():
        found = getattr(transformers, name, None) if isinstance(name, str) else None
        if isinstance(found, type) and issubclass(found, transformers.PreTrainedModel):
            return found
    composite = bool(getattr(type(config), "sub_configs", None))
    for table in (*(COMPOSITE_TABLES if composite else ()), *TABLES):
        name = getattr(modeling_auto, table, {}).get(config.model_type)
        name = name[0] if isinstance(name, list | tuple) else name
        if name and hasattr(transformers, name):
            return getattr(transformers, name)
    raise IntrospectionError(f"transformers has no model class for {config.model_type}")


def _read(model: Any, name: str, version: str) -> Instance:
    from transformers.core_model_loading import revert_weight_conversion

    unique = {id(parameter): parameter for parameter in model.parameters()}
    tied = tuple(sorted(getattr(model, "all_tied_weights_keys", {}) or ()))
    state = {key: value for key, value in model.state_dict().items() if key not in tied}
    learned = {key for key, _ in model.named_parameters(remove_duplicate=False)}
    saved = revert_weight_conversion(model, dict(state))
    return Instance(
        model_class=name,
        shapes={key: tuple(value.shape) for key, value in saved.items()},
        buffers=frozenset(_renamed_buffers(model, state, learned, saved)),
        parameters=sum(parameter.numel() for parameter in unique.values()),
        tied=tied,
        transformers=version,
    )


def _renamed_buffers(model: Any, state: dict[str, Any], learned: set[str], saved: dict[str, Any]) -> set[str]:
    """The saved names of buffers: those that are left when only parameters are converted."""
    from transformers.core_model_loading import revert_weight_conversion

    if all(key in learned for key in state):
        return set()
    parameters_only = revert_weight_conversion(model, {k: v for k, v in state.items() if k in learned})
    return set(saved) - set(parameters_only)
