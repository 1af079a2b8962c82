"""Vision, audio and other models."""

from __future__ import annotations

import math
from typing import Any

from archscope.config.draft import Draft
from archscope.config.formulas import FAILURES
from archscope.config.procedures import Base, mapping, procedure, sequence
from archscope.config.procedures.backbones import stages


@procedure("Dots3NoteAudioConfig")
def dots3_note_audio(d: Draft, base: Base) -> None:
    """Dots3NoteAudioConfig: the encoder's sizes stand in an object with Whisper's names."""
    d.put("adapter_input_size", "pop('whisper_adapter_in_dim', adapter_input_size)")
    d.put("adapter_out_dim", "key('whisper_adapter_out_dim', key('adapter_output_size', adapter_out_dim))")
    d.forget("whisper_adapter_out_dim")
    d.forget("adapter_output_size")
    whisper = mapping(d.extras.pop("whisper_config", None))
    for key, name in (("d_model", "hidden_size"), ("encoder_attention_heads", "num_attention_heads"),
                      ("encoder_layers", "num_hidden_layers"), ("encoder_ffn_dim", "intermediate_size"),
                      ("num_mel_bins", "feature_size"), ("max_source_positions", "max_position_embeddings"),
                      ("dropout", "dropout"), ("attention_dropout", "attention_dropout")):  # fmt: skip
        if key in whisper:
            d.take_from(name, whisper[key], f"/whisper_config/{key}", key)
    d.put("head_dim", "hidden_size // num_attention_heads")
    d.put("num_key_value_heads", "num_attention_heads")
    d.put("conv_output_size", "downsample_hidden_size * ((feature_size + 7) // 8)")
    d.put("samples_per_token", "hop_length * 8")
    d.set_key("partial_rotary_factor", "0.5")
    base()


# Source: LayoutLMv2Config.get_default_detectron2_config.
_DETECTRON2 = {
    "MODEL.MASK_ON": True,
    "MODEL.PIXEL_STD": [57.375, 57.120, 58.395],
    "MODEL.BACKBONE.NAME": "build_resnet_fpn_backbone",
    "MODEL.FPN.IN_FEATURES": ["res2", "res3", "res4", "res5"],
    "MODEL.ANCHOR_GENERATOR.SIZES": [[32], [64], [128], [256], [512]],
    "MODEL.RPN.IN_FEATURES": ["p2", "p3", "p4", "p5", "p6"],
    "MODEL.RPN.PRE_NMS_TOPK_TRAIN": 2000,
    "MODEL.RPN.PRE_NMS_TOPK_TEST": 1000,
    "MODEL.RPN.POST_NMS_TOPK_TRAIN": 1000,
    "MODEL.POST_NMS_TOPK_TEST": 1000,
    "MODEL.ROI_HEADS.NAME": "StandardROIHeads",
    "MODEL.ROI_HEADS.NUM_CLASSES": 5,
    "MODEL.ROI_HEADS.IN_FEATURES": ["p2", "p3", "p4", "p5"],
    "MODEL.ROI_BOX_HEAD.NAME": "FastRCNNConvFCHead",
    "MODEL.ROI_BOX_HEAD.NUM_FC": 2,
    "MODEL.ROI_BOX_HEAD.POOLER_RESOLUTION": 14,
    "MODEL.ROI_MASK_HEAD.NAME": "MaskRCNNConvUpsampleHead",
    "MODEL.ROI_MASK_HEAD.NUM_CONV": 4,
    "MODEL.ROI_MASK_HEAD.POOLER_RESOLUTION": 7,
    "MODEL.RESNETS.DEPTH": 101,
    "MODEL.RESNETS.SIZES": [[32], [64], [128], [256], [512]],
    "MODEL.RESNETS.ASPECT_RATIOS": [[0.5, 1.0, 2.0]],
    "MODEL.RESNETS.OUT_FEATURES": ["res2", "res3", "res4", "res5"],
    "MODEL.RESNETS.NUM_GROUPS": 32,
    "MODEL.RESNETS.WIDTH_PER_GROUP": 8,
    "MODEL.RESNETS.STRIDE_IN_1X1": False,
}


@procedure("LayoutLMv2Config", "LayoutXLMConfig")
def layoutlmv2(d: Draft, base: Base) -> None:
    """LayoutLMv2Config: the settings of the visual backbone."""
    base()
    if d.values.get("detectron2_config_args") is None:
        d.assign("detectron2_config_args", dict(_DETECTRON2), "the settings of LayoutLMv2's detectron2 backbone", ())


@procedure("MiniMaxM3VLTextConfig")
def minimax_m3_vl_text(d: Draft, base: Base) -> None:
    """MiniMaxM3VLTextConfig: sparse attention is described by an object and by lists of 0 and 1."""
    minimax_tail(d, base)


def minimax_tail(d: Draft, base: Base) -> None:
    """What MiniMaxM3VLTextConfig and the class that inherits from it share."""
    sparse = mapping(d.extras.pop("sparse_attention_config", None))
    d.lets["let_sparse"] = sparse
    d.lets["let_moe"] = d.extras.pop("moe_layer_freq", None)
    base()
    d.put("hidden_act", "'silu'")
    for name, key in (("index_n_heads", "sparse_num_index_heads"), ("index_head_dim", "sparse_index_dim"),
                      ("index_block_size", "sparse_block_size"), ("index_topk_blocks", "sparse_topk_blocks"),
                      ("index_local_blocks", "sparse_local_block")):  # fmt: skip
        if key in sparse:
            d.take_from(name, sparse[key], f"/sparse_attention_config/{key}", key)
    d.put(
        "layer_types",
        "['minimax_m3_sparse' if f else 'full_attention' for f in let_sparse['sparse_attention_freq']]",
        "layer_types is None and 'sparse_attention_freq' in let_sparse",
    )
    d.put("layer_types", "['full_attention'] * num_hidden_layers", "layer_types is None")
    d.put(
        "mlp_layer_types",
        "['sparse' if f else 'dense' for f in let_moe]",
        "mlp_layer_types is None and let_moe is not None",
    )
    d.put("mlp_layer_types", "['sparse'] * num_hidden_layers", "mlp_layer_types is None")


@procedure("Step3p7TextConfig")
def step3p5(d: Draft, base: Base) -> None:
    """Step3p7TextConfig: released files pad per-layer lists with entries for the next-token-prediction layers."""
    d.set_aside("let_extra", "pop('num_nextn_predict_layers', 0)")
    d.put("num_nextn_predict_layers", "let_extra")
    d.set_aside("let_all", "num_hidden_layers + let_extra")
    for name, tail in (("layer_types", "mtp_layer_types"), ("mlp_layer_types", "mtp_mlp_layer_types"),
                       ("swiglu_limits", ""), ("swiglu_limits_shared", "")):  # fmt: skip
        padded = f"let_extra and isinstance({name}, 'list') and len({name}) == let_all"
        if tail:
            d.put(tail, f"{name}[num_hidden_layers:let_all]", padded)
        d.put(name, f"{name}[:num_hidden_layers]", padded)
    for key in ("rope_theta", "partial_rotary_factors"):
        d.run("key", key, f"let_extra and isinstance(key({key!r}), 'list') and len(key({key!r})) == let_all",
              f"key({key!r})[:num_hidden_layers]")  # fmt: skip
    d.put("mtp_layer_types", "['full_attention'] * let_extra", "layer_types is None and let_extra")
    d.put("layer_types", "['full_attention'] * num_hidden_layers", "layer_types is None")
    _step_experts(d)
    d.set_aside("let_other", "pop('attention_other_setting') or {}", "num_sliding_attention_heads is None")
    d.put(
        "num_sliding_attention_heads",
        "let_other.get('num_attention_heads', num_attention_heads)",
        "num_sliding_attention_heads is None",
    )
    d.set_key(
        "per_layer_config",
        "{i: {'num_attention_heads': num_sliding_attention_heads} for i, word in enumerate(layer_types) "
        "if word == 'sliding_attention'}",
    )
    d.put("query_pre_attn_scalar", "head_dim", "query_pre_attn_scalar is None")
    theta = d.extras.pop("rope_theta", d.schema.default_theta if d.schema is not None else 10000.0)
    partial, scaling = d.extras.pop("partial_rotary_factors", None), d.extras.pop("rope_scaling", None)
    minimax_tail(d, base)
    try:
        _step_rope(d, theta, partial, mapping(scaling))
    except FAILURES:
        d.values["rope_parameters"] = {}


def _step_experts(d: Draft) -> None:
    d.lets["let_moe_list"] = None
    if d.values.get("mlp_layer_types") is None:
        d.set_aside("let_moe_list", "pop('moe_layers_enum')")
        d.set_aside(
            "let_places",
            "range(3, num_hidden_layers) if let_moe_list is None else [int(i) for i in (let_moe_list.split(',') "
            "if isinstance(let_moe_list, 'str') else let_moe_list) if str(i).strip()]",
        )
        d.set_aside("let_words", "['sparse' if i in let_places else 'dense' for i in range(let_all)]")
        d.put("mtp_mlp_layer_types", "let_words[num_hidden_layers:let_all]", "let_extra")
        d.put("mlp_layer_types", "let_words[:num_hidden_layers]")


def _step_rope(d: Draft, theta: Any, partial: Any, scaling: dict[Any, Any]) -> None:
    layers = sequence(d.values.get("layer_types"))
    words = list(dict.fromkeys(w for w in layers if isinstance(w, str)))
    written = mapping(d.values.get("rope_parameters"))
    if all(isinstance(written.get(word), dict) for word in words):
        d.values["rope_parameters"] = {word: written[word] for word in words}
        return
    result = {}
    for word in words:
        i = layers.index(word)
        result[word] = {"rope_type": "default", "rope_theta": theta[i] if isinstance(theta, list) else theta}
        if partial:
            result[word]["partial_rotary_factor"] = partial[i]
    if scaling and "full_attention" in result:
        result["full_attention"].update(scaling)
    d.values["rope_parameters"] = result


@procedure("NeoMMEConfig")
def neomme(d: Draft, base: Base) -> None:
    """NeoMMEConfig: sliding layers alternate between a short and a long window."""
    d.put(
        "layer_types",
        "['full_attention' if (i + 1) % 6 == 0 or i == num_hidden_layers - 1 else 'sliding_attention' "
        "for i in range(num_hidden_layers)]",
        "layer_types is None",
    )
    if "per_layer_config" not in d.extras:
        sliding = 0
        layers: dict[int, dict[str, int | None]] = {}
        for i, word in enumerate(sequence(d.values.get("layer_types"))):
            if word == "full_attention":
                layers[i] = {"sliding_window": None}
            elif word == "sliding_attention":
                if sliding % 2:
                    layers[i] = {"sliding_window": 1024}
                sliding += 1
        d.extras["per_layer_config"] = layers
    d.put("residual_multiplier", "(2 * num_hidden_layers) ** -0.5", "residual_multiplier is None")
    base()


_SPANS = ("account_number", "private_address", "private_date", "private_email", "private_person", "private_phone",
          "private_url", "secret")  # fmt: skip


@procedure("OpenAIPrivacyFilterConfig")
def privacy_filter(d: Draft, base: Base) -> None:
    """OpenAIPrivacyFilterConfig: four labels a kind of span, and "O"."""
    d.put("num_key_value_heads", "num_attention_heads", "num_key_value_heads is None")
    d.put("head_dim", "hidden_size // num_attention_heads", "head_dim is None")
    d.put(
        "rope_parameters",
        "{'rope_type': 'yarn', 'factor': 32.0, 'beta_fast': 32.0, 'beta_slow': 1.0, 'truncate': False, "
        "'original_max_position_embeddings': 4096}",
        "rope_parameters is None",
    )
    labels = ["O", *(f"{mark}-{span}" for span in _SPANS for mark in "BIES")]
    count = d.extras.pop("num_labels", len(labels))
    if d.values.get("id2label") is None:
        if count == len(labels):
            d.assign("id2label", dict(enumerate(labels)), "the labels of the privacy filter", ())
        else:
            d.extras["num_labels"] = count
    given = d.values.get("id2label")
    if d.values.get("label2id") is None and isinstance(given, dict):
        d.assign("label2id", {word: i for i, word in given.items() if isinstance(word, str)}, "id2label turned round",
                 ("id2label",))  # fmt: skip
    base()


@procedure("Phi4MultimodalAudioConfig")
def phi4_audio(d: Draft, base: Base) -> None:
    """Phi4MultimodalAudioConfig: the width after the strided convolutions."""
    size, reduction = d.values.get("input_size"), d.values.get("time_reduction")
    if type(size) is int and type(reduction) is int and 0 < reduction < 2**64 and abs(size) < 2**64:
        for _ in range(int(math.log2(reduction))):
            size = math.floor((size - 1) / 2 + 1)
        d.assign(
            "nemo_final_size", size, "input_size halved log2(time_reduction) times", ("input_size", "time_reduction")
        )
    base()


@procedure("Sapiens2Config")
def sapiens2(d: Draft, base: Base) -> None:
    """Sapiens2Config."""
    d.put("stage_names", "['stem'] + [f'stage{i}' for i in range(1, num_hidden_layers + 1)]")
    stages(d, base)
    base()
    d.put(
        "num_key_value_heads_per_layer",
        "[num_attention_heads if i < num_first_full_attention_layers or "
        "i >= num_hidden_layers - num_last_full_attention_layers else num_key_value_attention_heads "
        "for i in range(num_hidden_layers)]",
        "num_key_value_heads_per_layer is None",
    )
    head = d.values.get("head_config")
    if isinstance(head, Draft) and head.values.get("scale_final_input_size") is None:
        _scale_input(d, head)


def _scale_input(d: Draft, head: Draft) -> None:
    channels, kernels = head.values.get("scale_conv_out_channels"), head.values.get("scale_conv_kernel_sizes")
    if channels is None or kernels is None:
        return
    try:
        sides = [_pair(d.values["image_size"])[i] // _pair(d.values["patch_size"])[i] for i in (0, 1)]
        for kernel in kernels:
            sides = [(side + 2 * ((kernel - 1) // 2) - kernel) // 2 + 1 for side in sides]
        size = sides[0] * sides[1] * channels[-1]
    except FAILURES:
        return
    head.assign("scale_final_input_size", size, "the feature map after the strided convolutions, flattened",
                ("scale_conv_kernel_sizes", "scale_conv_out_channels"))  # fmt: skip


def _pair(size: Any) -> list[Any]:
    return size if isinstance(size, list) else [size, size]


@procedure("UltrabertConfig")
def ultrabert(d: Draft, base: Base) -> None:
    """UltrabertConfig: released files have a window and a rotary base for each layer."""
    windows = d.extras.pop("attention_windows", None)
    if windows is not None:
        d.lets["let_windows"] = sequence(windows)
        d.put("sliding_window", "[*[w for w in let_windows if w], sliding_window][0]")
        d.put(
            "layer_types",
            "['sliding_attention' if w else 'full_attention' for w in let_windows]",
            "layer_types is None",
        )
    d.put(
        "layer_types",
        "['sliding_attention' if (i + 1) % 3 else 'full_attention' for i in range(num_hidden_layers)]",
        "layer_types is None",
    )
    d.set_aside("let_theta", "pop('rope_theta')")
    d.put(
        "rope_parameters",
        "{kind: {'rope_type': 'default', 'rope_theta': theta} for kind, theta in zip(layer_types, let_theta)}",
        "let_theta is not None and rope_parameters is None",
    )
    d.put(
        "rope_parameters",
        "{'sliding_attention': {'rope_type': 'default', 'rope_theta': 10000.0}, "
        "'full_attention': {'rope_type': 'default', 'rope_theta': 2560000.0}}",
        "rope_parameters is None",
    )
    d.put("num_key_value_heads", "num_attention_heads", "num_key_value_heads is None")
    d.put("head_dim", "hidden_size // num_attention_heads", "head_dim is None")
    base()
