"""Backbones: which stages a vision model hands out, and older ways to name the backbone of a detector."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from archscope.config.base import fill
from archscope.config.draft import Draft
from archscope.config.formulas import FAILURES
from archscope.config.origin import Problem
from archscope.config.procedures import Base, mapping, procedure
from archscope.config.schema import load_schema


@procedure("backbone_stages")
def stages(d: Draft, base: Base) -> None:
    """`out_features` and `out_indices` from one another and `stage_names`; the last stage where neither is given.

    Source: transformers backbone_utils.py, BackboneConfigMixin.set_output_features_output_indices.
    """
    indices, features = d.extras.pop("out_indices", None), d.extras.pop("out_features", None)
    names = d.values.get("stage_names")
    try:
        if indices is None and features is None:
            indices, features = [len(names) - 1], [names[-1]]  # type: ignore[arg-type,index]
        elif indices is None:
            indices = [names.index(word) for word in features]  # type: ignore[union-attr]
        elif features is None:
            features = [names[i] for i in indices]  # type: ignore[index]
    except FAILURES:
        d.note("out_features", Problem("derived", "names a stage that the backbone does not have", features or indices,
                                       d.pointer_of("out_features") or d.pointer_of("out_indices")))  # fmt: skip
    d.values["out_features"], d.values["out_indices"] = features, indices


def consolidate(d: Draft, default: str, defaults: Mapping[str, Any], depth: int = 1) -> None:
    """Make `backbone_config` from what names the backbone.

    Source: transformers backbone_utils.py, consolidate_backbone_kwargs_to_config. A `backbone` that is a repository
    on the Hub cannot be followed here: it is taken for a timm backbone.
    """
    extras, given = d.extras, d.values.get("backbone_config")
    extras.pop("use_timm_backbone", None)
    more = mapping(extras.pop("backbone_kwargs", None))
    backbone = extras.pop("backbone") if extras.get("backbone") is not None else None
    extras.pop("use_pretrained_backbone", None)
    pointer = d.pointer_of("backbone_config") or f"{d.pointer}/backbone_config"
    written = mapping(d.raw.get("backbone_config"))
    if isinstance(given, Draft):
        return
    if given is None and backbone is not None:
        word, raw = "timm_backbone", {"backbone": backbone, **more}
    elif given is None:
        word, raw = default, dict(defaults)
    else:
        raw = mapping(given)
        word = raw.get("model_type", "")
    schema = load_schema(word) if isinstance(word, str) else None
    if schema is None:
        if word or given is not None:
            d.note("backbone_config", Problem("sub-config", "unknown model_type in the sub-config", word,
                                              f"{pointer}/model_type"))  # fmt: skip
        return
    d.values["backbone_config"] = fill(schema, raw, pointer, written=written, depth=depth + 1)


@procedure("PPOCRV6MediumDetConfig", "PPOCRV6SmallDetConfig")
def pp_ocr_detector(d: Draft, base: Base) -> None:
    """PPOCRV6MediumDetConfig: a detector of one class."""
    consolidate(d, "pp_lcnet_v4", {})
    d.put("id2label", "{0: 'text'}", "id2label is None")
    base()


@procedure("PPOCRV6SmallRecConfig", "PPOCRV6TinyRecConfig")
def pp_ocr_recognizer(d: Draft, base: Base) -> None:
    """PPOCRV6SmallRecConfig, PPOCRV6TinyRecConfig."""
    if d.schema is not None and d.schema.class_name == "PPOCRV6SmallRecConfig":
        d.put("conv_kernel_size", "[1, 7]", "conv_kernel_size is None")
    consolidate(d, "pp_lcnet_v4", {})
    base()


@procedure("RfDetrConfig")
def rf_detr(d: Draft, base: Base) -> None:
    """RfDetrConfig."""
    features = ["stage2", "stage5", "stage8", "stage11"]
    consolidate(d, "rf_detr_dinov2", {"num_attention_heads": 6, "out_features": features, "hidden_size": 384,
                                      "num_register_tokens": 0, "image_size": 518})  # fmt: skip
    base()


@procedure("RfDetrDinov2Config")
def rf_detr_dinov2(d: Draft, base: Base) -> None:
    """RfDetrDinov2Config: layers up to the last one handed out use windows, except those handed out."""
    d.put("stage_names", "['stem'] + [f'stage{i}' for i in range(1, num_hidden_layers + 1)]")
    stages(d, base)
    d.put("window_block_indexes", "[i for i in range(out_indices[-1] + 1) if i not in out_indices]")
    base()


@procedure("DPTConfig")
def dpt(d: Draft, base: Base) -> None:
    """DPTConfig: a hybrid has a BiT backbone; another backbone only where one is named."""
    assert d.schema is not None
    spec = d.schema.sub_configs["backbone_config"]
    if d.values.get("is_hybrid"):
        d.put("backbone_config", "{'model_type': 'bit', **backbone_config}", "isinstance(backbone_config, 'dict')")
        consolidate(d, spec.model_type, spec.defaults)
    elif d.extras.get("backbone") is not None:
        consolidate(d, spec.model_type, spec.defaults)
        d.put("backbone_out_indices", "None")
    d.put("backbone_featmap_shape", "None", "not is_hybrid")
    d.put("neck_ignore_stages", "[]", "not is_hybrid")
    d.put("pooler_output_size", "hidden_size", "not pooler_output_size")
    base()
