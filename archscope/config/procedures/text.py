"""Text models. Each function names the class in transformers 5.24 that it follows."""

from __future__ import annotations

from typing import Any

from archscope.config import rope
from archscope.config.base import make_inner
from archscope.config.draft import Draft
from archscope.config.formulas import MAX_LENGTH
from archscope.config.procedures import Base, mapping, procedure, sequence

_EVERY_SIXTH = "['sliding_attention' if (i + 1) % 6 else 'full_attention' for i in range(num_hidden_layers)]"


@procedure("Gemma4TextConfig", "Gemma4UnifiedTextConfig", "DiffusionGemmaTextConfig")
def gemma4(d: Draft, base: Base) -> None:
    """Gemma4TextConfig: full-attention layers have their own head width and key/value heads."""
    d.put("is_causal", "False", "use_bidirectional_attention == 'all'")
    d.put("sliding_window", "sliding_window // 2 + 1", "use_bidirectional_attention == 'all'")
    d.put("layer_types", _EVERY_SIXTH, "layer_types is None")
    d.put("layer_types", "[*layer_types[:-1], 'full_attention']", "layer_types and layer_types[-1] != 'full_attention'")
    d.put(
        "rope_parameters",
        "{'sliding_attention': {'rope_type': 'default', 'rope_theta': 10000.0}, 'full_attention': "
        "{'rope_type': 'proportional', 'partial_rotary_factor': 0.25, 'rope_theta': 1000000.0}}",
        "rope_parameters is None",
    )
    d.set_aside("let_heads", "pop('num_global_key_value_heads') if field('attention_k_eq_v', True) else None")
    d.set_aside("let_width", "pop('global_head_dim', 512)")
    d.set_key(
        "per_layer_config",
        "{i: {'head_dim': let_width, **({} if let_heads is None else {'num_key_value_heads': let_heads})} "
        "for i, word in enumerate(layer_types) if word == 'full_attention'}",
    )
    d.forget("num_global_key_value_heads")
    base()


@procedure("Cohere2MoeConfig")
def cohere2_moe(d: Draft, base: Base) -> None:
    """Cohere2MoeConfig: the leading dense layers have a sliding pattern of their own."""
    d.put("num_key_value_heads", "num_attention_heads", "num_key_value_heads is None")
    d.values["rope_parameters"] = rope.copied(d.values.get("rope_parameters"))
    rope.standardize(d)
    d.set_aside("let_dense", "pop('first_k_dense_replace', 0)")
    pattern = "['sliding_attention' if (i + 1) % {0} != 0 else 'full_attention' for i in range({1})]"
    d.put(
        "layer_types",
        pattern.format("prefix_dense_sliding_window_pattern", "let_dense")
        + " + "
        + pattern.format("sliding_window_pattern", "num_hidden_layers - let_dense"),
        "layer_types is None",
    )
    d.put(
        "mlp_layer_types",
        "['dense' if i < let_dense else 'sparse' for i in range(num_hidden_layers)]",
        "mlp_layer_types is None",
    )
    base()


@procedure("DbrxConfig")
def dbrx(d: Draft, base: Base) -> None:
    """DbrxConfig: attention and feed-forward settings are sub-configs that are no registered types."""
    make_inner(d, "attn_config", "DbrxAttentionConfig")
    make_inner(d, "ffn_config", "DbrxFFNConfig")
    d.put("ffn_config.hidden_size", "d_model")
    d.put("num_key_value_heads", "attn_config.kv_n_heads")
    base()


@procedure("MptConfig")
def mpt(d: Draft, base: Base) -> None:
    """MptConfig: attention settings are a sub-config."""
    make_inner(d, "attn_config", "MptAttentionConfig")
    base()


@procedure("DeepseekV4Config")
def deepseek_v4(d: Draft, base: Base) -> None:
    """DeepseekV4Config: compression rates, layer kinds, and one rotary embedding for each of two groups of layers."""
    for name in ("compress_ratios", "compress_rate_csa", "compress_rate_hca", "num_hash_layers", "qk_rope_head_dim"):
        d.lets["let_" + name] = d.extras.pop(name, None)
    base()
    d.put(
        "quantization_config",
        "{**quantization_config, 'expert_dtype': expert_dtype}",
        "has('quantization_config') and isinstance(quantization_config, 'dict') "
        "and field('expert_dtype', None) is not None and 'expert_dtype' not in quantization_config",
    )
    d.put(
        "compress_rates",
        "{'compressed_sparse_attention': 4, 'heavily_compressed_attention': 128}",
        "compress_rates is None",
    )
    for short, word in (("csa", "compressed_sparse_attention"), ("hca", "heavily_compressed_attention")):
        d.put("compress_rates", f"{{**compress_rates, {word!r}: let_compress_rate_{short}}}",
              f"let_compress_rate_{short} is not None")  # fmt: skip
    d.put(
        "layer_types",
        "[{0: 'sliding_attention', 4: 'compressed_sparse_attention', 128: 'heavily_compressed_attention'}[r] "
        "for r in let_compress_ratios]",
        "layer_types is None and let_compress_ratios is not None",
    )
    d.put(
        "layer_types",
        "['heavily_compressed_attention'] * min(num_hidden_layers, 2) + ['compressed_sparse_attention' if i % 2 else "
        "'heavily_compressed_attention' for i in range(max(num_hidden_layers - 2, 0))]",
        "layer_types is None",
    )
    d.put("layer_types", "layer_types[:num_hidden_layers]")
    d.set_aside("let_hash", "let_num_hash_layers if let_num_hash_layers is not None else 3")
    d.put(
        "mlp_layer_types",
        "['hash_moe'] * min(num_hidden_layers, let_hash) + ['moe'] * max(0, num_hidden_layers - let_hash)",
        "mlp_layer_types is None",
    )
    d.put("mlp_layer_types", "mlp_layer_types[:num_hidden_layers]")
    d.put(
        "partial_rotary_factor",
        "let_qk_rope_head_dim / head_dim if let_qk_rope_head_dim is not None else 0.125",
        "partial_rotary_factor is None",
    )
    d.put("qk_rope_head_dim", "int(head_dim * partial_rotary_factor)")
    _two_ropes(d)


def _two_ropes(d: Draft) -> None:
    written = mapping(d.values.get("rope_parameters"))
    if isinstance(written.get("main"), dict) and isinstance(written.get("compress"), dict):
        d.values["rope_parameters"] = {"main": written["main"], "compress": written["compress"]}
        return
    partial = d.values.get("partial_rotary_factor")
    main = {"rope_type": "default", "rope_theta": d.values.get("rope_theta"), "partial_rotary_factor": partial}
    compress = {k: v for k, v in written.items() if k not in ("main", "compress")}
    compress |= {"rope_theta": d.values.get("compress_rope_theta"), "partial_rotary_factor": partial}
    compress.setdefault("rope_type", "default")
    if compress["rope_type"] == "yarn":
        compress.setdefault("attention_factor", 1.0)
    d.values["rope_parameters"] = {"main": main, "compress": compress}


@procedure("Dots3NoteTextConfig")
def dots3_note_text(d: Draft, base: Base) -> None:
    """Dots3NoteTextConfig: sliding layers have their own latent attention."""
    d.set_aside("let_dense", "pop('first_k_dense_replace', 1)")
    d.set_aside("let_every", "pop('moe_layer_freq', 1)")
    d.set_aside("let_dsa", "pop('use_dsa', None if given('per_layer_config') else True)")
    d.set_aside("let_slide", "pop('use_sliding_window', True)")
    d.put(
        "mlp_layer_types",
        "['sparse' if i >= let_dense and (bool(let_every[i]) if isinstance(let_every, 'list') else i % let_every == 0) "
        "else 'dense' for i in range(num_hidden_layers)]",
        "mlp_layer_types is None",
    )
    d.put(
        "shared_experts_intermediate_size",
        "pop('moe_shared_expert_intermediate_size', shared_experts_intermediate_size)",
    )
    d.put("num_key_value_heads", "num_attention_heads", "num_key_value_heads is None")
    d.put("sliding_window", "pop('sliding_window_size', 512)", "sliding_window is None")
    d.put(
        "layer_types",
        "[('full_attention' if let_dsa is False else 'indexed_attention') if not let_slide or i < 2 or i % 4 == 1 "
        "else 'sliding_attention' for i in range(num_hidden_layers)]",
        "layer_types is None",
    )
    d.set_aside("let_old", "'full_attention' if let_dsa else 'indexed_attention'")
    d.set_aside("let_new", "'indexed_attention' if let_dsa else 'full_attention'")
    d.put("layer_types", "[let_new if w == let_old else w for w in layer_types]", "let_dsa is not None")
    sizes = {"num_attention_heads": 64, "num_key_value_heads": 64, "q_lora_rank": 1024, "kv_lora_rank": 1024,
             "head_dim": 256, "qk_nope_head_dim": 192, "v_head_dim": 128}  # fmt: skip
    inner = ", ".join(f"{name!r}: pop('swa_{name}', {size})" for name, size in sizes.items())
    d.set_aside("let_swa", f"{{{inner}}}")
    rotary = "pop('swa_qk_rope_head_dim', let_swa['head_dim'] - let_swa['qk_nope_head_dim'])"
    d.set_aside("let_swa", f"{{**let_swa, 'qk_rope_head_dim': {rotary}}}")
    d.set_key("per_layer_config", "{i: let_swa for i, word in enumerate(layer_types) if word == 'sliding_attention'}")
    base()


@procedure("GPTNeoConfig")
def gpt_neo(d: Draft, base: Base) -> None:
    """GPTNeoConfig: [[["global", "local"], 12]] stands for the pair twelve times."""
    d.put("attention_types", "[[['global', 'local'], 12]]", "attention_types is None")
    d.put("attention_layers", "[word for item in attention_types for i in range(item[1]) for word in item[0]]")
    base()


@procedure("HunYuanVLTextConfig")
def hunyuan_vl_text(d: Draft, base: Base) -> None:
    """HunYuanVLTextConfig: only a check comes after the base class."""
    d.put("num_key_value_heads", "num_attention_heads", "num_key_value_heads is None")
    base()


@procedure("KimiLinearConfig")
def kimi_linear(d: Draft, base: Base) -> None:
    """KimiLinearConfig: the linear layers are described by an object, their places counted from 1."""
    d.put("num_key_value_heads", "num_attention_heads", "num_key_value_heads is None")
    d.put("qk_head_dim", "qk_nope_head_dim + qk_rope_head_dim")
    d.put("head_dim", "qk_rope_head_dim")
    base()
    linear = mapping(d.extras.get("linear_attn_config"))
    d.lets["let_linear"] = linear
    for name, key in (("linear_head_dim", "head_dim"), ("linear_num_heads", "num_heads"),
                      ("linear_conv_kernel_dim", "short_conv_kernel_size")):  # fmt: skip
        if key in linear:
            d.take_from(name, linear[key], f"/linear_attn_config/{key}", key)
    if d.values.get("layer_types") is None and "full_attn_layers" in linear and "kda_layers" in linear:
        words = _placed(d.values.get("num_hidden_layers"), linear)
        d.assign("layer_types", words, "full_attention at full_attn_layers, linear_attention at kda_layers",
                 ("linear_attn_config",))  # fmt: skip
    d.put(
        "layer_types",
        "['full_attention' if i and i % 4 == 0 else 'linear_attention' for i in range(num_hidden_layers)]",
        "layer_types is None",
    )
    d.put(
        "mlp_layer_types",
        "['dense' if i < key('first_k_dense_replace', 1) else 'sparse' for i in range(num_hidden_layers)]",
        "mlp_layer_types is None",
    )


def _placed(count: Any, linear: dict[Any, Any]) -> list[Any]:
    size = count if type(count) is int and 0 <= count <= MAX_LENGTH else 0
    words: list[Any] = [None] * size
    for key, word in (("full_attn_layers", "full_attention"), ("kda_layers", "linear_attention")):
        for place in sequence(linear[key]):
            if type(place) is int and -size < place <= size:
                words[place - 1] = word
    return words


@procedure("MiMoV2FlashConfig")
def mimo_v2_flash(d: Draft, base: Base) -> None:
    """MiMoV2FlashConfig."""
    d.put(
        "layer_types",
        "['full_attention' if i == 0 or not (i + 1) % 6 else 'sliding_attention' for i in range(num_hidden_layers)]",
        "layer_types is None",
    )
    d.put("mlp_layer_types", "['dense'] + ['sparse'] * (num_hidden_layers - 1)", "mlp_layer_types is None")
    d.put(
        "rope_parameters",
        "{'full_attention': {'rope_type': 'default', 'rope_theta': 5000000.0, 'partial_rotary_factor': 0.334}, "
        "'sliding_attention': {'rope_type': 'default', 'rope_theta': 10000.0, 'partial_rotary_factor': 0.334}}",
        "rope_parameters is None",
    )
    d.put("routed_scaling_factor", "1.0", "routed_scaling_factor is None")
    d.put("sliding_window", "key('sliding_window_size') + 1", "key('sliding_window_size') is not None")
    base()


@procedure("ModernBertDecoderConfig")
def modernbert_decoder(d: Draft, base: Base) -> None:
    """ModernBertDecoderConfig."""
    d.put(
        "layer_types",
        "['sliding_attention' if i % key('global_attn_every_n_layers', 3) != 0 else 'full_attention' "
        "for i in range(num_hidden_layers)]",
        "layer_types is None",
    )
    d.put("sliding_window", "local_attention // 2 if local_attention else -1")
    base()


_NEMOTRON = "{'M': 'linear_attention', 'E': 'moe', '*': 'full_attention', '-': 'mlp'}"


@procedure("NemotronHConfig")
def nemotron_h(d: Draft, base: Base) -> None:
    """NemotronHConfig: a pattern such as "M-M*E" gives the layers; their number is the length of the list."""
    for name, key in (("n_groups", "mamba_n_groups"), ("conv_kernel", "mamba_d_conv"), ("expand", "mamba_expand"),
                      ("time_step_min", "mamba_dt_min"), ("time_step_max", "mamba_dt_max"),
                      ("time_step_limit", "mamba_dt_limit"), ("time_step_floor", "mamba_dt_init_floor"),
                      ("use_conv_bias", "mamba_conv_bias"), ("chunk_size", "mamba_chunk_size")):  # fmt: skip
        if key in d.extras:
            d.take_from(name, d.extras.pop(key), f"/{key}", key)
    d.put(
        "layer_types",
        f"[{_NEMOTRON}[c] for c in key('hybrid_override_pattern')]",
        "given('hybrid_override_pattern') and layer_types is None",
    )
    if "hybrid_override_pattern" not in d.extras:
        d.put("layer_types", "['linear_attention', 'moe', 'full_attention', 'mlp']", "layer_types is None")
    d.forget("hybrid_override_pattern")
    d.put("mtp_layers_block_type", "['full_attention', 'moe']", "mtp_layers_block_type is None")
    _renamed(d, "mtp_layers_block_type")
    d.put(
        "mtp_layers_block_type",
        f"[{_NEMOTRON}[c] for c in key('mtp_hybrid_override_pattern')]",
        "given('mtp_hybrid_override_pattern') and mtp_layers_block_type == ['full_attention', 'moe']",
    )
    d.forget("mtp_hybrid_override_pattern")
    d.put("num_key_value_heads", "num_attention_heads", "num_key_value_heads is None")
    base()
    d.put("num_hidden_layers", "len(layer_types)")


def _renamed(d: Draft, name: str) -> None:
    d.put(
        name,
        "[{'mamba': 'linear_attention', 'attention': 'full_attention', "
        "'deepseek_sparse_attention': 'indexed_attention', "
        f"'qwen_sparse_attention': 'indexed_attention'}}.get(w, w) for w in {name}]",
        f"{name} is not None",
    )


@procedure("ZambaConfig")
def zamba(d: Draft, base: Base) -> None:
    """ZambaConfig."""
    d.put("attention_hidden_size", "2 * hidden_size", "not attention_hidden_size")
    d.put("attention_head_dim", "2 * hidden_size // num_attention_heads", "not attention_head_dim")
    d.put("mamba_dt_rank", "ceil(hidden_size / 16)", "mamba_dt_rank == 'auto'")
    _renamed(d, "layers_block_type")
    d.put(
        "layers_block_type",
        "['linear_attention', 'linear_attention', 'hybrid'] + ['hybrid' if i % attn_layer_period == attn_layer_offset "
        "else 'linear_attention' for i in range(num_hidden_layers - 3)]",
        "layers_block_type is None",
    )
    base()


@procedure("Zamba2Config")
def zamba2(d: Draft, base: Base) -> None:
    """Zamba2Config."""
    d.put("intermediate_size", "4 * hidden_size", "not intermediate_size")
    d.put("attention_hidden_size", "2 * hidden_size")
    d.put("attention_head_dim", "2 * hidden_size // num_attention_heads")
    d.put("mamba_headdim", "int(mamba_expand * hidden_size) // n_mamba_heads")
    d.put("max_position_embeddings", "16384", "use_long_context")
    d.put("num_key_value_heads", "num_attention_heads", "num_key_value_heads is None")
    d.put("kv_channels", "hidden_size // num_attention_heads")
    d.put("num_query_groups", "num_attention_heads")
    _renamed(d, "layers_block_type")
    d.put(
        "layers_block_type",
        "['linear_attention'] + (['linear_attention'] * 5 + ['hybrid']) * 7 + ['linear_attention'] * 4 + ['hybrid'] + "
        "['linear_attention'] * 3 + ['hybrid'] + ['linear_attention'] * 2",
        "layers_block_type is None",
    )
    d.put("hybrid_layer_ids", "[i for i, word in enumerate(layers_block_type) if word == 'hybrid']")
    base()


@procedure("OlmoHybridConfig")
def olmo_hybrid(d: Draft, base: Base) -> None:
    """OlmoHybridConfig: every fourth layer attends; where there are fewer than four, the last one does."""
    d.put(
        "layer_types",
        "['full_attention' if i % 4 == 3 or (num_hidden_layers < 4 and i == num_hidden_layers - 1) else "
        "'linear_attention' for i in range(num_hidden_layers)]",
        "layer_types is None",
    )
    d.put("linear_num_key_heads", "num_attention_heads", "linear_num_key_heads is None")
    d.put("linear_num_value_heads", "num_attention_heads", "linear_num_value_heads is None")
    d.put("linear_key_head_dim", "int(0.75 * hidden_size / linear_num_key_heads)", "linear_key_head_dim is None")
    d.put("linear_value_head_dim", "2 * linear_key_head_dim", "linear_value_head_dim is None")
    d.put("num_key_value_heads", "num_attention_heads", "num_key_value_heads is None")
    base()


@procedure("SarvamMLAConfig")
def sarvam_mla(d: Draft, base: Base) -> None:
    """SarvamMLAConfig: the published form writes "deepseek_yarn" for YaRN and a head width that is not used."""
    d.forget("q_head_dim")
    d.forget("head_dim")
    scaling = mapping(d.extras.get("rope_scaling"))
    if "deepseek_yarn" in (scaling.get("type"), scaling.get("rope_type")):
        d.forget("rope_scaling")
        d.values["rope_parameters"] = {k: v for k, v in scaling.items() if k != "type"} | {"rope_type": "yarn"}
    d.put("num_key_value_heads", "num_attention_heads", "num_key_value_heads is None")
    d.put("qk_head_dim", "qk_nope_head_dim + qk_rope_head_dim")
    d.put("head_dim", "qk_rope_head_dim")
    base()


@procedure("SmolLM3Config")
def smollm3(d: Draft, base: Base) -> None:
    """SmolLM3Config: layers without rotary embedding slide, where a window is used at all."""
    d.put("num_key_value_heads", "num_attention_heads", "num_key_value_heads is None")
    d.put(
        "no_rope_layers",
        "[int((i + 1) % no_rope_layer_interval != 0) for i in range(num_hidden_layers)]",
        "no_rope_layers is None",
    )
    d.put(
        "layer_types",
        "['sliding_attention' if use_sliding_window and sliding_window is not None and not no_rope_layers[i] "
        "else 'full_attention' for i in range(num_hidden_layers)]",
        "layer_types is None",
    )
    base()
