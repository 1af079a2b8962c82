"""Config classes that bring their rotary keys into form in their own way.

Keyed by the class that defines `convert_rope_params_to_dict` in transformers 5.24.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from archscope.config.draft import Draft
from archscope.config.origin import Problem
from archscope.config.rope import convert, copied, default_theta, nested_keys, standardize


def _kept(draft: Draft) -> None:
    """The mapping stays as it is: no older form of this type exists."""
    draft.values["rope_parameters"] = copied(draft.values.get("rope_parameters")) or draft.values.get("rope_parameters")


def _scaled(draft: Draft) -> dict[str, Any]:
    scaling = draft.extras.pop("rope_scaling", None) or draft.values.get("rope_parameters")
    draft.values["rope_parameters"] = parameters = copied(scaling)
    return parameters


def _two_kinds(global_keys: tuple[str, str], both: bool = False) -> Callable[[Draft], None]:
    """Full and sliding layers have a base of their own; a legacy scaling goes to the full ones, or to both."""

    def run(draft: Draft) -> None:
        scaling = draft.extras.pop("rope_scaling", None)
        parameters = copied(draft.values.get("rope_parameters"))
        if draft.values.get("rope_parameters") is None:
            parameters = {"sliding_attention": {"rope_type": "default"}, "full_attention": {"rope_type": "default"}}
        draft.values["rope_parameters"] = parameters
        if isinstance(scaling, dict):
            for kind in ("full_attention", "sliding_attention") if both else ("full_attention",):
                if isinstance(parameters.get(kind), dict):
                    parameters[kind].update(scaling)
                else:
                    draft.note("rope_parameters", _no_place(draft, scaling, kind))
        theta = default_theta(draft)
        for kind, key, name in zip(
            ("full_attention", "sliding_attention"), global_keys, ("global", "local"), strict=True
        ):
            if not isinstance(parameters.get(kind), dict):
                parameters[kind] = {"rope_type": "default"}
            base = draft.extras.pop(key, theta[name] if isinstance(theta, Mapping) else theta)
            parameters[kind].setdefault("rope_theta", base)
        standardize(draft)

    return run


def _no_place(draft: Draft, scaling: Any, kind: str) -> Problem:
    pointer = draft.pointer_of("rope_scaling")
    return Problem("derived", f"rope_scaling beside a rope_parameters without {kind}", scaling, pointer)


def _neox(default_partial: float) -> Callable[[Draft], None]:
    def run(draft: Draft) -> None:
        parameters = _scaled(draft)
        parameters.setdefault("rope_theta", draft.extras.pop("rotary_emb_base", default_theta(draft)))
        parameters.setdefault("partial_rotary_factor", draft.extras.pop("rotary_pct", default_partial))
        standardize(draft)

    return run


def _phi3(draft: Draft) -> None:
    parameters = _scaled(draft)
    parameters.setdefault("rope_theta", draft.extras.pop("rope_theta", 10000.0))
    parameters.setdefault("partial_rotary_factor", draft.extras.get("partial_rotary_factor", 1.0))
    standardize(draft)
    if parameters.get("rope_type") in ("su", "yarn"):
        parameters["rope_type"] = "longrope"


def _qwen2_vl(draft: Draft) -> None:
    parameters = _scaled(draft)
    parameters.setdefault("rope_theta", draft.extras.pop("rope_theta", default_theta(draft)))
    if parameters.get("rope_type", parameters.get("type")) == "mrope":
        parameters["rope_type"] = "default"
    standardize(draft)


def _minimax_m2(draft: Draft) -> None:
    width, head = draft.extras.get("rotary_dim", draft.values.get("rotary_dim")), draft.values.get("head_dim")
    if width is not None and "partial_rotary_factor" not in draft.extras:
        draft.extras["partial_rotary_factor"] = width / head
    convert(draft)


def _hunyuan_vl(draft: Draft) -> None:
    convert(draft)
    parameters = draft.values.get("rope_parameters")
    if not isinstance(parameters, dict) or not parameters:
        return
    section = parameters.pop("xdrope_section", None)
    if section is not None:
        parameters.setdefault("mrope_section", section)
    kind = parameters.get("rope_type", parameters.get("type", "default"))
    kind = "dynamic" if kind == "xdrope" else kind
    parameters["rope_type"] = kind
    if "type" in parameters:
        parameters["type"] = kind


def _hy_v4_vl(draft: Draft) -> None:
    convert(draft)
    draft.values["rope_parameters"].setdefault("mrope_section", [12, 10, 10])


def _cohere_compass(draft: Draft) -> None:
    draft.values["rope_parameters"] = parameters = copied(draft.values.get("rope_parameters"))
    if nested_keys(draft, parameters):
        parameters.pop("rope_theta", None)
        parameters.pop("rope_type", None)
    standardize(draft)


def _kinds(draft: Draft) -> list[str]:
    words = draft.values.get("layer_types")
    return list(dict.fromkeys(w for w in words if isinstance(w, str))) if isinstance(words, list) else []


def _neomme(draft: Draft) -> None:
    theta = draft.extras.pop("rope_theta", None)
    draft.values["rope_parameters"] = parameters = copied(draft.values.get("rope_parameters"))
    bases = default_theta(draft)
    partial = {"full_attention": 0.25, "sliding_attention": 1.0}
    for kind in _kinds(draft):
        flat = parameters.setdefault(kind, {})
        flat.setdefault("rope_type", "default")
        flat.setdefault("rope_theta", theta if theta is not None else bases.get(kind))
        flat.setdefault("partial_rotary_factor", partial.get(kind))
    standardize(draft)


def _dots3_note(draft: Draft) -> None:
    extras, values = draft.extras, draft.values
    sliding, theta = extras.pop("swa_rope_theta", 50000.0), extras.get("rope_theta", default_theta(draft))
    kinds = _kinds(draft)
    if values.get("rope_parameters") is None:
        values["rope_parameters"] = extras.pop("rope_scaling", None) or {
            kind: {"rope_type": "default", "rope_theta": sliding if kind == "sliding_attention" else theta}
            for kind in kinds
        }
    parameters = copied(values["rope_parameters"])
    if not nested_keys(draft, parameters):
        parameters = {kind: dict(parameters) for kind in kinds}
    values["rope_parameters"] = parameters
    convert(draft)
    layers = values.get("layer_types", [])
    per_layer = {int(i): layer for i, layer in (extras.get("per_layer_config") or {}).items()}
    for kind in kinds:
        layer = per_layer.get(layers.index(kind), {})
        width = layer.get("qk_rope_head_dim", values.get("qk_rope_head_dim"))
        values["rope_parameters"][kind]["partial_rotary_factor"] = width / layer.get("head_dim", values.get("head_dim"))


def _zaya(draft: Draft) -> None:
    parameters = copied(draft.values.get("rope_parameters"))
    if parameters.get("rope_type") is not None:
        del parameters["rope_type"]
    draft.values["rope_parameters"] = parameters


CONVERSIONS: Mapping[str, Callable[[Draft], None]] = {
    "BeamConfig": _kept,
    "CohereCompassTextConfig": _cohere_compass,
    "DiffusionGemmaTextConfig": _kept,
    "Dots3NoteTextConfig": _dots3_note,
    "EmbeddingGemma2TextConfig": _kept,
    "GPTNeoXConfig": _neox(0.25),
    "GPTNeoXJapaneseConfig": _neox(1.0),
    "Gemma3TextConfig": _two_kinds(("rope_theta", "rope_local_base_freq")),
    "Gemma3nTextConfig": _two_kinds(("rope_theta", "rope_local_base_freq")),
    "Gemma4TextConfig": _kept,
    "Gemma4UnifiedTextConfig": _kept,
    "HunYuanVLTextConfig": _hunyuan_vl,
    "HYV4VLTextConfig": _hy_v4_vl,
    "LagunaConfig": _kept,
    "MellumConfig": _kept,
    "MiMoV2FlashConfig": _kept,
    "MiniMaxM2Config": _minimax_m2,
    "ModernBertConfig": _two_kinds(("global_rope_theta", "local_rope_theta"), both=True),
    "ModernBertDecoderConfig": _two_kinds(("global_rope_theta", "local_rope_theta"), both=True),
    "NeoMMEConfig": _neomme,
    "Olmo3Config": _two_kinds(("rope_theta", "rope_theta")),
    "Phi3Config": _phi3,
    "Phi4MultimodalConfig": _phi3,
    "Qwen2VLTextConfig": _qwen2_vl,
    "Qwen2_5_VLTextConfig": _qwen2_vl,
    "T5Gemma2DecoderConfig": _two_kinds(("rope_theta", "rope_local_base_freq")),
    "T5Gemma2TextConfig": _two_kinds(("rope_theta", "rope_local_base_freq")),
    "ZayaConfig": _zaya,
}
