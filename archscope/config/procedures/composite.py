"""Configs made of sub-configs whose classes reach into one another."""

from __future__ import annotations

from typing import Any

from archscope.config.base import fill, make_auto, make_inner
from archscope.config.draft import Draft
from archscope.config.procedures import Base, mapping, procedure
from archscope.config.schema import common, load_schema


@procedure("AltCLIPConfig", "ChineseCLIPConfig", "CLIPConfig", "CLIPSegConfig", "FlavaConfig", "GroupViTConfig",
           "MetaClip2Config", "XCLIPConfig")  # fmt: skip
def doubled_sub_configs(d: Draft, base: Base) -> None:
    """CLIPConfig and its kin: `text_config_dict`, completed with the defaults, beats `text_config`."""
    assert d.schema is not None
    for name, spec in d.schema.sub_configs.items():
        legacy = d.extras.pop(f"{name}_dict", None)
        if isinstance(legacy, dict):
            schema = load_schema(spec.model_type)
            assert schema is not None
            complete = {"model_type": spec.model_type, **_complete(fill(schema, legacy, f"{d.pointer}/{name}_dict"))}
            given = {**mapping(d.values.get(name)), **complete}
            sub = fill(schema, given, d.pointer_of(name) or f"{d.pointer}/{name}", written=mapping(d.raw.get(name)))
            sub.pointers.update(dict.fromkeys(complete, ""))
            sub.pointers.update({key: f"{d.pointer}/{name}_dict/{key}" for key in legacy})
            d.values[name] = sub
    base()


def _complete(draft: Draft) -> dict[str, Any]:
    # As transformers writes a config out: with its own version.
    values = {key: value for key, value in draft.values.items() if not isinstance(value, Draft)}
    return values | {"transformers_version": common().transformers}


@procedure("Blip2Config", "InstructBlipConfig", "InstructBlipVideoConfig")
def blip2(d: Draft, base: Base) -> None:
    """Blip2Config, InstructBlipConfig."""
    base()
    if d.schema is not None and d.schema.class_name == "Blip2Config":
        d.put("is_encoder_decoder", "text_config.is_encoder_decoder")
    d.put("qformer_config.encoder_hidden_size", "vision_config.hidden_size")
    text = d.values.get("text_config")
    known = isinstance(text, Draft) and text.schema is not None
    decoder_only = known and "causal_lm" in text.schema.tasks  # type: ignore[union-attr]
    d.assign("use_decoder_only_language_model", decoder_only, "text_config is of a causal_lm type", ("text_config",))


@procedure("ColModernVBertConfig", "ColQwen2Config")
def retrieval(d: Draft, base: Base) -> None:
    """ColQwen2Config: the inner model's vocabulary size is that of its text part."""
    base()
    d.put("vlm_config.vocab_size", "vlm_config.text_config.vocab_size", "not has_attribute(vlm_config, 'vocab_size')")


@procedure("GraniteSpeechPlusConfig")
def granite_speech_plus(d: Draft, base: Base) -> None:
    """GraniteSpeechPlusConfig: only checks come after the base class."""
    base()


@procedure("RagConfig")
def rag(d: Draft, base: Base) -> None:
    """RagConfig: encoder and generator may be of any type; DPR and BART where they do not say."""
    for name, kind in (("question_encoder", "dpr"), ("generator", "bart")):
        d.put(name, f"{{'model_type': {kind!r}, **{name}}}", f"isinstance({name}, 'dict')")
        make_auto(d, name, kind)
    base()


@procedure("EvollaConfig")
def evolla(d: Draft, base: Base) -> None:
    """EvollaConfig: the protein encoder is a sub-config that is no registered type."""
    make_inner(d, "protein_encoder_config", "SaProtConfig")
    base()


@procedure("EsmConfig")
def esm(d: Draft, base: Base) -> None:
    """EsmConfig: folding settings only in folding models."""
    d.put("esmfold_config", "None", "not is_folding_model")
    d.put("vocab_list", "None", "not is_folding_model")
    if d.values.get("is_folding_model"):
        make_inner(d, "esmfold_config", "EsmFoldConfig")
        d.put("vocab_list", repr(ESM2_VOCABULARY), "vocab_list is None")
    base()


@procedure("EsmFoldConfig")
def esm_fold(d: Draft, base: Base) -> None:
    """EsmFoldConfig."""
    make_inner(d, "trunk", "TrunkConfig")
    base()


@procedure("TrunkConfig")
def esm_trunk(d: Draft, base: Base) -> None:
    """TrunkConfig of EsmFoldConfig."""
    make_inner(d, "structure_module", "StructureModuleConfig")
    base()


# The published ESM-2 alphabet: special tokens, the amino acids by frequency, and rare ones.
ESM2_VOCABULARY = ["<cls>", "<pad>", "<eos>", "<unk>", *"LAGVSERTIDPKQNFYMHWCXBUZO.-", "<null_1>", "<mask>"]


@procedure("DepthProConfig")
def depth_pro(d: Draft, base: Base) -> None:
    """DepthProConfig: every encoder sees one patch."""
    assert d.schema is not None
    for name in d.schema.sub_configs:
        d.put(name, f"{{**{name}, 'image_size': patch_size}}", f"isinstance({name}, 'dict')")
    base()


@procedure("NemotronH_Omni_Reasoning_V3_Config")
def nemotron_h_omni(d: Draft, base: Base) -> None:
    """NemotronH_Omni_Reasoning_V3_Config: released files have other names for six fields."""
    for legacy, name in (
        ("img_context_token_id", "image_token_id"), ("video_context_token_id", "video_token_id"),
        ("sound_context_token_id", "audio_token_id"), ("llm_config", "text_config"), ("sound_config", "audio_config"),
        ("vit_hidden_size", "vision_hidden_size"),
    ):  # fmt: skip
        value = d.extras.pop(legacy, None)
        assert d.schema is not None
        if value is not None and d.values.get(name) == d.schema.fields[name].default:
            d.take_from(name, value, f"/{legacy}", legacy)
            d.pointers[name] = f"{d.pointer}/{legacy}"
    d.put("audio_config", "{'attention_bias': False, 'scale_input': False, **audio_config}",
          "isinstance(audio_config, 'dict')")  # fmt: skip
    base()


@procedure("JevConfig")
def jev(d: Draft, base: Base) -> None:
    """JevConfig: a trained head beside the weights, described by objects of other names."""
    decision, judge = mapping(d.extras.pop("decision_config", None)), mapping(d.extras.pop("judge_config", None))
    d.forget("calibration")
    text = mapping(d.values.get("text_config"))
    d.lets["let_text"] = inner = mapping(text.get("text_config", text))
    d.lets["let_judge"] = judge
    d.lets["let_codes"] = codes = decision.get("codes")
    if codes:
        d.put("hidden_size", "let_text['hidden_size']")
        inner["is_causal"] = decision.get("attention_mode") != "noncausal_full_attention"
        d.put("num_verbalizers", "len(let_codes)")
        d.put("offsets", "{'noul': 0, 'score': 0, 'choice': 0}")
    elif judge:
        d.put("hidden_size", "let_text['hidden_size']")
        d.put("num_verbalizers", "let_judge['slots']['num_slots']")
        d.put("offsets", "{kind: span[0] for kind, span in let_judge['slots']['ranges'].items()}")
        d.put("softcap", "let_judge.get('softcap')")
    d.put("offsets", "{'noul': 0, 'score': 2, 'choice': 8}", "offsets is None")
    base()
